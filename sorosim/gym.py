"""The public path of `sorosim.connect.gym`."""

import sys

from sorosim.connect import gym as _module  # whose names, gym perhaps among them, come after it
from sorosim.connect.gym import *  # noqa: F403

sys.modules[__name__] = _module
