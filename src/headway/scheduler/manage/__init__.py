"""Manage: what is set up once and used by many jobs."""
