"""Environments of Gymnasium: one robot, or many on threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from sorosim.base.errors import InputError
from sorosim.base.validation import Number, describe
from sorosim.connect.gym.episodes import Episodes
from sorosim.connect.gym.task import Random, State, Task
from sorosim.mechanics.robot import Robot

PICTURE = 480, 360  # pixels
GOAL_COLOUR, GOAL_SIZE = "red", 0.01  # radius by the size of what is seen


class Pictures:
    """Pictures of a robot with its task."""

    def __init__(self, robot: Robot, task: Task, mode: str | None, known: list[str]) -> None:
        if mode is not None and mode not in known:
            raise InputError("render_mode", "'rgb_array' or none", f"{mode!r}")
        self.robot, self.task, self.mode = robot, task, mode
        self._scene: Any = None

    def draw(self, state: State) -> Any:
        """The picture (height, width, 3) of a state, with its goal where that is a position; None without a mode."""
        if self.mode is None:
            return None
        from sorosim.view.viz.offscreen import load_pyvista
        from sorosim.view.viz.scene import Scene

        scene = self._scene
        if scene is None:
            options: dict[str, Any] = {"title": "", "axes": False} | dict(self.task.drawing)
            scene = self._scene = Scene(self.robot, size=PICTURE, **options)
            scene.fit([self.robot.initial_q, *map(self.robot.coordinates, self.task.in_sight)])
        scene.update(state.q, state.u, state.t)
        goal = state.goal(state.t) if callable(state.goal) else state.goal
        if isinstance(goal, np.ndarray) and goal.shape == (3,):
            ball = load_pyvista().Sphere(radius=GOAL_SIZE * scene.plotter.length, center=goal)
            scene.plotter.add_mesh(ball, color=GOAL_COLOUR, name="goal", reset_camera=False)
        return scene.image()

    def close(self) -> None:
        if self._scene is not None:
            self._scene.close()
            self._scene = None


class RobotEnv(gymnasium.Env):  # type: ignore[misc]
    """A robot and its task as an environment.

    Parameters
    ----------
    robot : Robot
    task : Task
    dt : float or str, optional
        Time between actions [s]. Default: that of the task.
    render_mode : {"rgb_array"}, optional
        `render` gives pictures (360, 480, 3).

    Attributes
    ----------
    dt : float
        Time between actions [s].
    state : State
        What functions of the task get.

    Notes
    -----
    Actions are numbers within -1 and 1, beyond which they are cut off; observations are those of the task, both
    float32. A step that finds no solution ends the episode, with what happened in ``info["failure"]``.

    Examples
    --------
    >>> task = sorosim.gym.Task({"cable1": ("0 N", "8 N")}, reward=lambda state: state.position("arm")[1])
    >>> env = sorosim.gym.RobotEnv(sorosim.load("cable_manipulator"), task, "50 ms")
    >>> observation, info = env.reset(seed=1)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 20}

    def __init__(self, robot: Robot, task: Task, dt: Number | None = None, *, render_mode: str | None = None) -> None:
        self._pictures = Pictures(robot, task, render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self._episodes = Episodes(robot, task, 1, dt, 1)
        self.dt = self._episodes.batch.dt
        self.metadata = self.metadata | {"render_fps": 1.0 / self.dt}  # type: ignore[misc]
        self.observation_space, self.action_space = self._episodes.observations, self._episodes.actions

    @property
    def state(self) -> State:
        """The state that functions of the task get."""
        return self._episodes.state(0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; a seed makes what the task draws, from here on, that of the seed."""
        super().reset(seed=seed)
        self._episodes.begin([0], [self.np_random])
        return self._episodes.observe()[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move by dt: observation, reward, whether the episode ended, whether its time is over, and information."""
        self._episodes.step(np.asarray(action)[None] if np.ndim(action) == 1 else [action])
        return self._episodes.observe()[0], *self._episodes.outcome(0)

    def render(self) -> Any:
        """The picture (height, width, 3) of the state."""
        return self._pictures.draw(self.state)

    def close(self) -> None:
        """Give the memory of pictures back."""
        self._pictures.close()


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """Many copies of a robot and its task, which move on threads of compiled code.

    Each member moves as a `RobotEnv` of its seed does. One whose episode is over begins anew in the step after, whose
    action does not count for it.

    Parameters
    ----------
    robot : Robot
    task : Task
    dt : float or str, optional
        Time between actions [s]. Default: that of the task.
    num_envs : int
        How many.
    threads : int, optional
        Default: as many as this process has processors.
    render_mode : {"rgb_array"}, optional
        `render` gives a tuple of one picture for each member.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self, robot: Robot, task: Task, dt: Number | None = None, *, num_envs: int, threads: int | None = None,
        render_mode: str | None = None,
    ) -> None:  # fmt: skip
        self._pictures = Pictures(robot, task, render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self._episodes = Episodes(robot, task, num_envs, dt, threads)
        self.dt = self._episodes.batch.dt
        self.metadata = self.metadata | {"render_fps": 1.0 / self.dt}  # type: ignore[misc]
        self.num_envs = num_envs
        self.single_observation_space, self.single_action_space = self._episodes.observations, self._episodes.actions
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._generators: list[Random] = [seeding.np_random()[0] for _ in range(num_envs)]
        self._over = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin episodes of all members; a number as seed is that of the first, the next ones count on."""
        n = self.num_envs
        given: Any = seed
        if seed is None or isinstance(seed, int | np.integer):
            given = [None if seed is None else seed + i for i in range(n)]
        seeds = np.array(given, dtype=object).ravel().tolist()
        if len(seeds) != n or not all(one is None or (isinstance(one, int | np.integer) and one >= 0) for one in seeds):
            raise InputError("seed", f"a whole number, 0 or more, or {n} of them", describe(seed))
        for i, one in enumerate(seeds):
            if one is not None:
                self._generators[i] = seeding.np_random(int(one))[0]
        self._over[:] = False
        self._episodes.begin(range(n), self._generators)
        return self._episodes.observe(), {}

    def step(self, actions: object) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Move all members by dt: as `RobotEnv.step`, with n first."""
        episodes, n = self._episodes, self.num_envs
        episodes.step(actions)
        again = np.flatnonzero(self._over).tolist()
        episodes.begin(again, [self._generators[i] for i in again])
        infos: dict[str, Any] = {}
        rewards, ended, late = np.zeros(n), np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
        for i in np.flatnonzero(~self._over).tolist():
            rewards[i], ended[i], late[i], info = episodes.outcome(i)
            infos = self._add_info(infos, info, i)
        self._over = ended | late
        return episodes.observe(), rewards, ended, late, infos

    def render(self) -> tuple[Any, ...] | None:
        """Pictures (height, width, 3) of all members."""
        if self.render_mode is None:
            return None
        return tuple(self._pictures.draw(self._episodes.state(i)) for i in range(self.num_envs))

    def close_extras(self, **_: object) -> None:
        """Give the memory of pictures back."""
        self._pictures.close()
