"""Submit: requests become jobs, all of them or none."""
