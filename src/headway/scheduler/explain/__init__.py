"""Explain: jobs, queue and graph as they are shown, and why a job is not running."""
