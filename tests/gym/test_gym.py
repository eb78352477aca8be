"""Environments of Gymnasium: the contract of its checkers, the physics of the tasks, mistakes."""

import copy
from dataclasses import replace

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import InputError

gymnasium = pytest.importorskip("gymnasium")

import sorosim.gym  # noqa: E402

NAMES = tuple(sorosim.gym.TASKS)
# the checkers warn of observations without bounds, which coordinates of soft robots are
ignore_bounds = pytest.mark.filterwarnings("ignore:.*Box observation space.*")


def pull(**options):
    """A task of one cable and few words."""
    given = {"bounds": {"cable1": ("0 N", "10 N")}, "reward": lambda state: state.position("arm")[2], "duration": 0.5}
    return sorosim.gym.Task(**given | options)


@pytest.fixture(scope="module")
def arm():
    return sorosim.load("cable_manipulator")


@ignore_bounds
@pytest.mark.parametrize("name", NAMES)
def test_checkers_find_nothing(name):
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make(f"sorosim/{name}-v0").unwrapped
    check_env(env)


@ignore_bounds
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_checkers_of_stable_baselines_find_nothing(name):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make(f"sorosim/{name}-v0").unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_members_move_as_environments_of_their_seeds_do(name):
    n, seed = 3, 7
    robot, task = sorosim.gym.TASKS[name]()
    task = replace(task, duration=8.0 * sorosim.gym.RobotEnv(robot, task).dt)
    many = sorosim.gym.VectorEnv(robot, task, num_envs=n, threads=2)
    single = [sorosim.gym.RobotEnv(robot, task) for _ in range(n)]
    rng = np.random.default_rng(0)
    seen, _ = many.reset(seed=seed)
    assert np.array_equal(seen, [env.reset(seed=seed + i)[0] for i, env in enumerate(single)])
    over = np.zeros(n, dtype=bool)
    for _ in range(20):
        actions = rng.uniform(-1.0, 1.0, (n, *many.single_action_space.shape)).astype(np.float32)
        seen, rewards, ended, late, _ = many.step(actions)
        for i, env in enumerate(single):
            # the step after the end begins anew, and its action does not count
            own = (env.reset()[0], 0.0, False, False) if over[i] else env.step(actions[i])[:4]
            assert np.array_equal(own[0], seen[i])
            assert own[1:] == (rewards[i], ended[i], late[i])
        over = ended | late
    assert many.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP


