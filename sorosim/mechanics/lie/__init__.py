"""SO(3) and SE(3): exponential, logarithm, adjoints, and the tangent operator with its time derivatives.

Twists are [angular; linear], wrenches [moment; force]; all functions are compiled and take float64 arrays. Those that
end in `_into` fill arrays of the caller and allocate nothing.
"""

from sorosim.mechanics.lie.se3 import Ad, Ad_inv, ad, coad, coadbar, exp_into, exp_se3, hat, inverse, log_se3, vee
from sorosim.mechanics.lie.so3 import coefficients, exp_so3, log_so3, skew, vex
from sorosim.mechanics.lie.tangent import (
    dual_to_matrix,
    tangent,
    tangent_into,
    tangent_inv,
    tangent_jet_into,
    tangent_jets,
    tangent_jets_into,
    tangent_transpose_derivative,
    tangent_transpose_derivative_into,
)

__all__ = [
    "Ad",
    "Ad_inv",
    "ad",
    "coad",
    "coadbar",
    "coefficients",
    "dual_to_matrix",
    "exp_into",
    "exp_se3",
    "exp_so3",
    "hat",
    "inverse",
    "log_se3",
    "log_so3",
    "skew",
    "tangent",
    "tangent_into",
    "tangent_inv",
    "tangent_jet_into",
    "tangent_jets",
    "tangent_jets_into",
    "tangent_transpose_derivative",
    "tangent_transpose_derivative_into",
    "vee",
    "vex",
]
