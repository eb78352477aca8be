"""Solvers of residuals and rates with their Jacobians; none depends on a robot. base.py is the contract."""
