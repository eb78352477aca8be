"""Fits: exact derivatives, recovery, intervals that cover, what is not identified, files and messages."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

import sorosim
from sorosim.studies.fitting.fit import _correlation
from sorosim.studies.fitting.model import Model
from sorosim.studies.fitting.unknowns import SHIFT, unknowns_of

BEAM = """
sorosim: 1
name: beam
gravity: [0, 0, -9.81]
parameters: {length: 30 cm}
materials:
  rubber: {young: 1 MPa, poisson: 0.4, density: 1200 kg/m^3, damping: 20 kPa*s}
links:
  beam:
    rod:
      length: $length
      section: {circle: {radius: [10 mm, 8 mm]}}
      material: rubber
      strain: {bending: 1}
  plate:
    parent: beam
    body: {mass: 20 g, centre: [5 mm, 0, 0], inertia: [1e-6, 1e-6, 1e-6]}
    frames: {edge: {position: [10 mm, 0, 5 mm]}}
actuators:
  up: {tendon: {rod: beam, y: 0, z: 6 mm}}
  side: {tendon: {rod: beam, y: 6 mm, z: 0}}
sensors:
  gauge: {strain: {link: beam, s: 0.3}}
"""
E, RHO, DAMPING = (f"materials.rubber.{name}" for name in ("young", "density", "damping"))
POISSON = "materials.rubber.poisson"
RADIUS = "links.beam.rod.section.circle.radius[0]"
TENSIONS = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 1.0], [6.0, 2.0], [8.0, 4.0]])
TRUE = {E: 1.25e6, RHO: 1100.0}
MARKERS = {"mid": sorosim.Anchor("beam", s=0.5, at={"position": [0, 0, "12 mm"]}), "edge": "edge", "beam": "beam"}


@pytest.fixture(scope="module")
def beam(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "beam.yaml"
    path.write_text(BEAM)
    return sorosim.load(path)


def tips(robot, tensions=TENSIONS):
    return np.array([sorosim.statics(robot, u).tip("beam") for u in tensions])


def pulled(n=41, dt=0.01):
    t = dt * np.arange(n)
    return t, np.column_stack([1.0 + 3.0 * (1.0 - np.cos(12.0 * t)), 1.5 * np.sin(9.0 * t) ** 2])


def motion_of(robot, noise=0.0, rng=None, **options):
    t, u = pulled()
    x = sorosim.rollout(robot, u[:-1], 0.01, q0=sorosim.statics(robot, u[0]).q, qd0=np.zeros(robot.ndof)).positions(
        "beam"
    )
    if noise:
        x = x + noise * rng.standard_normal(x.shape)
    return sorosim.Measurements(u, t=t, positions={"beam": x}, **options)


# -- derivatives


@pytest.mark.parametrize("kind", ["equilibria", "motion from rest", "motion from a start"])
def test_derivatives_of_what_is_simulated_match_central_differences(beam, kind):
    t, u = pulled(13)
    q0 = 0.1 * np.arange(1.0, beam.ndof + 1) if kind == "motion from a start" else None
    rows = len(t)
    data = sorosim.Measurements(
        u, t=None if kind == "equilibria" else t, q0=q0, positions=dict.fromkeys(MARKERS, np.zeros((rows, 3))),
        readings={"gauge": np.zeros((rows, len(beam.instruments.readers["gauge"].channels)))},
        places={"mid": MARKERS["mid"]}, substeps=2 if kind != "equilibria" else 1,
    ).bind(beam)  # fmt: skip
    free = [E, DAMPING, "parameters.length", "links.plate.frames.edge.position[2]", "links.plate.body.mass",
            "marker.mid.offset", "input.up.scale"] + (["time.shift"] if data.source.t is not None else [])  # fmt: skip
    unknowns = unknowns_of(beam, [data], free, None)
    model = Model(beam, [data], unknowns)
    p = np.array([one.value for one in unknowns])
    p[unknowns.index(next(one for one in unknowns if one.name == "input.up.scale"))] = 1.2
    if data.source.t is not None:
        p[-1] = 0.002
    J = model.jacobian(model.at(p))[0]
    for i, one in enumerate(unknowns):
        h = 1e-4 * one.scale if one.kind != SHIFT else 1e-5
        ends = [model.at(p + k * h * np.eye(len(p))[i]).simulated[0] for k in (-2, -1, 1, 2)]
        difference = (ends[0] - 8.0 * ends[1] + 8.0 * ends[2] - ends[3]) / (12.0 * h)
        # rounding of the solvers over the step, or truncation of the spline's kinks
        scale = max(np.abs(difference).max(), np.abs(J[:, :, i]).max())
        assert_allclose(J[:, :, i], difference, atol=2e-6 * scale + 1e-11 / h, err_msg=one.name)
        if one.name != DAMPING or data.source.t is not None:
            assert scale * one.scale > 1e-6, one.name


# -- recovery


def test_equilibria_give_back_the_numbers_that_made_them(beam):
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(beam.with_values(TRUE))})
    fit = sorosim.fit(beam, data, [E, RHO])
    assert_allclose([fit.values[E], fit.values[RHO]], list(TRUE.values()), rtol=1e-7)
    assert fit.identifiable == {E: True, RHO: True}
    assert_allclose(sorosim.scalars(fit.robot)[E], fit.values[E])
    assert np.abs(fit.residuals).max() < 1e-9
    assert fit.covariance.shape == fit.correlation.shape == (2, 2)


def test_offset_scale_and_shift_are_found_in_a_motion(beam, rng):
    t, u = pulled()
    true = beam.with_values({DAMPING: 30e3})
    made = sorosim.rollout(true, u[:-1] * [1.2, 1.0], 0.01, q0=sorosim.statics(true, u[0] * [1.2, 1.0]).q,
                           qd0=np.zeros(true.ndof))  # fmt: skip
    from scipy.interpolate import CubicSpline

    poses = np.array([true.pose(q, "beam") for q in made.q])
    x = CubicSpline(t, poses[:, :3, 3] + poses[:, :3, :3] @ [0.004, 0.0, 0.011])(np.clip(t + 0.006, 0.0, t[-1]))
    data = sorosim.Measurements(u, t=t, positions={"beam": x})
    fit = sorosim.fit(beam, data, [DAMPING, "input.up.scale", "marker.beam.offset", "time.shift"])
    wanted = [30e3, 1.2, 0.004, 0.0, 0.011, 0.006]
    assert_allclose(list(fit.values.values()), wanted, rtol=1e-4, atol=1e-6)


def test_static_and_dynamic_data_together_determine_more_than_either(beam, rng):
    true = beam.with_values(TRUE | {DAMPING: 30e3})
    static = sorosim.Measurements(
        TENSIONS, positions={"beam": tips(true) + 2e-4 * rng.standard_normal((5, 3))}, name="rest"
    )
    dynamic = motion_of(true, 2e-4, rng, name="motion")
    free = [E, RHO, DAMPING]
    both = sorosim.fit(beam, [static, dynamic], free)
    alone = sorosim.fit(beam, static, free)
    assert not alone.identifiable[DAMPING]
    assert alone.null_directions == ({DAMPING: 1.0},)
    assert np.isinf(alone.covariance[2, 2])
    assert alone.interval()[DAMPING] == (0.0, np.inf)
    assert alone.values[DAMPING] == pytest.approx(20e3)
    assert all(both.identifiable.values())
    for name, value in (TRUE | {DAMPING: 30e3}).items():
        low, high = both.interval(0.999)[name]
        assert low < value < high
        assert both.standard_errors[name] < alone.standard_errors[name]
    assert both.noise == pytest.approx(2e-4, rel=0.15)


def test_readings_of_sensors_take_part(beam):
    true = beam.with_values(TRUE)
    readings = [sorosim.statics(true, u).measure()["gauge"] for u in TENSIONS]
    fit = sorosim.fit(beam, sorosim.Measurements(TENSIONS, readings={"gauge": readings}, sd={"gauge": 1.0}), [E, RHO])
    assert_allclose(list(fit.values.values()), list(TRUE.values()), rtol=1e-6)
    channels = beam.instruments.readers["gauge"].channels
    assert list(fit.errors.rms) == [f"gauge.{name}" for name in channels]
    assert "1/m before" in fit.summary()


def test_a_trial_without_a_solution_shortens_the_step(beam, monkeypatch):
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(beam.with_values(TRUE))})
    at, calls = Model.at, []

    def failing(self, p):
        calls.append(p)
        if len(calls) in (2, 3):
            raise sorosim.ConvergenceError("there is no equilibrium")
        return at(self, p)

    monkeypatch.setattr(Model, "at", failing)
    fit = sorosim.fit(beam, data, [E, RHO])
    assert "2 trials had no solution, where the step was shortened: there is no equilibrium" in fit.message
    steps = [np.linalg.norm(p - calls[0]) for p in calls[1:4]]
    assert steps[0] > steps[1] > steps[2]
    assert_allclose(list(fit.values.values()), list(TRUE.values()), rtol=1e-6)


def test_default_bounds_are_what_the_file_accepts(beam):
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(beam)}).bind(beam)
    found = {one.name: one for one in unknowns_of(beam, [data], [E, POISSON, "input.up.scale"], None)}
    assert (found[E].low, found[E].high, found[E].logarithm) == (0.0, np.inf, True)
    assert_allclose([found[POISSON].low, found[POISSON].high], [-1.0, 0.5], atol=1e-6)
    assert not found[POISSON].logarithm


# -- statistics


def coverage(beam, n, seed):
    """How often (2,) 95 % intervals hold the true numbers, in n fits to noise."""
    rng, true = np.random.default_rng(seed), beam.with_values(TRUE)
    exact, inside = tips(true, TENSIONS[:3]), np.zeros(2)
    for _ in range(n):
        noisy = exact + 1e-3 * rng.standard_normal(exact.shape)
        fit = sorosim.fit(true, sorosim.Measurements(TENSIONS[:3], positions={"beam": noisy}), [E, RHO])
        inside += [low < TRUE[name] < high for name, (low, high) in fit.interval(0.95).items()]
    return inside


@pytest.mark.slow
def test_intervals_cover(beam):
    n = 40
    low = scipy.stats.binom.ppf(1e-4, n, 0.95)  # by chance less in one of ten thousand
    assert (coverage(beam, n, 1) >= low).all()


@pytest.mark.slow
def test_intervals_cover_in_93_to_97_percent_of_a_thousand_fits(beam):
    inside = coverage(beam, 1000, 2)
    assert ((inside >= 930) & (inside <= 970)).all(), inside


def test_a_product_that_alone_is_identified_is_named(beam):
    """Tensions and stiffness scale alike where nothing else acts: their ratio is all that shapes show."""
    free = [E, "input.up.scale", "input.side.scale"]
    weightless = beam.with_values({"gravity[2]": 0.0})
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(weightless.with_values({E: 1.3e6}))})
    fit = sorosim.fit(weightless, data, free)
    assert fit.identifiable == dict.fromkeys(free, False)
    assert fit.null_directions == (pytest.approx(dict.fromkeys(free, 1.0), abs=1e-5),)
    assert fit.values[E] / fit.values["input.up.scale"] == pytest.approx(1.3e6, rel=1e-6)
    assert 0.1e6 < fit.values[E] < 10e6
    text = fit.summary()
    assert "only a combination of" in text
    assert text.count("inf") >= 3
    assert np.isnan(fit.correlation[0, 1])
    assert np.isinf(np.diag(fit.covariance)).all()


def test_modulus_and_radius_of_a_uniform_beam_are_told_apart_by_their_product_alone(tmp_path):
    path = tmp_path / "uniform.yaml"
    path.write_text(BEAM.replace("[10 mm, 8 mm]", "10 mm"))
    uniform = sorosim.load(path).with_values({"gravity[2]": 0.0})
    radius = RADIUS.removesuffix("[0]")
    data = sorosim.Measurements(TENSIONS[1:], positions={"beam": tips(uniform.with_values({E: 1.1e6}), TENSIONS[1:])})
    fit = sorosim.fit(uniform, data, [E, radius])
    (direction,) = fit.null_directions  # E r^4 counts
    assert direction == pytest.approx({E: 1.0, radius: -0.25}, abs=1e-4)


def test_a_prior_determines_what_the_data_do_not(beam):
    weightless = beam.with_values({"gravity[2]": 0.0})
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(weightless)})
    free = [E, "input.up.scale", "input.side.scale"]
    fit = sorosim.fit(weightless, data, free, noise="0.1 mm", priors={E: ("1.2 MPa", "60 kPa")})
    assert all(fit.identifiable.values())
    assert fit.values[E] == pytest.approx(1.2e6, rel=1e-3)
    assert fit.standard_errors[E] == pytest.approx(60e3, rel=1e-2)


def test_known_noise_scales_the_covariance(beam, rng):
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(beam) + 1e-4 * rng.standard_normal((5, 3))})
    one, two = (sorosim.fit(beam, data, [E, RHO], noise=sd) for sd in (1e-4, "0.2 mm"))
    assert_allclose(two.covariance, 4.0 * one.covariance, rtol=1e-6)
    ratio = [(high - low) / one.standard_errors[E] for low, high in [one.interval(0.95)[E]]]
    assert_allclose(ratio, 2.0 * 1.95996, rtol=1e-3)  # normal, not Student's


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy"])
def test_outliers_survive_with_a_robust_loss(beam, rng, loss):
    x = tips(beam.with_values(TRUE)) + 1e-4 * rng.standard_normal((5, 3))
    x[2, 1] += 0.05
    data = sorosim.Measurements(TENSIONS, positions={"beam": x})
    plain, robust = (sorosim.fit(beam, data, [E, RHO], loss=name) for name in ("linear", loss))
    error = [abs(fit.values[E] / TRUE[E] - 1.0) for fit in (plain, robust)]
    assert error[1] < 0.01 < error[0]
    assert robust.noise < 1e-3 < plain.noise


@pytest.mark.parametrize("loss", ["linear", pytest.param("soft_l1", marks=pytest.mark.slow)])
def test_profile_of_a_nearly_linear_number_is_its_interval(beam, rng, loss):
    """For robust losses the deviance has a scale of its own, without which intervals were 20 % too wide."""
    tensions = np.array([[x, y] for x in range(0, 8, 2) for y in range(0, 8, 2)], dtype=float)
    data = sorosim.Measurements(
        tensions, positions={"beam": tips(beam, tensions) + 1e-4 * rng.standard_normal((16, 3))}
    )
    fit = sorosim.fit(beam, data, [E, RHO], loss=loss)
    profile, best = fit.profile(E, n=9), fit.values[E]
    assert profile.interval == pytest.approx(fit.interval(0.95, profile=True)[E], rel=1e-9)
    half = np.array(fit.interval(0.95)[E]) - best
    assert_allclose(np.array(profile.interval) - best, half, rtol=5e-3 if loss == "linear" else 0.12)
    assert max(fit.nonlinearity.values()) < (5e-3 if loss == "linear" else 0.12)
    assert (profile.deviance >= -1e-9).all()
    assert len(profile.values) == 9


@pytest.mark.slow
def test_intervals_by_profile_likelihood_end_where_the_deviance_is_that_of_the_level(beam, rng):
    """A short motion determines little: its linear intervals are off, and the summary says so."""
    true = beam.with_values(TRUE | {DAMPING: 30e3})
    t, u = 0.01 * np.arange(21), np.column_stack([3.0 * (1.0 - np.cos(w * 0.01 * np.arange(21))) for w in (9.0, 10.0)])
    x = sorosim.rollout(true, u[:-1], 0.01, q0="equilibrium").positions("beam")
    data = sorosim.Measurements(u, t=t, positions={"beam": x + 3e-3 * rng.standard_normal(x.shape)})
    fit = sorosim.fit(true, data, [E, RHO, DAMPING])
    linear, exact = fit.interval(), fit.interval(profile=True)
    least = scipy.stats.t.ppf(0.975, 60) ** 2
    for name in (E, RHO):
        best = fit.values[name]
        for end, wrong in zip(exact[name], linear[name], strict=True):
            # a second way: the end is fixed, and the others are fitted by a fit of their own
            held = fit.robot.with_values({name: end})
            others = sorosim.fit(held, data, [one for one in (E, RHO, DAMPING) if one != name], noise=fit.noise)
            excess = (others.residuals @ others.residuals - fit.residuals @ fit.residuals) / fit.noise**2
            assert excess == pytest.approx(least, rel=0.02)
            off = np.log(end / best) / np.log(wrong / best) - 1.0
            assert abs(off) < 1.7 * fit.nonlinearity[name] + 0.02  # which is the first step of the search for the end
        assert fit.nonlinearity[name] > 0.1
    assert f"intervals of {E}, {RHO}" in fit.summary()
    assert "profile=True (--profile)" in fit.summary()
    assert "profile=True" not in fit.summary(profile=True)


def test_a_tight_bound_is_kept_and_told(beam):
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(beam.with_values(TRUE))})
    fit = sorosim.fit(beam, data, [E, RHO], {E: ("0.9 MPa", "1.1 MPa")})
    assert fit.values[E] == pytest.approx(1.1e6, rel=1e-4)
    assert f"at a bound: {E}" in fit.message


def test_starts_are_the_same_every_time(beam, rng):
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(beam.with_values(TRUE))})
    found = [sorosim.fit(beam, data, [E, RHO], starts=3).values for _ in range(2)]
    assert found[0] == found[1]
    assert_allclose(found[0][E], TRUE[E], rtol=1e-6)


@pytest.mark.parametrize("wrong", [np.zeros((5, 3)), [], ["a"]], ids=str)
def test_hold_out_data_are_checked(beam, wrong):
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(beam)})
    with pytest.raises(sorosim.InputError, match="data: expected measurements"):
        sorosim.fit(beam, data, [E]).validate(wrong)


def test_hold_out_data_have_errors_of_their_own(beam):
    data = sorosim.Measurements(TENSIONS[:3], positions={"beam": tips(beam.with_values(TRUE))[:3]})
    fit = sorosim.fit(beam, data, [E, RHO])
    other = tips(beam.with_values(TRUE))[3:] + np.array([0.0, 0.003, 0.004])
    errors = fit.validate(sorosim.Measurements(TENSIONS[3:], positions={"beam": other}))
    assert_allclose(errors.distance["beam"], [0.005, 0.005], rtol=1e-5)
    assert errors.mean_distance == pytest.approx(0.005, rel=1e-5)


@pytest.mark.parametrize("free", [DAMPING, "input.up.scale"])
def test_a_free_number_without_effect_stays_and_is_named(beam, free):
    data = sorosim.Measurements(0.0 * TENSIONS, positions={"beam": tips(beam.with_values(TRUE))})
    fit = sorosim.fit(beam, data, [free])
    assert fit.values == fit.initial
    assert fit.null_directions == ({free: 1.0},)


def test_a_column_in_another_unit_is_noticed(beam):
    x = tips(beam.with_values(TRUE))
    x[:, 2] *= 1e3
    data = sorosim.Measurements(TENSIONS, positions={"beam": x})
    with pytest.warns(sorosim.SorosimWarning, match=r"perhaps in another unit: beam.z \(times 0.001\)"):
        fit = sorosim.fit(beam, data, [E])
    assert fit.message.endswith("beam.z (times 0.001)")


@pytest.mark.parametrize(("inputs", "times"), [(1e-3, 1.0), (1.0, 1e3)])
def test_inputs_and_times_in_another_unit_are_noticed(beam, inputs, times):
    motion = motion_of(beam.with_values(TRUE))
    data = sorosim.Measurements(inputs * motion.u, t=times * motion.t, positions=motion.positions)
    name = rf"t \(times {1.0 / times:g}\)" if inputs == 1.0 else rf"inputs \(times {1.0 / inputs:g}\)"
    with pytest.warns(sorosim.SorosimWarning, match=name):
        sorosim.fit(beam, data, [E])


def test_a_shift_of_time_may_have_wider_bounds(beam):
    motion = motion_of(beam)
    fit = sorosim.fit(beam, motion, ["time.shift"], {"time.shift": ("-0.1 s", "0.1 s")})
    assert abs(fit.values["time.shift"]) < 1e-6
    with pytest.raises(sorosim.InputError, match=r"bounds.time.shift: expected a shift shorter than the motion"):
        sorosim.fit(beam, motion, ["time.shift"], {"time.shift": (-1.0, 1.0)})


def test_some_channels_of_a_sensor_take_part(beam):
    true = beam.with_values(TRUE)
    channels = beam.instruments.readers["gauge"].channels
    readings = np.array([sorosim.statics(true, u).measure()["gauge"] for u in TENSIONS])
    given = {name: readings[:, list(channels).index(name)] for name in ("bending_z", "bending_y")}
    fit = sorosim.fit(beam, sorosim.Measurements(TENSIONS, readings={"gauge": given}), [E, RHO])
    assert_allclose(list(fit.values.values()), list(TRUE.values()), rtol=1e-6)
    assert fit.outputs == (("gauge.bending_z", "gauge.bending_y"),)


# -- results


def test_a_fit_is_saved_and_opened(beam, tmp_path, rng):
    true = beam.with_values(TRUE | {DAMPING: 30e3})
    x = tips(true) + 1e-4 * rng.standard_normal((5, 3))
    x[1, 2] = np.nan
    rest = sorosim.Measurements(TENSIONS, positions={"beam": x}, gaps=True, sd={"beam": "0.1 mm"})
    free = [E, DAMPING, "marker.beam.offset[0]"]
    fit = sorosim.fit(beam, [rest, motion_of(true, 1e-4, rng, sd="0.1 mm")], free, priors={E: (1.2e6, 1e5)})
    fit.save(tmp_path / "fit.h5")
    opened = sorosim.open(tmp_path / "fit.h5")
    assert isinstance(opened, sorosim.Fit)
    assert opened.values == pytest.approx(fit.values, rel=1e-12)
    assert_allclose(opened.covariance, fit.covariance, rtol=1e-12)
    assert opened.summary() == fit.summary()
    assert opened.names == fit.names
    assert_allclose(opened.residuals, fit.residuals, atol=1e-9)
    assert len(fit.residuals) == 5 * 3 - 1 + 41 * 3
    assert opened.profile(E, n=5).interval == pytest.approx(fit.profile(E, n=5).interval, rel=1e-6)
    assert "<pre>" in fit._repr_html_()
    assert "beam" in repr(fit)
    figure = opened.plot(tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000
    assert len(figure.axes) >= 6


def test_a_camera_may_see_two_axes(beam):
    x = tips(beam.with_values(TRUE))
    x[:, 1] = np.nan
    data = sorosim.Measurements(TENSIONS, positions={"beam": x}, gaps=True)
    fit = sorosim.fit(beam, data, [E, RHO])
    assert_allclose(list(fit.values.values()), list(TRUE.values()), rtol=1e-6)
    assert fit.errors_before.rms["beam"] > 1e-3 > fit.errors.rms["beam"]
    assert len(fit.errors.distance["beam"]) == len(x)


def test_a_search_that_is_cut_off_keeps_what_it_has(beam):
    data = sorosim.Measurements(TENSIONS, positions={"beam": tips(beam.with_values(TRUE))})
    with pytest.raises(sorosim.ConvergenceError, match="max_evaluations") as caught:
        sorosim.fit(beam, data, [E, RHO], max_evaluations=1)
    assert isinstance(caught.value.partial, sorosim.Fit)


# -- mistakes

GOOD = {"data": {}, "free": [E], "options": {}}
MISTAKES = [
    ({"free": ["materials.rubber.yung"]}, "free: expected the path of a number .* did you mean materials.rubber.young"),
    ({"free": []}, "free: expected names of what is fitted"),
    ({"free": E}, "free: expected names of what is fitted"),
    ({"free": [E, E]}, "free: expected every name once"),
    ({"free": ["links.beam.rod.strain.bending"]}, "free: expected the path of a number"),
    ({"free": ["marker.tip.offset"]}, "free: expected the name of a marker, got 'tip'"),
    ({"free": ["input.upp.scale"]}, "free: expected the name of an actuator, got 'upp'; did you mean up"),
    ({"free": ["time.shift"]}, "free: expected a motion, whose time may be shifted"),
    ({"bounds": {E: (2e6, 3e6)}}, "bounds.materials.rubber.young: expected bounds about the start"),
    ({"bounds": {E: (2e6, 1e5)}}, "bounds.*expected a lower bound below"),
    ({"bounds": {E: ("1 kg", None)}}, "bounds.*expected a pressure or modulus .* a mass"),
    ({"bounds": {E: 3.0}}, "bounds.*expected a pair"),
    ({"bounds": {"x": (0, 1)}}, "bounds: expected names that are free, got 'x'"),
    ({"bounds": {E: (-1e6, None)}}, "bounds.*expected bounds within 0 and inf, where the number is possible"),
    ({"free": [POISSON], "bounds": {POISSON: (0.1, 0.9)}}, "bounds.*expected bounds within -1 and 0.5"),
    ({"priors": {E: (1e6, 0.0)}}, "priors.*expected a standard deviation greater than 0"),
    ({"noise": {"tipp": 1e-3}}, "noise: expected the name of a marker or a sensor, got 'tipp'"),
    ({"noise": "3 N"}, "noise.beam: expected a length .* a force"),
    ({"noise": -1.0}, "noise.beam: expected a standard deviation greater than 0"),
    ({"noise": "known"}, "sd: expected a standard deviation of everything"),
    ({"loss": "l1"}, "loss: expected one of linear"),
    ({"starts": 0}, "starts: expected a whole number from 1"),
    ({"data": {"positions": {"beem": np.zeros((5, 3))}}}, "positions.beem: expected a link.*did you mean beam"),
    ({"data": {"u": np.zeros((5, 3))}}, r"u: expected 5 rows of 2 numbers, got shape \(5, 3\)"),
    ({"data": {"u": {"upp": 1.0}}}, "u: expected .*got 'upp'"),
    ({"data": {"u": {"up": "3 mm"}}}, r"u.up\[0\]: expected a force .* a length"),
    ({"data": {"u": {"up": [0.0, 1.0, np.nan, 3.0, 4.0]}}}, r"u.up\[2\]: expected a finite number, got nan"),
    ({"data": {"driven": {"lid": 1.0}}}, "driven: expected .*'lid'"),
    ({"data": {"sd": {"bea": 1.0}}}, "sd: expected the name of a marker or a sensor, got 'bea'; did you mean beam"),
    ({"data": {"positions": {"beam": [[0.0, 0.0, np.nan]] * 5}}}, r"beam\[0, 2\]: expected a finite .*gaps=True"),
    ({"data": {"readings": {"gage": np.zeros((5, 6))}}}, "readings: expected the name of a sensor.*did you mean gauge"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "message"), MISTAKES, ids=lambda x: str(x)[:50])
def test_a_mistake_is_one_clear_error(beam, wrong, message):
    given = {"u": TENSIONS, "positions": {"beam": np.zeros((5, 3))}} | wrong.pop("data", {})
    wrong = dict(wrong)
    free = wrong.pop("free", [E])
    with pytest.raises(sorosim.InputError, match=message):
        sorosim.fit(beam, sorosim.Measurements(**given), free, **wrong)


def test_fewer_measurements_than_unknowns_need_the_noise(beam):
    data = sorosim.Measurements(TENSIONS[:1], positions={"beam": tips(beam)[:1]})
    with pytest.raises(sorosim.InputError, match="data: expected more numbers than the 3 unknowns"):
        sorosim.fit(beam, data, [E, RHO, RADIUS])
    fit = sorosim.fit(beam, data, [E, RHO, RADIUS], noise=1e-4)
    assert not all(fit.identifiable.values())


def test_no_equilibrium_at_the_start_is_told_with_its_row(beam):
    data = sorosim.Measurements([[0.0, 0.0], [1e9, 0.0]], positions={"beam": np.zeros((2, 3))}, name="rest")
    with pytest.raises(sorosim.ConvergenceError, match="fit, rest, row 1"):
        sorosim.fit(beam, data, [E])


def test_rms_errors_are_those_of_the_measured_numbers_as_the_noise_is(beam):
    noise, x = 2e-4, np.array(tips(beam.with_values(TRUE)))
    x += noise * np.random.default_rng(5).standard_normal(x.shape)
    fit = sorosim.fit(beam, sorosim.Measurements(TENSIONS, positions={"beam": x}), [E, RHO])
    assert fit.errors.rms["beam"] == pytest.approx(np.sqrt(np.mean(fit.residuals**2)), rel=1e-12)
    distances = fit.errors.distance["beam"]
    assert fit.errors.rms["beam"] == pytest.approx(np.sqrt(np.mean(distances**2) / 3.0), rel=1e-12)
    # with n numbers and 2 unknowns: s^2 (n - 2) = rms^2 n
    assert fit.noise == pytest.approx(fit.errors.rms["beam"] * np.sqrt(x.size / (x.size - 2)), rel=1e-12)
    assert f"scale of the noise {1e3 * fit.noise:.3g} mm" in fit.summary()


def test_rms_errors_of_a_marker_with_gaps_count_what_was_seen(beam):
    x = np.array(tips(beam.with_values(TRUE))) + 1e-3
    x[0, 1] = np.nan
    fit = sorosim.fit(beam, sorosim.Measurements(TENSIONS, positions={"beam": x}, gaps=True), [E])
    assert len(fit.residuals) == x.size - 1
    assert fit.errors.rms["beam"] == pytest.approx(np.sqrt(np.mean(fit.residuals**2)), rel=1e-12)


def test_numbers_within_a_factor_of_two_are_not_weak(beam):
    x = np.array(tips(beam.with_values(TRUE)))
    data = sorosim.Measurements(TENSIONS, positions={"beam": x})
    sure = sorosim.fit(beam, data, [E, RHO], noise="0.1 mm")
    assert sure.weak == {E: False, RHO: False}
    assert "weak" not in sure.summary()
    # standard errors are in proportion to the noise: the modulus reaches just beyond a factor of two, or just not
    reach = 1.96 * sure.standard_errors[E] / sure.values[E]
    for factor, weak in ((0.95, False), (1.05, True)):
        noise = 1e-4 * factor * np.log(2.0) / reach
        fit = sorosim.fit(beam, data, [E, RHO], noise=noise)
        assert fit.weak[E] is weak
        assert fit.identifiable[E]


@pytest.mark.parametrize(("x", "told"), [(0.5, "0.50"), (0.99534585, "0.9953"), (-0.9999871, "-0.999987"), (1.0, "1.")])
def test_a_correlation_has_digits_of_what_is_missing_to_one(x, told):
    assert _correlation(x).startswith(told)
    assert _correlation(x) not in ("0.9", "1.0", "1.00")
