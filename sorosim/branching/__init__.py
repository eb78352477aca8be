"""Continuation of equilibria: what changes (`ways`), unknowns (`rest`), results (`diagram`), the door (`tracing`)."""
