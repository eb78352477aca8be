"""Forward, inverse and hybrid dynamics, energies, linearisation: plain functions of an engine."""
