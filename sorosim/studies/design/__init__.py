"""Designs: numbers of robots, their inputs and driven coordinates that make a quantity least or greatest."""
