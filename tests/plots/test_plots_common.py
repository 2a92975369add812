"""What all displays share: the missing extra, thinning, colours, and saving."""

import os
import subprocess
import sys
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import condrisk.plots
from condrisk import metrics
from condrisk._drawing import PALETTE, save_figure
from condrisk.plots import (
    CostCurveDisplay,
    RiskCalibrationDisplay,
    RiskCoverageDisplay,
    RiskProfileDisplay,
)
from condrisk.plots._common import MAX_POINTS, thin

ARRAYS = {
    RiskCoverageDisplay: 2,
    RiskCalibrationDisplay: 2,
    CostCurveDisplay: 2,
    RiskProfileDisplay: 3,
}


def test_public_names():
    assert condrisk.plots.__all__ == sorted(display.__name__ for display in ARRAYS)


# -- without matplotlib ------------------------------------------------------------------------


def test_import_does_not_load_matplotlib():
    code = "import sys, condrisk.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


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


def test_thin_keeps_a_short_line_whole():
    x = np.arange(float(MAX_POINTS))
    assert_array_equal(thin(x, -x), np.arange(MAX_POINTS))


@pytest.mark.parametrize("spacing", ["uniform", "exponential"])
def test_thin_keeps_ends_and_extremes(seed, spacing):
    rng = np.random.default_rng(seed)
    x, y = np.sort(getattr(rng, spacing)(size=50_000)), rng.standard_cauchy(50_000)
    kept = thin(x, y)
    assert len(kept) <= MAX_POINTS
    assert (np.diff(kept) > 0).all()
    assert {0, len(x) - 1, np.argmin(y), np.argmax(y)} <= set(kept.tolist())
    # and those of any fiftieth of the picture
    edges = x[0] + np.linspace(0, 1, 51) * (x[-1] - x[0])
    for low, high in pairwise(edges):
        inside = (x >= low) & (x < high)
        drawn = kept[inside[kept]]
        if inside.any():
            assert y[drawn].max() == y[inside].max()
            assert y[drawn].min() == y[inside].min()


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


def test_thin_does_not_change_the_picture(seed):
    rng = np.random.default_rng(seed)
    n = 40_000
    curve = metrics.risk_coverage_curve(rng.exponential(size=n), rng.exponential(size=n))
    whole = ink(curve.coverage, curve.selective_loss)

    kept = thin(curve.coverage, curve.selective_loss)
    thinned = ink(curve.coverage[kept], curve.selective_loss[kept])
    assert n_pixels_off(whole, thinned) == n_pixels_off(thinned, whole) == 0
    # Keeping each hundredth point does change it: the measure can tell.
    assert n_pixels_off(whole, ink(curve.coverage[::100], curve.selective_loss[::100])) > 0


# -- colours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("display", ARRAYS)
def test_each_display_on_the_same_axes_has_its_colour(display, ax):
    rng = np.random.default_rng(0)
    columns = rng.uniform(size=(ARRAYS[display], 20))
    drawn = [display.from_predictions(*columns, ax=ax) for _ in PALETTE]
    lines = [getattr(d, "prediction_", None) or d.line_ for d in drawn]
    assert [line.get_color() for line in lines] == list(PALETTE)


@pytest.mark.parametrize("display", ARRAYS)
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
def test_colours_stand_out_from_either_background(background):
    assert all(contrast(color, background) > 2 for color in PALETTE)
    # The guidelines ask for 3 of graphics; so have the first three, which most pictures use.
    assert all(contrast(color, background) > 3 for color in PALETTE[:3])


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
