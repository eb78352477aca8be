"""Constraints between links: loops."""
