"""The public path of `sorosim.connect.jax`."""

import sys

from sorosim.connect import jax as _module  # whose names, jax perhaps among them, come after it
from sorosim.connect.jax import *  # noqa: F403

sys.modules[__name__] = _module
