"""What a robot answers about forces and accelerations."""
