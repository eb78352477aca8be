"""Estimation: what a robot is doing, from readings and a model."""
