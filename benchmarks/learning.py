"""PPO on the task of reaching with a soft arm: return and rate of success before and after, and the curve."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.context import Setting

MEMBERS, STEPS, EPISODES = 16, 600_000, 100


def study(at: Setting) -> None:
    """PPO of Stable-Baselines3 on the task of reaching; some ten minutes."""
    import gymnasium
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    import sorosim.gym  # noqa: F401, registers the tasks

    class Curve(BaseCallback):  # type: ignore[misc, unused-ignore]
        """Mean return of the last episodes, once a rollout."""

        rows: list[tuple[int, float, float]]

        def _on_training_start(self) -> None:
            self.rows, self.begin = [], time.perf_counter()

        def _on_step(self) -> bool:
            return True

        def _on_rollout_end(self) -> None:
            if self.model.ep_info_buffer:
                mean = float(np.mean([one["r"] for one in self.model.ep_info_buffer]))
                self.rows.append((self.num_timesteps, mean, time.perf_counter() - self.begin))

    torch.set_num_threads(1)
    n_steps, episodes = at.size((STEPS, EPISODES), (1, 1))  # at least one rollout of all members
    members = make_vec_env("sorosim/Reach-v0", MEMBERS, seed=0)
    policy: Any = {"net_arch": [128, 128], "log_std_init": -0.5}
    model = PPO(
        "MlpPolicy", members, n_steps=160, batch_size=512, n_epochs=10, learning_rate=5e-4, gamma=0.95,
        policy_kwargs=policy, seed=0, device="cpu",
    )  # fmt: skip
    env, curve = gymnasium.make("sorosim/Reach-v0"), Curve()
    at.say("before: return {:.1f}, success {:.0%}".format(*evaluate(model, env, episodes)))
    model.learn(n_steps, curve)
    steps, means, seconds = np.array(curve.rows).T
    at.say(f"{steps[-1]:.0f} steps in {seconds[-1]:.0f} s, {steps[-1] / seconds[-1]:.0f} a second")
    at.say("after: return {:.1f}, success {:.0%}".format(*evaluate(model, env, episodes)))
    model.save(at.folder / "reach.zip")
    plot(steps, means, seconds, at.folder / "reach.png")


def evaluate(model: Any, env: Any, episodes: int) -> tuple[float, float]:
    """Mean return of episodes with the mean actions of a policy, and the part that ends at its goal."""
    returns, successes = np.zeros(episodes), np.zeros(episodes)
    for k in range(episodes):
        seen, over = env.reset(seed=1_000_000 + k)[0], False
        while not over:
            seen, reward, ended, late, info = env.step(model.predict(seen, deterministic=True)[0])
            returns[k] += reward
            over = ended or late
        successes[k] = info.get("success", False)
    return float(returns.mean()), float(successes.mean())


def plot(steps: Any, means: Any, seconds: Any, path: Path) -> None:
    """Return against steps, and the time on top."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(steps / 1e3, means)
    axes.set(xlabel="thousand steps", ylabel="return of an episode", title="PPO on sorosim/Reach-v0")
    rate = steps[-1] / 1e3 / (seconds[-1] / 60.0)
    above = axes.secondary_xaxis("top", functions=(lambda x: x / rate, lambda x: x * rate))
    above.set_xlabel("minutes on 2 cores")
    figure.savefig(path, dpi=120)
