"""Linearised motion and its modes."""

from sorosim.mechanics.linear.linearization import Linearization, linearize

__all__ = ["Linearization", "linearize"]
