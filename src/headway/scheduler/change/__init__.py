"""Change: what people do to a job or the queue by hand."""
