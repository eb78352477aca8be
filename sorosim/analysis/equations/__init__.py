"""Residuals and Jacobians for the solvers, and the diagnosis of solvers that fail."""
