"""Runs over time: whole motions, steps under held inputs, motions with derivatives, batches."""
