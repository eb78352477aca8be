"""Equilibria, assembled loops and motions at constant rates."""
