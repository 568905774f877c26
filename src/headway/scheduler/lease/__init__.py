"""Lease: heartbeats, a lease for one job, and the expiry of both."""
