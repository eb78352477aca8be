"""Plug-ins of sorosim to start one's own from."""