def test_seeds_make_the_same_episodes():
    env = gymnasium.make("sorosim/Reach-v0")
    first, again, other = (env.reset(seed=seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_registered_vector_environment_is_that_of_sorosim():
    many = gymnasium.make_vec("sorosim/Reach-v0", 2, vectorization_mode="vector_entry_point")
    assert isinstance(many.unwrapped, sorosim.gym.VectorEnv)


def test_actions_are_inputs_between_their_bounds(arm):
    env = sorosim.gym.RobotEnv(arm, pull(), "20 ms")
    env.reset()
    for action, tension in ((-1.0, 0.0), (0.0, 5.0), (1.0, 10.0), (3.0, 10.0)):
        env.step(np.array([action], dtype=np.float32))
        assert np.array_equal(env.state.u, [tension, 0.0, 0.0, 0.0, 0.0])


def test_an_episode_is_a_motion_of_a_stepper(arm):
    env, sim = sorosim.gym.RobotEnv(arm, pull(), "20 ms"), sorosim.Stepper(arm, "20 ms")
    env.reset()
    sim.reset()
    for _ in range(5):
        env.step([0.5])
        sim.step({"cable1": 7.5})
    assert np.array_equal(env.state.q, sim.state.q)
    assert env.state.t == pytest.approx(0.1)
    lag = 1e-6
    moved = (
        arm.pose(sim.state.q + lag * sim.state.qd, "arm")[:3, 3]
        - arm.pose(sim.state.q - lag * sim.state.qd, "arm")[:3, 3]
    )
    # central differences: second order in the lag, rounding of a position of half a metre over twice the lag
    assert env.state.velocity("arm") == pytest.approx(moved / (2.0 * lag), abs=1e-9)


def test_numbers_are_drawn_between_their_bounds_for_each_episode(arm):
    young = "materials.silicone.young"
    task = pull(numbers={young: ("0.5 MPa", "2 MPa")})
    env = sorosim.gym.RobotEnv(arm, task)
    values, sags = [], []
    for _ in range(5):
        env.reset(seed=None if values else 3)
        values.append(sorosim.scalars(env.state.robot)[young])
        for _ in range(10):
            env.step([-1.0])
        sags.append(env.state.position("arm")[2])
    assert len(set(values)) == 5
    assert min(values) >= 0.5e6
    assert max(values) <= 2e6
    assert np.array_equal(np.argsort(values), np.argsort(sags))  # the softer, the lower


def test_sensors_end_observations():
    robot = sorosim.load("soft_cart_pole").with_sensors(tip=sorosim.PoseSensor("pole"))
    task = sorosim.gym.Task({"motor": (-1.0, 1.0)}, lambda state: 0.0, sensors=True)
    env = sorosim.gym.RobotEnv(robot, task)
    seen, _ = env.reset()
    readings = robot.measure(env.state.q, env.state.qd)["tip"]
    assert seen[-readings.size :] == pytest.approx(np.ravel(readings), rel=1e-6)


def test_a_step_without_solution_ends_the_episode(arm):
    task = pull(bounds={"cable1": (0.0, 1e4)}, failure_reward=-7.0, dt="0.1 s")
    for env in (sorosim.gym.RobotEnv(arm, task), sorosim.gym.VectorEnv(arm, task, num_envs=2)):
        env.reset(seed=0)
        action = np.ones(env.action_space.shape)
        _, reward, ended, late, info = env.step(action)
        assert np.all(reward == -7.0)
        assert np.all(ended)
        assert not np.any(late)
        assert "Newton" in np.ravel(info["failure"])[0] or "NaN" in np.ravel(info["failure"])[0]


@pytest.mark.parametrize("action", [[np.nan], [0.0, 0.0], "up", [[0.0]]])
def test_a_wrong_action_is_one_error_and_changes_nothing(arm, action):
    env = sorosim.gym.RobotEnv(arm, pull())
    env.reset()
    env.step([0.3])
    before = env.state
    with pytest.raises(InputError, match="action"):
        env.step(action)
    assert np.array_equal(before.q, env.state.q)
    assert before.t == env.state.t


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": {"cable9": (0.0, 1.0)}}, "task.bounds: expected the name of an actuator, got 'cable9'"),
        ({"bounds": {"cable1": (1.0, 0.0)}}, "task.bounds.cable1: expected a low bound below the high one"),
        ({"bounds": {"cable1": 1.0}}, r"task.bounds.cable1: expected \(low, high\)"),
        ({"bounds": {"cable1": ("0 m", "1 m")}}, "task.bounds.cable1"),
        ({"bounds": {}}, "task.bounds"),
        ({"numbers": {"materials.steel.young": (1.0, 2.0)}}, "numbers"),
        ({"numbers": {"materials.silicone.young": ("2 MPa", "1 MPa")}}, "task.numbers.materials.silicone.young"),
        ({"observe": lambda state: np.zeros((2, 2))}, r"task.observe: expected an array \(n,\)"),
        ({"duration": "5 m"}, "task.duration"),
        ({"duration": -1}, "task.duration: expected a time greater than 0, got -1 s"),
        ({"duration": 0}, "task.duration: expected a time greater than 0, got 0 s"),
        ({"options": {"subteps": 2}}, "task.options: expected .*got 'subteps'; did you mean substeps"),
        ({"options": ["euler"]}, "task.options: expected a mapping"),
        ({"failure_reward": "x"}, "task.failure_reward: expected a finite number"),
        ({"reward": 1.0}, "task.reward: expected a function, got 1.0"),
        ({"observe": None}, "task.observe: expected a function, got nothing"),
        ({"observe": lambda state: [np.nan]}, "task.observe: expected finite numbers"),
        ({"observe": lambda state: "up"}, r"task.observe: expected an array \(n,\) of numbers, got 'up'"),
        ({"start": lambda random: {"q0": np.zeros(24)}}, "task.start: expected .*got 'q0'"),
        ({"start": lambda random: np.zeros(24)}, "task.start: expected a mapping with q and qd"),
        ({"sensors": "yes"}, "task.sensors: expected True or False"),
        ({"observe": lambda state: [1e300]}, "task.observe: expected finite numbers"),
        ({"in_sight": 3}, "task.in_sight: expected a sequence of coordinates, got 3"),
    ],
)
def test_a_wrong_task_is_one_error(arm, options, message):
    with pytest.raises(InputError, match=message):
        sorosim.gym.RobotEnv(arm, pull(**options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reward": lambda state: np.nan}, "task.reward: expected a finite number, got nan"),
        ({"reward": lambda state: None}, "task.reward: expected a finite number, got nothing"),
        ({"ends": lambda state: state.q > 0.0}, "task.ends: expected True or False"),
        ({"success": lambda state: None}, "task.success: expected True or False, got nothing"),
        ({"observe": lambda state: np.zeros(1 + (state.t > 0.0))}, "task.observe: expected 1 numbers, as many as befo"),
    ],
)
def test_what_functions_of_a_task_give_is_checked_at_each_step(arm, options, message):
    env = sorosim.gym.RobotEnv(arm, pull(**options))
    env.reset()
    with pytest.raises(InputError, match=message):
        env.step([0.0])


