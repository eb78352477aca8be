"""Drawings, films and the live page."""
