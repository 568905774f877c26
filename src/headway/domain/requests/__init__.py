"""Requests: the bodies of submits and of what is set up, with everything they may leave out."""
