"""What solvers found, and how it shows itself."""
