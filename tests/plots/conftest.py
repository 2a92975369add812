"""Draw without a screen, and leave no figure open."""

import matplotlib
import pytest


@pytest.fixture(autouse=True)
def no_screen():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    return plt.subplots()[1]
