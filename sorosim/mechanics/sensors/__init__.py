"""Sensors: ideal measurements and their errors; base.py is the contract."""
