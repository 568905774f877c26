"""Admit: the gates decide whether a waiting job may be claimed, or what it waits for."""
