"""The public path of `sorosim.mechanics.testing`."""

import sys

from sorosim.mechanics import testing
from sorosim.mechanics.testing import *  # noqa: F403

sys.modules[__name__] = testing
