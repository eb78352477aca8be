"""Numerical continuation of equilibria, with bifurcations and branch switching.

The package cannot be called ``continuation``: as soon as anything imported it, it would take the place of the function
`sorosim.continuation` in the namespace of ``sorosim``.
"""
