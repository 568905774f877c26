"""Finish: how a run ended, and everything that follows from it."""
