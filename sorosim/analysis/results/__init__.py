"""Results of solvers: equilibria, runs, modes; their files and drawings."""
