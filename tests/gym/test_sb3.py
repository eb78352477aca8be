"""The adapter to Stable-Baselines3, where that is installed: its contract, against members stepped one by one."""

import numpy as np
import pytest

import sorosim
from sorosim.base.errors import InputError

pytest.importorskip("gymnasium")
pytest.importorskip("stable_baselines3", reason="stable_baselines3 is not installed: pip install 'sorosim[learn]'")

from sorosim.gym.sb3 import Sb3VecEnv

import sorosim.gym

STEPS = 4


def task(**options):
    given = {
        "bounds": {"cable1": ("0 N", "10 N")}, "reward": lambda state: float(state.position("arm")[2]), "dt": "50 ms",
        "duration": STEPS * 0.05, "numbers": {"materials.silicone.young": ("0.8 MPa", "1.3 MPa")},
    }  # fmt: skip
    return sorosim.gym.Task(**given | options)


@pytest.fixture(scope="module")
def arm():
    return sorosim.load("cable_manipulator")


def test_members_begin_anew_in_the_step_that_ends_their_episode(arm):
    n, seed, rng = 2, 5, np.random.default_rng(0)
    many = Sb3VecEnv(sorosim.gym.VectorEnv(arm, task(), num_envs=n))
    many.seed(seed)
    single = [sorosim.gym.RobotEnv(arm, task()) for _ in range(n)]
    assert np.array_equal(many.reset(), [env.reset(seed=seed + i)[0] for i, env in enumerate(single)])
    ends = 0
    for _ in range(2 * STEPS + 1):
        actions = rng.uniform(-1.0, 1.0, (n, 1)).astype(np.float32)
        seen, rewards, over, infos = many.step(actions)
        for i, env in enumerate(single):
            last, reward, ended, late, _ = env.step(actions[i])
            assert over[i] == (ended or late)
            assert rewards[i] == np.float32(reward)
            assert infos[i]["TimeLimit.truncated"] == (late and not ended)
            if over[i]:
                ends += 1
                assert np.array_equal(infos[i]["terminal_observation"], last)
                last = env.reset()[0]
            else:
                assert "terminal_observation" not in infos[i]
            assert np.array_equal(seen[i], last)
    assert ends == 2 * n
    many.close()


def test_an_episode_that_ends_before_its_time_is_not_truncated(arm):
    many = Sb3VecEnv(sorosim.gym.VectorEnv(arm, task(ends=lambda state: state.t > 0.06), num_envs=1))
    many.reset()
    _, _, first, _ = many.step(np.zeros((1, 1)))
    _, _, second, infos = many.step(np.zeros((1, 1)))
    assert (bool(first[0]), bool(second[0]), infos[0]["TimeLimit.truncated"]) == (False, True, False)


def test_ppo_takes_it(arm):
    from stable_baselines3 import PPO

    many = Sb3VecEnv(sorosim.gym.VectorEnv(arm, task(), num_envs=4))
    model = PPO("MlpPolicy", many, n_steps=STEPS, batch_size=16, n_epochs=1, seed=0, device="cpu")
    before = [one.detach().clone() for one in model.policy.parameters()]
    model.learn(total_timesteps=8 * STEPS)
    assert any(
        not np.array_equal(a.numpy(), b.detach().numpy())
        for a, b in zip(before, model.policy.parameters(), strict=True)
    )


def test_what_is_no_vector_environment_is_refused(arm):
    with pytest.raises(InputError, match="VectorEnv"):
        Sb3VecEnv(sorosim.gym.RobotEnv(arm, task()))
    many = Sb3VecEnv(sorosim.gym.VectorEnv(arm, task(), num_envs=2))
    with pytest.raises(InputError, match="share"):
        many.set_attr("dt", 1.0)
    assert many.get_attr("dt") == [0.05, 0.05]
