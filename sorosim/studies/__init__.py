"""Many runs, and what they tell: sweeps, fits, control, the doctor."""
