"""`VectorEnv` for Stable-Baselines3, which comes with the extra `learn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding

from sorosim.base.errors import InputError
from sorosim.base.validation import describe
from sorosim.connect.gym.environment import VectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError:
    words = "sorosim.gym.sb3: expected the package stable_baselines3, got none; pip install 'sorosim[learn]'"
    raise ImportError(words, name="stable_baselines3") from None


class Sb3VecEnv(VecEnv):  # type: ignore[misc]
    """Many members on threads, as learners of Stable-Baselines3 take them: `PPO("MlpPolicy", Sb3VecEnv(many))`.

    Their contract is another one than Gymnasium's: a member whose episode is over begins anew in the same step. Its
    last observation is then ``info["terminal_observation"]``, and ``info["TimeLimit.truncated"]`` says whether only its
    time was over.

    Parameters
    ----------
    env : VectorEnv

    Examples
    --------
    >>> many = sorosim.gym.VectorEnv(robot, task, num_envs=16)
    >>> model = PPO("MlpPolicy", sorosim.gym.sb3.Sb3VecEnv(many), n_steps=160)
    """

    def __init__(self, env: VectorEnv) -> None:
        if not isinstance(env, VectorEnv):
            raise InputError("env", "a sorosim.gym.VectorEnv", describe(env))
        self.env, self._given = env, None
        self.render_mode = env.render_mode
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        """Begin episodes of all members, from the seeds that `seed` set; without these each goes on drawing."""
        seeds = self._seeds
        observations, _ = self.env.reset(
            seed=None if any(one is None for one in seeds) else [int(one) for one in seeds]
        )
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: Any) -> None:
        """Take the actions of the step that `step_wait` makes."""
        self._given = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        """Move all members: observations, rewards, whether episodes are over, and information."""
        episodes, n = self.env._episodes, self.num_envs
        episodes.step(self._given)
        rewards, over = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.bool_)
        infos: list[dict[str, Any]] = []
        for i in range(n):
            rewards[i], ended, late, info = episodes.outcome(i)
            over[i] = ended or late
            infos.append(info | {"TimeLimit.truncated": late and not ended})
        observations, again = episodes.observe(), np.flatnonzero(over).tolist()
        for i in again:
            infos[i]["terminal_observation"] = observations[i].copy()
        if again:
            episodes.begin(again, [self.env._generators[i] for i in again])
            observations[again] = episodes.observe(again)
        return observations, rewards, over, infos

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds of the members for the next `reset`; one that is drawn counts on from member to member."""
        first = int(seeding.np_random()[0].integers(2**31)) if seed is None else seed
        return super().seed(first)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Give the memory of pictures back."""
        self.env.close()

    def get_images(self) -> Sequence[Any]:
        """Pictures (height, width, 3) of all members; none without a `render_mode`."""
        return self.env.render() or [None] * self.num_envs

    # -- members are no environments of their own: what the contract asks of each is that of all -----------------------

    def get_attr(self, attr_name: str, indices: object = None) -> list[Any]:
        """An attribute, for each of some members."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: object = None) -> None:
        """Refused: members share their attributes."""
        raise InputError("set_attr", "members that share what they are", f"'{attr_name}' of some of them")

    def env_method(
        self, method_name: str, *method_args: object, indices: object = None, **method_kwargs: object
    ) -> list[Any]:
        """Refused: members share their methods."""
        raise InputError("env_method", "members that share what they are", f"'{method_name}' of some of them")

    def env_is_wrapped(self, wrapper_class: object, indices: object = None) -> list[bool]:
        """No member is wrapped."""
        return [False for _ in self._get_indices(indices)]
