"""The public path of `sorosim.connect.gym`."""

import sys

from sorosim.connect import gym
from sorosim.connect.gym import *  # noqa: F403

sys.modules[__name__] = gym