def test_seeds_of_members_are_taken_from_any_sequence(arm):
    many = sorosim.gym.VectorEnv(arm, pull(goal=lambda random: random.random()), num_envs=2)
    goals = []
    for seed in ([1, 2], np.array([1, 2]), 1):
        many.reset(seed=seed)
        goals.append(list(many._episodes.goals))
    assert goals[0] == goals[1] == goals[2]
    for seed in ([1], 1.5, "ab", [1, 1.5], -1):
        with pytest.raises(InputError, match="seed: expected a whole number, 0 or more, or 2 of them, got"):
            many.reset(seed=seed)


@pytest.mark.parametrize("n", [0, 2.5, True])
def test_a_wrong_number_of_members_is_one_error(arm, n):
    with pytest.raises(InputError, match="num_envs: expected a number of members, 1 or more, got"):
        sorosim.gym.VectorEnv(arm, pull(), num_envs=n)


def test_copies_of_environments_move_on_their_own(arm):
    env = sorosim.gym.RobotEnv(arm, pull(), "20 ms")
    env.reset(seed=0)
    env.step([0.5])
    q, twin = env.state.q, copy.deepcopy(env)
    twin.step([1.0])
    assert np.array_equal(env.state.q, q)
    env.step([1.0])
    assert np.array_equal(env.state.q, twin.state.q)


def test_use_before_reset_is_one_error(arm):
    env = sorosim.gym.RobotEnv(arm, pull())
    for call in (lambda: env.step([0.0]), lambda: env.state):
        with pytest.raises(InputError, match="expected a reset before"):
            call()


def test_pictures_show_the_robot_and_its_goal():
    env = gymnasium.make("sorosim/Reach-v0", render_mode="rgb_array")
    env.reset(seed=1)
    picture = env.render()
    assert picture.shape == (360, 480, 3)
    red = (picture[..., 0] > 150) & (picture[..., 1] < 60) & (picture[..., 2] < 60)
    assert 20 < red.sum() < 2000  # the goal
    for _ in range(10):
        env.step(np.array([1.0, -1.0, -1.0, -1.0, -1.0], dtype=np.float32))
    changed = np.any(env.render() != picture, axis=2).mean()
    assert 0.02 < changed < 0.6
    env.close()


# -- tasks can be done -------------------------------------------------------------------------------------------------


def test_reach_comes_to_a_goal_by_the_tensions_that_made_it():
    env = gymnasium.make("sorosim/Reach-v0")
    env.reset(seed=4)
    state = env.unwrapped.state
    # the goal is drawn first after the start: the same generator gives its tensions
    tension = gymnasium.utils.seeding.np_random(4)[0].uniform(0.0, 20.0, 5)
    assert state.robot.pose(sorosim.statics(state.robot, u=tension).q, "arm")[:3, 3] == pytest.approx(state.goal)
    for _ in range(80):
        *_, late, info = env.step((tension / 10.0 - 1.0).astype(np.float32))
    assert late
    assert info["success"]


def test_swing_up_raises_the_pole_by_energy():
    env = gymnasium.make("sorosim/SwingUp-v0").unwrapped
    env.reset(seed=0)
    best = -1.0
    for _ in range(500):
        state = env.state
        x, angle, v, rate = *state.q[:2], *state.qd[:2]
        push = np.sign(rate * np.cos(angle)) * (np.cos(angle) > -0.7)
        _, _, ended, late, _ = env.step([np.clip(push - 0.8 * x - 0.2 * v, -1.0, 1.0)])
        best = max(best, float(env.state.position("pole")[2]))
        if ended or late:
            break
    assert best > 0.3  # of 0.4 m


