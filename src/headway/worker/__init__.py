"""Who does the work: workers take jobs and executors run them."""
