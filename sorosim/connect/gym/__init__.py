"""Environments for reinforcement learning by Gymnasium, which comes with the extra `gym`."""

try:
    import gymnasium
except ImportError:
    words = "sorosim.gym: expected the package gymnasium, got none that can be imported; pip install 'sorosim[gym]'"
    raise ImportError(words, name="gymnasium") from None

from sorosim.connect.gym.environment import RobotEnv, VectorEnv
from sorosim.connect.gym.task import State, Task
from sorosim.connect.gym.tasks import TASKS

__all__ = ["TASKS", "RobotEnv", "State", "Task", "VectorEnv"]

for _name in TASKS:
    gymnasium.register(
        f"sorosim/{_name}-v0",
        entry_point="sorosim.connect.gym.tasks:environment",
        vector_entry_point="sorosim.connect.gym.tasks:environments",
        kwargs={"task": _name},
    )
