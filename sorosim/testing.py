"""The public path of `sorosim.mechanics.testing`."""

import sys

from sorosim.mechanics import testing as _module  # whose names, testing perhaps among them, come after it
from sorosim.mechanics.testing import *  # noqa: F403

sys.modules[__name__] = _module
