"""Claim: which jobs start now, in the order of the queue, and their start."""
