"""Solvers: they know a residual or a rate, and its Jacobian; never a robot. base.py is the contract."""
