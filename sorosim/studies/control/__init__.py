"""Optimal control and model-predictive control (docs/optimal_control.md)."""
