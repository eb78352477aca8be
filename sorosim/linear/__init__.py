"""Linearised motion and its modes."""

from sorosim.linear.linearization import Linearization, linearize

__all__ = ["Linearization", "linearize"]
