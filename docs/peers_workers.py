"""What sorosim, PyElastica and soromox compute for the page that compares them; `make_peers.py` asks, these answer.

Each code runs in a process of its own: python docs/peers_workers.py NAME. It reads requests as lines of JSON, {"do": a
function, and its arguments}, and answers each with one line. Times are CPU times of the process, in seconds.
Everything runs on one thread. A code's packages are imported by its own class only.
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from time import process_time
from typing import Any

LENGTH, RADIUS, YOUNG, POISSON, DENSITY = 0.5, 0.02, 1e6, 0.45, 1000.0  # a clamped cylinder along x, SI units
GRAVITY = (0.0, 0.0, -9.81)
T_END, DT_OUT, N_OUT = 1.0, 0.01, 100
WAVE = (YOUNG / DENSITY) ** 0.5  # speed of the stretching wave [m/s]
SHEAR = (2.0 * YOUNG / (1.0 + POISSON) / DENSITY) ** 0.5 / RADIUS  # of sections that shear, all alike [rad/s]


def timed(f: Callable[[], Any]) -> tuple[Any, float]:
    """A value and the CPU time it took."""
    begin = process_time()
    value = f()
    return value, process_time() - begin


def often(f: Callable[[], Any], seconds: float = 0.4) -> float:
    """Median CPU time of a call."""
    once = max(timed(f)[1], 1e-6)
    n = int(min(max(0.02 / once, 1), 1000))  # CPU clocks are coarse: several calls in one reading

    def some() -> None:
        for _ in range(n):
            f()

    readings = int(min(max(seconds / (n * once), 3), 15))
    return median(timed(some)[1] / n for _ in range(readings))


class Sorosim:
    """The rod as Legendre polynomials of one order for each of the six strains."""

    def __init__(self) -> None:
        import sorosim

        self.package, self.robots = sorosim, {}
        self.versions = {"sorosim": sorosim.__version__} | {name: version(name) for name in ("numpy", "scipy", "numba")}

    def robot(self, order: int) -> Any:
        if order not in self.robots:
            strain = {"basis": "legendre", **dict.fromkeys(("torsion", "bending", "elongation", "shear"), order)}
            rod = {
                "length": LENGTH,
                "section": {"circle": {"radius": RADIUS}},
                "material": "silicone",
                "strain": strain,
                "quadrature": max(5, order + 2),
            }
            material = {"young": YOUNG, "poisson": POISSON, "density": DENSITY}
            self.robots[order] = self.package.load(
                {
                    "sorosim": 1,
                    "name": "rod",
                    "gravity": list(GRAVITY),
                    "materials": {"silicone": material},
                    "links": {"arm": {"joint": "fixed", "rod": rod}},
                }
            )
        return self.robots[order]

    def swing(self, order: int, method: str, rtol: float) -> dict[str, Any]:
        """Released from straight: path of the tip."""
        robot = self.robot(order)
        options = {"t_end": T_END, "dt_out": DT_OUT, "method": method, "rtol": rtol, "atol": 0.01 * rtol}
        run, cpu = timed(lambda: self.package.simulate(robot, **options))
        return {"tip": run.tip().tolist(), "cpu": cpu}

    def sag(self, order: int) -> dict[str, Any]:
        """Tip at rest."""
        robot = self.robot(order)
        tip = robot.pose(self.package.statics(robot).q, "arm")[:3, 3]
        return {"tip": tip.tolist(), "cpu": often(lambda: self.package.statics(robot))}

    def calls(self, order: int, q: Any, qd: Any) -> dict[str, Any]:
        """Accelerations and their Jacobian, and what one call takes."""
        import numpy

        robot = self.robot(order)
        q, qd = numpy.array(q), numpy.array(qd)
        derivatives = robot.forward_dynamics_derivatives(q, qd)
        return {
            "qdd": robot.forward_dynamics(q, qd).tolist(),
            "dqdd_dq": derivatives.dqdd_dq.tolist(),
            "forward": often(lambda: robot.forward_dynamics(q, qd)),
            "inverse": often(lambda: robot.inverse_dynamics(q, qd, qdd=q)),
            "jacobian": often(lambda: robot.forward_dynamics_derivatives(q, qd)),
        }


class Soromox:
    """The same rod in the same coordinates: its GVS class has these bases, this collocation and scaling."""

    def __init__(self) -> None:
        os.environ["JAX_PLATFORMS"] = "cpu"
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        import jax

        jax.config.update("jax_enable_x64", True)
        self.jax, self.robots, self.swings, self.compiled = jax, {}, {}, {}
        self.versions = {name: version(name) for name in ("soromox", "jax", "diffrax")}

    def robot(self, order: int) -> Any:
        from soromox.systems import GVS
        from soromox.systems.components import JointSpec, LinkSpec
        from soromox.systems.gvs import GVSSegment, StrainBasisSpec

        if order not in self.robots:
            link = LinkSpec.circular(
                length=LENGTH,
                radius=RADIUS,
                density=DENSITY,
                reference_strain=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
                young_modulus=YOUNG,
                poisson_ratio=POISSON,
                material_damping_coefficient=0.0,
            )
            basis = StrainBasisSpec("legendre", [1] * 6, order)
            segment = GVSSegment(link=link, joint=JointSpec.fixed(), basis=basis, num_gauss_points=max(5, order + 2))
            array = self.jax.numpy.array
            self.robots[order] = GVS.from_segments(
                [segment],
                gravity=array(GRAVITY),
                base_pose=array([0.0, 0, 0, 1, 0, 0, 0]),  # quaternion, its scalar last; position
                scale_rotational_basis_by_length=True,
            )
        return self.robots[order]

    def run(self, order: int, method: str) -> Any:
        """A compiled roll-out: (state, tolerance) -> path of the tip. Tolerances are arguments and compile nothing."""
        import diffrax
        from soromox.systems import SystemState

        jax, robot = self.jax, self.robot(order)
        solver = {"tsit5": diffrax.Tsit5, "dopri8": diffrax.Dopri8}[method]()

        def path(y0: Any, rtol: Any) -> Any:
            control = diffrax.PIDController(rtol=rtol, atol=0.01 * rtol)
            rollout = robot.rollout_to(
                SystemState(t=0.0, y=y0),
                t1=T_END,
                solver_dt=1e-4,
                save_dt=DT_OUT,
                solver=solver,
                stepsize_controller=control,
            )
            q = rollout.y[: N_OUT + 1, : y0.shape[0] // 2]
            return jax.vmap(lambda q: robot.forward_kinematics(q, robot.length)[:3, 3])(q)

        return jax.jit(path)

    def swing(self, order: int, method: str, rtol: float) -> dict[str, Any]:
        """Released from straight: path of the tip; `first` is the first call, compilation included."""
        first, y0, case = 0.0, self.jax.numpy.zeros(2 * self.n(order)), (order, method)
        if case not in self.swings:
            self.swings[case] = self.run(*case)
            first = timed(lambda: self.jax.block_until_ready(self.swings[case](y0, 1e-2)))[1]
        path, cpu = timed(lambda: self.jax.block_until_ready(self.swings[case](y0, rtol)))
        return {"tip": path.tolist(), "cpu": cpu, "first": first}

    def n(self, order: int) -> int:
        return 6 * (order + 1)

    def sag(self, order: int) -> dict[str, Any]:
        """Tip at rest: the package has no solver for it, its examples find the root of the forces with Optimistix."""
        import optimistix

        jax, robot = self.jax, self.robot(order)

        def force(q: Any, _: Any) -> Any:
            return robot.elastic_force(q) + robot.gravitational_force(q)

        solver = optimistix.Newton(rtol=1e-10, atol=1e-12)
        solve = jax.jit(lambda q0: optimistix.root_find(force, solver, q0, max_steps=200, throw=False).value)
        q0 = jax.numpy.zeros(self.n(order))
        q, first = timed(lambda: jax.block_until_ready(solve(q0)))
        tip = robot.forward_kinematics(q, robot.length)[:3, 3]
        cpu = often(lambda: jax.block_until_ready(solve(q0)))
        return {"tip": tip.tolist(), "cpu": cpu, "first": first, "residual": float(abs(force(q, None)).max())}

    def calls(self, order: int, q: list[float], qd: list[float]) -> dict[str, Any]:
        """Accelerations and their Jacobian, and what one compiled call takes."""
        jax, robot, n = self.jax, self.robot(order), self.n(order)
        y, answer = jax.numpy.array([*q, *qd]), {}

        def forward(y: Any) -> Any:
            return robot.forward_dynamics(0.0, y)

        def inverse(y: Any) -> Any:
            mass, coriolis, gravity = robot.dynamics_terms(y[:n], y[n:])
            return mass @ y[:n] + coriolis + gravity

        for name, f in (("forward", forward), ("inverse", inverse), ("jacobian", jax.jacfwd(forward))):
            compiled = self.compiled.setdefault((name, order), jax.jit(f))
            value, answer[f"first {name}"] = timed(lambda f=compiled: jax.block_until_ready(f(y)))
            answer[name] = often(lambda f=compiled: jax.block_until_ready(f(y)))
            answer |= {"qdd": value[n:].tolist()} if name == "forward" else {}
        return answer | {"dqdd_dq": value[n:, :n].tolist()}


class Elastica:
    """The rod as finite differences; shear factor 1 instead of its 27/28, so that all three have the same stiffness."""

    def __init__(self) -> None:
        import elastica
        import numpy

        class Simulator(elastica.BaseSystemCollection, elastica.Constraints, elastica.Forcing, elastica.Damping):
            """What this problem needs."""

        self.ea, self.np, self.Simulator = elastica, numpy, Simulator
        self.versions = {name: version(name) for name in ("pyelastica", "numba")}

    def prepare(self, n: int, dt: float, longer: bool, damping: float) -> tuple[Any, Any]:
        """A simulator and its rod; `longer`: by half an element at the clamp, since that holds a whole element."""
        ea, np = self.ea, self.np
        element = LENGTH / (n - 0.5) if longer else LENGTH / n
        start = np.array([LENGTH - n * element, 0.0, 0.0])
        rod = ea.CosseratRod.straight_rod(
            n,
            start,
            np.array([1.0, 0.0, 0.0]),
            np.array([0.0, 0.0, 1.0]),
            n * element,
            RADIUS,
            DENSITY,
            youngs_modulus=YOUNG,
            shear_modulus=YOUNG / (2.0 * (1.0 + POISSON)),
        )
        rod.shear_matrix[:2, :2] *= 28.0 / 27.0
        simulator = self.Simulator()
        simulator.append(rod)
        clamp = {"constrained_position_idx": (0,), "constrained_director_idx": (0,)}
        simulator.constrain(rod).using(ea.OneEndFixedBC, **clamp)
        simulator.add_forcing_to(rod).using(ea.GravityForces, acc_gravity=np.array(GRAVITY))
        if damping:
            damper = {"uniform_damping_constant": damping, "time_step": dt}
            simulator.dampen(rod).using(ea.AnalyticalLinearDamper, **damper)
        simulator.finalize()
        return simulator, rod

    def steps(self, n: int, part: float = 0.8) -> int:
        """Steps from one output to the next, each a part of 2 over the fastest frequency, the longest that is stable.

        That was tried for a second: with 10 to 160 elements 0.85 is stable and 1.1 is not; with 320 0.7 is, 0.8 is not.
        """
        fastest = ((2.0 * WAVE * n / LENGTH) ** 2 + SHEAR**2) ** 0.5
        return int(-(-DT_OUT // (part * 2.0 / fastest)))

    def swing(self, n: int, longer: bool, part: float = 0.8) -> dict[str, Any]:
        """Released from straight: path of the tip."""
        np, every = self.np, self.steps(n, part)
        dt = np.float64(DT_OUT / every)
        simulator, rod = self.prepare(n, dt, longer, 0.0)
        stepper, time, tips = self.ea.PositionVerlet(), np.float64(0.0), [rod.position_collection[:, -1].tolist()]
        begin = process_time()
        for _ in range(N_OUT):
            for _ in range(every):
                time = stepper.step(simulator, time, dt)
            tips.append(rod.position_collection[:, -1].tolist())
        return {"tip": tips, "cpu": process_time() - begin}

    def sag(self, n: int, longer: bool, damping: float, seconds: float) -> dict[str, Any]:
        """Tip at rest: the package has no statics, so the motion is damped until it has died."""
        np, every = self.np, self.steps(n)
        dt = np.float64(DT_OUT / every)
        simulator, rod = self.prepare(n, dt, longer, damping)
        stepper, time = self.ea.PositionVerlet(), np.float64(0.0)
        begin = process_time()
        for _ in range(int(seconds / dt)):
            time = stepper.step(simulator, time, dt)
        speed = float(abs(rod.velocity_collection).max())
        return {"tip": rod.position_collection[:, -1].tolist(), "cpu": process_time() - begin, "speed": speed}


def main(name: str) -> None:
    """Answer requests until there are no more, on one core: JAX has threads that would count while they wait."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with contextlib.redirect_stdout(sys.stderr):
        worker = {"sorosim": Sorosim, "soromox": Soromox, "elastica": Elastica}[name]()
    print(json.dumps(worker.versions), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        with contextlib.redirect_stdout(sys.stderr):
            answer = getattr(worker, request.pop("do"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
