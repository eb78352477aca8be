"""The public path of `sorosim.connect.jax`."""

import sys

from sorosim.connect import jax
from sorosim.connect.jax import *  # noqa: F403

sys.modules[__name__] = jax
