"""The residuals and Jacobians that solvers are given, and what is worst in them where a solver gives up."""
