"""Handlers that are cut into steps and waits: what is done stays done."""
