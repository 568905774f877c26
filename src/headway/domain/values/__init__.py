"""Values without a meaning of their own in the product: ids, moments, durations, plain JSON."""
