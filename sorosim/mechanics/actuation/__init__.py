"""Actuators as plug-ins."""