def test_swim_goes_on_by_turning_both_shafts():
    env = gymnasium.make("sorosim/Swim-v0").unwrapped
    env.reset(seed=0)
    for _ in range(250):
        env.step([1.0, 1.0])
    assert env.state.position("body")[0] > 0.04  # as a run of the file at 0.25 N m


def test_lift_raises_the_ball_by_closing_first():
    env = gymnasium.make("sorosim/Lift-v0")
    env.reset(seed=2)
    for k in range(100):
        grip = min(k / 20.0 - 1.0, 0.5)
        up = np.clip((k - 40) / 15.0 - 1.0, -1.0, 0.9)
        *_, info = env.step(np.array([grip, grip, grip, up], dtype=np.float32))
    assert info["success"]


def test_observations_have_the_bounds_of_sensors_and_inputs():
    content = sorosim.load("cable_manipulator").description
    from sorosim.mechanics.sensors.kinds import PoseSensor, TendonSensor

    robot = sorosim.Robot(replace(content, sensors={"eye": PoseSensor("arm"), "cord": TendonSensor("cable1")}))
    env = sorosim.gym.RobotEnv(robot, pull(sensors=True, bounds={"cable1": ("1 N", "10 N"), "cable3": ("0 N", "5 N")}))
    low, high, n = env.observation_space.low, env.observation_space.high, robot.ndof
    assert np.isinf(low[: 2 * n]).all()
    assert np.isinf(high[: 2 * n]).all()
    # inputs are zero before the first step; those that are no actions stay so
    assert np.array_equal(low[2 * n : 2 * n + 5], np.zeros(5, dtype=np.float32))
    assert np.array_equal(high[2 * n : 2 * n + 5], np.array([10, 0, 5, 0, 0], dtype=np.float32))
    assert np.array_equal(low[-9:], np.array([*[-np.inf] * 3, *[-1.0] * 4, 0.0, -np.inf], dtype=np.float32))
    assert np.array_equal(high[-9:], np.array([*[np.inf] * 3, *[1.0] * 4, np.inf, np.inf], dtype=np.float32))
    assert env.reset(seed=0)[0] in env.observation_space
    for action in ([1.0, -1.0], [-1.0, 1.0]):
        assert env.step(np.array(action, dtype=np.float32))[0] in env.observation_space


def test_an_observation_of_a_task_has_no_bounds_of_its_own(arm):
    env = sorosim.gym.RobotEnv(arm, pull(observe=lambda state: state.u))
    assert np.isinf(env.observation_space.low).all()


def test_numbers_that_were_drawn_are_those_of_the_robot(arm):
    path = "materials.silicone.young"
    env = sorosim.gym.RobotEnv(arm, pull(numbers={path: ("0.8 MPa", "1.3 MPa")}))
    drawn = set()
    for seed in (1, 2):
        env.reset(seed=seed)
        assert env.state.numbers == {path: pytest.approx(sorosim.scalars(env.state.robot)[path])}
        drawn.add(env.state.numbers[path])
    assert len(drawn) == 2


def test_pictures_show_a_goal_that_moves(arm):
    moving = lambda random: lambda t: np.array([0.4, 0.0, -0.15 + 2.0 * t])  # noqa: E731
    still = lambda random: lambda t: np.array([0.4, 0.0, -0.15])  # noqa: E731
    pictures = []
    for goal in (still, moving):
        env = sorosim.gym.RobotEnv(arm, pull(goal=goal), render_mode="rgb_array")
        env.reset(seed=1)
        first = env.render()
        env.step(np.zeros(1, dtype=np.float32))
        second = env.render()
        env.close()
        red = [(one[..., 0] > 150) & (one[..., 1] < 60) & (one[..., 2] < 60) for one in (first, second)]
        pictures.append([np.argwhere(mask)[:, 0].mean() for mask in red])
    assert abs(pictures[0][1] - pictures[0][0]) < 1.0
    # up: 10 cm in a step of 50 ms
    assert pictures[1][1] < pictures[1][0] - 5.0
