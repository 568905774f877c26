"""Upkeep: the loops that run what is due, recover after a crash and clean up."""
