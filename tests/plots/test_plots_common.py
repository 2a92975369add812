"""What all displays share: the missing extra, thinning, colours, and saving."""

import os
import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

import condrisk.plots
from condrisk._drawing import save_figure
from condrisk.plots import (
    CostCurveDisplay,
    RiskCalibrationDisplay,
    RiskCoverageDisplay,
    RiskProfileDisplay,
    RoutingCurveDisplay,
)

ARRAYS = {
    RiskCoverageDisplay: 2,
    RiskCalibrationDisplay: 2,
    CostCurveDisplay: 2,
    RiskProfileDisplay: 3,
    RoutingCurveDisplay: 3,
}
# Those of one model: a router needs the losses of several.
OF_ONE_MODEL = [display for display in ARRAYS if display is not RoutingCurveDisplay]


def test_public_names():
    assert condrisk.plots.__all__ == sorted(display.__name__ for display in ARRAYS)


# -- without matplotlib ------------------------------------------------------------------------


@pytest.fixture
def no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)


class Untouchable:
    """Fails when it is asked anything."""

    def predict_risk(self, X):
        raise AssertionError("the work was done before the import")

    loss_values = predict = predict_risk


@pytest.mark.parametrize("display", ARRAYS)
def test_missing_matplotlib_is_one_sentence_that_names_the_extra(display, no_matplotlib):
    calls = [
        lambda: display.from_predictions(*[[1.0, 2.0]] * ARRAYS[display]),
        lambda: display.from_estimator(Untouchable(), [[0.0]], [0.0]),
    ]
    for call in calls:
        with pytest.raises(ImportError) as caught:
            call()
        message = str(caught.value)
        assert 'pip install "condrisk[plots]"' in message
        assert "\n" not in message
        assert message.count(". ") == 0


# -- thinning ----------------------------------------------------------------------------------


def drawn_points(loss, risk):
    """Return the points of the curve that a display draws, less those on its own grid."""
    drawn = RiskCoverageDisplay.from_predictions(loss, risk)
    x, y = drawn.line_.get_data()
    return drawn.curve, x[1:], y[1:]  # the first continues the curve to a coverage of zero


def test_a_short_curve_is_drawn_whole():
    loss = np.random.default_rng(0).exponential(size=2000)
    curve, x, y = drawn_points(loss, np.arange(2000))
    own = np.searchsorted(x, curve.coverage)
    assert_allclose(x[own], curve.coverage)
    assert_allclose(y[own], curve.selective_loss)


@pytest.mark.parametrize("spacing", ["even", "uneven"])
def test_thinning_keeps_ends_and_extremes(seed, spacing):
    """Of any fiftieth of the picture too, however dense the points are there."""
    rng = np.random.default_rng(seed)
    loss = rng.standard_cauchy(50_000)
    # Not quite even: a point just at an edge would belong to either side.
    weight = rng.exponential(size=50_000) ** (0.1 if spacing == "even" else 3.0) + 1e-9
    drawn = RiskCoverageDisplay.from_predictions(loss, np.arange(50_000), sample_weight=weight)
    coverage, height, _ = drawn.curve
    x, y = drawn.line_.get_data()
    assert len(x) <= 2000 + 101
    assert (np.diff(x) > 0).all()
    assert y.max() == pytest.approx(height.max())
    assert y.min() == pytest.approx(height.min())
    x, y = x[np.isin(x, coverage)], y[np.isin(x, coverage)]  # others are within wide blocks
    edges = coverage[0] + np.linspace(0, 1, 51) * (coverage[-1] - coverage[0])
    for low, high in pairwise([*edges[:-1], np.inf]):
        inside, shown = (coverage >= low) & (coverage < high), (x >= low) & (x < high)
        if inside.any():
            assert y[shown].max() == pytest.approx(height[inside].max())
            assert y[shown].min() == pytest.approx(height[inside].min())


def ink(x, y):
    """Pixels that the line covers."""
    figure = plt.figure(figsize=(5, 4), dpi=100)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.plot(x, y, color="black", linewidth=1.5)
    axes.set(xlim=(0, 1), ylim=(0, 2))
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., 0] < 128


