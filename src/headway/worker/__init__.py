"""What runs jobs: workers claim them and executors run them."""
