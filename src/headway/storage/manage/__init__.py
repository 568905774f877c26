"""What is set up once and used by many jobs, as it is kept."""
