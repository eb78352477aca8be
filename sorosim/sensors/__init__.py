"""Sensors: what can be measured on a robot, ideally and with errors; base.py is the contract."""