def n_pixels_off(one, other):
    """Count the pixels of one line that are not beside a pixel of the other."""
    near = np.zeros_like(other)
    for rows in (-1, 0, 1):
        for columns in (-1, 0, 1):
            near |= np.roll(other, (rows, columns), axis=(0, 1))
    return np.count_nonzero(one & ~near)


def test_thinning_does_not_change_the_picture(seed):
    rng = np.random.default_rng(seed)
    n = 40_000
    curve, x, y = drawn_points(rng.exponential(size=n), rng.exponential(size=n))
    whole, thinned = ink(curve.coverage, curve.selective_loss), ink(x, y)
    assert len(x) < n / 10
    assert n_pixels_off(whole, thinned) == n_pixels_off(thinned, whole) == 0
    # Keeping each hundredth point does change it: the measure can tell.
    assert n_pixels_off(whole, ink(curve.coverage[::100], curve.selective_loss[::100])) > 0


# -- colours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("display", OF_ONE_MODEL)
def test_each_display_on_the_same_axes_has_its_colour(display, ax):
    rng = np.random.default_rng(0)
    columns = rng.uniform(size=(ARRAYS[display], 20))
    drawn = [display.from_predictions(*columns, ax=ax) for _ in range(7)]
    lines = [getattr(d, "prediction_", None) or d.line_ for d in drawn]
    colours = [line.get_color() for line in lines]
    assert colours[:3] == ["#0072b2", "#d55e00", "#009e73"]
    assert len(set(colours[:6])) == 6
    assert colours[6] == colours[0]  # the first of those least used


@pytest.mark.parametrize("display", OF_ONE_MODEL)
@pytest.mark.parametrize("keyword", ["color", "c"])
def test_own_colour_wins(display, keyword):
    columns = np.random.default_rng(0).uniform(size=(ARRAYS[display], 20))
    drawn = display.from_predictions(*columns, **{keyword: "red"})
    assert (getattr(drawn, "prediction_", None) or drawn.line_).get_color() == "red"


def contrast(color, background):
    """Ratio of luminances as the Web Content Accessibility Guidelines define it."""
    from matplotlib.colors import to_rgb

    def luminance(name):
        rgb = np.array(to_rgb(name))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722] + 0.05

    pair = sorted([luminance(color), luminance(background)])
    return pair[1] / pair[0]


@pytest.mark.parametrize("background", ["white", "black"])
def test_colours_stand_out_from_either_background(background, ax):
    rows = np.random.default_rng(0).uniform(size=(2, 20))
    drawn = [RiskCoverageDisplay.from_predictions(*rows, ax=ax) for _ in range(6)]
    ratios = [contrast(display.line_.get_color(), background) for display in drawn]
    assert min(ratios) > 2
    # The guidelines ask for 3 of graphics; so have the first three, which most pictures use.
    assert min(ratios[:3]) > 3


# -- saving ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".PNG", b"\x89PNG"), (".svg", b"<?xml")]
)
def test_save_figure_writes_the_format_of_the_name(tmp_path, ax, suffix, start):
    path = tmp_path / f"picture{suffix}"
    save_figure(ax.figure, path)
    save_figure(ax.figure, str(path))  # over an existing file
    assert path.read_bytes().startswith(start)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_save_figure_leaves_the_old_file_when_it_fails(tmp_path, ax, monkeypatch, error):
    path = tmp_path / "picture.png"
    path.write_text("old")

    def fail_halfway(file, **kwargs):
        file.write(b"half")
        file.flush()
        assert path.read_text() == "old"
        raise error

    monkeypatch.setattr(ax.figure, "savefig", fail_halfway)
    with pytest.raises(error):
        save_figure(ax.figure, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["picture.png"]


def test_save_figure_gives_the_usual_permissions(tmp_path, ax):
    (tmp_path / "usual").touch()
    save_figure(ax.figure, tmp_path / "picture.png")
    mode = (tmp_path / "picture.png").stat().st_mode
    assert mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("name", ["picture", "picture.xyz"])
def test_save_figure_refuses_what_is_no_picture(tmp_path, ax, name):
    with pytest.raises(ValueError, match=r"path must end in \.png"):
        save_figure(ax.figure, tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_save_figure_names_a_missing_folder(tmp_path, ax):
    with pytest.raises(FileNotFoundError, match=r"path .* folder that does not exist"):
        save_figure(ax.figure, tmp_path / "none" / "picture.png")
