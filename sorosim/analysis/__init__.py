"""Equilibria, motions, curves and their derivatives, of one robot."""
