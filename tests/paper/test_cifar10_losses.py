"""Other losses on CIFAR-10: a run on few synthetic images, resumed, and the L¹ regressor."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from benchmarks import cifar10_losses  # noqa: E402
from benchmarks.cifar10_losses import AbsoluteErrorRegressor, Record, run  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402
from tools.cifar10_losses_page import Study, verdicts  # noqa: E402
from torch import nn  # noqa: E402

from condrisk.datasets import CIFAR10  # noqa: E402
from condrisk.paper.cifar10._networks import Networks  # noqa: E402
from condrisk.torch import TorchClassifier, TorchRegressor  # noqa: E402

QUICK = {"epochs": 5, "learning_rate": 0.05, "patience": None, "device": "cpu", "batch_size": 64}


class Mean(nn.Module):
    """A linear function of the mean colours."""

    def __init__(self, num_classes=1):
        super().__init__()
        self.last = nn.Linear(3, num_classes)

    def forward(self, x):
        return self.last(x.mean(dim=(2, 3)))


class SmallNetworks(Networks):
    """Networks that are trained in no time, in place of those of the study."""

    def classifier(self, name, seed):
        return TorchClassifier(Mean, **QUICK, random_state=seed + len(name))

    def regressor(self, name, seed):
        return TorchRegressor(Mean, **QUICK, random_state=seed)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 40)
    images = rng.integers(0, 256, size=(400, 8, 8, 3), dtype=np.uint8)
    images[..., 0] = (images[..., 0] // 4) + 16 * labels[:, None, None]
    return CIFAR10(images, labels)


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("losses")
    setting = {"versions": {"python": "3"}, "errors": cifar10_losses.ERRORS}
    record = Record(folder / "losses.json", setting)
    run(record, range(4, 5), SmallNetworks(), data, folder)
    return folder, setting


def test_the_page_reads_the_record(finished):
    study = Study(json.loads((finished[0] / "losses.json").read_text("utf-8")))
    assert study.n_seeds == 1
    assert study.sets == ["CIFAR-10, CNN", "CIFAR-10, ResNet"]
    assert study.models == ["p CNN", "p ResNet", "p EffNet", "p ResNet-9"]
    assert len(study.methods) == 4 * 4 + 3
    assert len(verdicts(study)) == 12


def test_probabilities_that_were_kept_give_the_errors_of_the_record(finished, data):
    folder, _ = finished
    kept = np.load(folder / "probabilities-4-5.npz")
    [line] = [
        r
        for r in json.loads((folder / "losses.json").read_text("utf-8"))["records"]
        if (r["set"], r["seed"], r["loss"]) == ("CIFAR-10, ResNet", 4, "brier")
    ]
    y, f, p = (kept[f"4 test {name}"] for name in ("labels", "f ResNet", "p EffNet"))
    np.testing.assert_array_equal(y, cifar10_losses.Parts.of(data, 4).test.y)
    by_class = ((f[:, None, :] - np.eye(10)) ** 2).sum(axis=2)
    risk, loss = (p * by_class).sum(axis=1), by_class[np.arange(len(y)), y]
    assert line["mean_loss"] == pytest.approx(loss.mean(), rel=1e-4)
    found = [abs(risk - loss).mean(), ((risk - loss) ** 2).mean(), (risk - loss).mean()]
    assert line["errors"]["p EffNet"] == pytest.approx(found, rel=1e-3, abs=1e-6)


def test_finished_seeds_are_not_run_again(finished, data, monkeypatch):
    folder, setting = finished
    before = (folder / "losses.json").read_text("utf-8")
    monkeypatch.setattr(cifar10_losses, "train_networks", pytest.fail)
    run(Record(folder / "losses.json", setting), range(4, 5), SmallNetworks(), data)
    assert (folder / "losses.json").read_text("utf-8") == before
    with pytest.raises(ValueError, match="measured otherwise"):
        Record(folder / "losses.json", {**setting, "errors": []})


def test_the_absolute_error_leads_to_the_median():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    y = X[:, 0] + rng.exponential(size=2000)  # the mean is x + 1, the median x + log 2
    settings = {"epochs": 40, "batch_size": 100, "learning_rate": 0.05, "patience": None}
    squared = TorchRegressor(nn.Linear(1, 1), **settings, device="cpu", random_state=0)
    absolute = AbsoluteErrorRegressor(**squared.get_params(deep=False)).fit(X, y)
    line = LinearRegression().fit(X, absolute.predict(X))
    assert line.intercept_ == pytest.approx(np.log(2), abs=0.1)
    assert squared.fit(X, y).predict(X).mean() == pytest.approx(y.mean(), abs=0.1)
