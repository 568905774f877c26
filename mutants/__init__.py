"""Negative controls: faults that are planted in a copy of Headway, each to be caught by a test."""

from mutants.fault import Fault, NamedTest, Simulation
from mutants.faults import ALL

__all__ = ["ALL", "Fault", "NamedTest", "Simulation"]
