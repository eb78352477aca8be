"""Styles of plots: ours stays, others change what they set."""

import numpy as np
import pytest
from helpers.robots import cable_manipulator
from matplotlib import rcParams
from matplotlib.colors import to_hex

import sorosim
from sorosim.base.errors import FileError, InputError
from sorosim.view.viz.figures import GUTTER, PALETTE, find_style
from sorosim.view.viz.plots import PLOTS, plot_run


@pytest.fixture(scope="module")
def run():
    robot = cable_manipulator()
    return sorosim.simulate(robot, 0.2, dt_out=0.05, u={"cable1": 2.0}, method="bdf")


def colours(figure):
    return [to_hex(line.get_color()) for line in figure.axes[0].get_lines()]


def sizes_of_letters(figure):
    figure.draw_without_rendering()
    return {text.get_fontsize() for axes in figure.axes for text in axes.get_xticklabels() + axes.get_yticklabels()}


def test_figures_for_papers_have_the_widths_of_columns(run):
    widths = {name: figure.get_size_inches()[0] for name, figure in plot_run(run, style="paper").items()}
    assert set(widths.values()) == {3.5, 7.0 + GUTTER}
    assert widths["tensions"] == widths["energy"] == widths["snapshots"] == 3.5
    assert widths["tip"] == widths["coordinates"] == 7.0 + GUTTER


@pytest.mark.parametrize("name", sorted(PLOTS.keys() - {"driven"}))
def test_letters_for_papers_are_small_but_legible_and_nothing_is_cut_off(name, run):
    figure = plot_run(run, what=name, style="paper")[name]
    sizes = sizes_of_letters(figure)
    assert sizes
    assert min(sizes) >= 6.5
    assert max(sizes) <= 8.0
    for axes in figure.axes:
        if axes.name != "3d" and axes.axison:
            box = axes.get_tightbbox().transformed(figure.transFigure.inverted())
            assert box.x0 > -0.01
            assert box.y0 > -0.01
            assert box.x1 < 1.01
            assert box.y1 < 1.01


def test_vectors_keep_their_letters(run, tmp_path):
    plot_run(run, tmp_path, "tensions", formats="svg", style="paper")
    text = (tmp_path / "tensions.svg").read_text()
    assert "<text" in text
    assert "t [s]" in text
    plot_run(run, tmp_path, "tensions", formats="pdf", style="paper")
    content = (tmp_path / "tensions.pdf").read_bytes()
    assert b"/Type3" not in content  # journals refuse these fonts


def test_ours_is_the_default_and_nothing_of_a_style_stays(run):
    before = dict(rcParams)
    first = plot_run(run, what="tensions")["tensions"]
    plot_run(run, what="tensions", style="paper")
    second = plot_run(run, what="tensions")["tensions"]
    np.testing.assert_array_equal(first.get_size_inches(), second.get_size_inches())
    assert colours(first) == colours(second) == list(PALETTE[:5])
    assert dict(rcParams) == before


def test_a_style_of_matplotlib_and_a_file_of_ones_own(run, tmp_path):
    figure = plot_run(run, what="tensions", style="ggplot")["tensions"]
    assert colours(figure)[0] == "#e24a33"
    assert to_hex(figure.axes[0].get_facecolor()) == "#e5e5e5"
    mine = tmp_path / "mine.mplstyle"
    mine.write_text('font.size: 5\nfigure.figsize: 2, 1\naxes.prop_cycle: cycler("color", ["123456"])\n')
    figure = plot_run(run, what="tensions", style=mine)["tensions"]
    assert figure.get_size_inches()[0] == 2.0
    assert set(colours(figure)) == {"#123456"}
    assert sizes_of_letters(figure) == {5.0}


def test_equilibria_have_styles_too(tmp_path):
    figure = sorosim.statics(cable_manipulator()).plot(tmp_path / "eq.pdf", style="paper")
    assert figure.get_size_inches()[0] == 7.0 + GUTTER
    assert (tmp_path / "eq.pdf").stat().st_size > 1000


def test_sweeps_curves_and_modes_have_styles_too(tmp_path):
    robot = cable_manipulator()
    drawn = {
        "sweep": sorosim.sweep(robot, {"grid": {"u.cable1": [0.0, 1.0]}}),
        "curve": sorosim.continuation(robot, "u.cable1", to=1.0, max_points=5),
        "modes": sorosim.statics(robot).linearize(),
    }
    for name, one in drawn.items():
        ours, papers = one.plot(), one.plot(tmp_path / f"{name}.svg", style="paper")
        assert papers.get_size_inches()[0] in (3.5, 7.0 + GUTTER)
        assert papers.get_size_inches()[0] != ours.get_size_inches()[0]
        assert "<text" in (tmp_path / f"{name}.svg").read_text()  # what is set for files counts as well
        with pytest.raises(InputError, match="did you mean paper"):
            one.plot(style="papr")


def test_unknown_styles_are_told(run, tmp_path):
    with pytest.raises(InputError, match="did you mean paper"):
        plot_run(run, style="papers")
    with pytest.raises(InputError, match="style: expected"):
        find_style(3)
    with pytest.raises(FileError, match="No such file"):
        plot_run(run, style=tmp_path / "none.mplstyle")
    empty = tmp_path / "empty.mplstyle"
    empty.write_text("# nothing\n")
    with pytest.raises(FileError, match="got none that matplotlib knows"):
        plot_run(run, style=empty)
