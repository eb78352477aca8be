"""Robots step by step under held inputs: alone, as motions with derivatives, in batches."""
