"""The study on CIFAR-10, on few synthetic images: every path, on the CPU."""

import numpy as np
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch")

from condrisk.app.cli import app  # noqa: E402
from condrisk.datasets import CIFAR10  # noqa: E402
from condrisk.paper import read_records  # noqa: E402
from condrisk.paper._cached import CachedClassifier  # noqa: E402
from condrisk.paper.cifar10 import Cifar10Config, run_cifar10  # noqa: E402
from condrisk.paper.cifar10._networks import CLASSIFIERS, REGRESSORS, Networks  # noqa: E402
from condrisk.paper.cifar10._run import Cifar10Study  # noqa: E402
from condrisk.paper.cifar10._seed import PREDICTORS, PROBABILITIES, Parts  # noqa: E402

QUICK = Cifar10Config(quick=True)
METHODS = [
    *(f"p {name}{suffix}" for name in PROBABILITIES for suffix in ("", ", scaled")),
    *(f"g {name}" for name in REGRESSORS),
    "g of own representation",
    "g of EffNet representation",
    "Hybrid",
    "constant",
    "own entropy",
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(10), 40)
    images = rng.integers(0, 256, size=(400, 32, 32, 3), dtype=np.uint8)
    images[:, :8] = labels[:, None, None, None] * 25  # what a class looks like
    order = rng.permutation(400)
    return CIFAR10(images[order], labels[order])


@pytest.fixture(scope="module")
def finished(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cifar10")
    told = []
    records = run_cifar10(
        folder,
        seeds=[3],
        config=QUICK,
        device="cpu",
        data=data,
        progress=lambda *arguments: told.append(arguments),
    )
    return folder, records, told


def test_a_record_for_every_network_and_method(finished):
    folder, records, told = finished
    networks = [r["method"] for r in records if r["set"] == "networks"]
    assert networks == [
        *(f"predictor {name}" for name in PREDICTORS),
        *(f"probability {name}" for name in PROBABILITIES),
    ]
    for predictor in PREDICTORS:
        assert [r["method"] for r in records if r["set"] == predictor] == METHODS
    assert {r["fold"] for r in records} == {3}
    assert read_records(folder / "records.jsonl") == records
    assert told[0] == (None, None, "seed 3: training CNN (predictor)")
    assert told[-1] == (1, 1, "seed 3")


@pytest.mark.slow
def test_seeds_over_the_workers_of_a_cluster_have_the_same_records(finished, data, tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs condrisk[dask]")
    done = []
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as cluster:
        records = run_cifar10(
            tmp_path,
            seeds=[3],
            config=QUICK,
            device="cpu",
            data=data,
            scheduler=cluster.scheduler_address,
            progress=lambda *arguments: done.append(arguments),
        )
    assert done == [(1, 1, "seed 3")]
    for found, wanted in zip(records, finished[1], strict=True):
        assert {k: v for k, v in found.items() if k != "seconds"} == {
            k: v for k, v in wanted.items() if k != "seconds"
        }


def test_images_are_loaded_where_a_seed_is_done_and_are_not_sent(data, monkeypatch):
    study = Cifar10Study(QUICK, [3], Networks(device="cpu", quick=True), None, "here", None, True)
    [task] = study.tasks({})
    assert task.inputs is None
    asked = []

    def load_cifar10(*, data_home):
        asked.append(data_home)
        return data

    class ReachedError(Exception):
        pass

    def train_networks(parts, *rest):
        raise ReachedError

    monkeypatch.setattr("condrisk.paper.cifar10._run.load_cifar10", load_cifar10)
    monkeypatch.setattr("condrisk.paper.cifar10._run.train_networks", train_networks)
    with pytest.raises(ReachedError):
        list(study.do(task))
    assert asked == ["here"]


def test_the_command_shows_and_writes_what_is_there(finished, monkeypatch):
    monkeypatch.setattr("condrisk.paper.cifar10._run.train_networks", pytest.fail)
    folder = finished[0]
    arguments = ["reproduce", "cifar10", "--quick", "--device", "cpu", "-o", str(folder)]
    one = CliRunner().invoke(app, [*arguments, "--seeds", "1", "--first-seed", "3"])
    assert one.exit_code == 0, one.output
    for number in (1, 2, 6):
        assert f"Table {number}" in one.output
        for suffix in (".md", ".tex", ".png"):
            assert (folder / "report" / f"table{number}{suffix}").stat().st_size > 100


def test_figures_of_a_record(finished):
    _, records, _ = finished
    by_key = {(r["set"], r["method"]): r for r in records}
    for predictor in PREDICTORS:
        loss = by_key["networks", f"predictor {predictor}"]["log_loss"]
        for method in METHODS:
            record = by_key[predictor, method]
            assert record["predictor_loss"] == pytest.approx(loss)
            assert record["n_test"] == 40
            assert record["risk_l2"] >= record["risk_l1"] ** 2 - 1e-12
            assert record["risk_l1"] >= abs(record["risk_bias"]) - 1e-12
            for price, figures in record["costs"].items():
                assert figures["oracle"] <= figures["loss"] + 1e-12
                assert figures["oracle"] <= float(price)
            assert ("temperature" in record) == method.endswith(", scaled")
            assert 0 <= record["share_above"] <= 1
        assert len(by_key[predictor, "Hybrid"]["weights"]) == len(PROBABILITIES) + 1
        assert by_key[predictor, "constant"]["n_train"] < by_key[predictor, "g CNN"]["n_train"]


def test_finished_seeds_are_not_run_again(finished, data, monkeypatch):
    folder, records, _ = finished
    monkeypatch.setattr("condrisk.paper.cifar10._run.train_networks", pytest.fail)
    assert run_cifar10(folder, seeds=[3], config=QUICK, data=data) == records
    with pytest.raises(ValueError, match="another configuration"):
        run_cifar10(folder, seeds=[3], data=data)


def test_the_parts_of_a_seed(data, seed):
    parts = Parts.of(data, seed)
    sizes = [len(part.y) for part in (parts.predictor, parts.calibrator, parts.test)]
    assert sizes == [200, 160, 40]
    assert len(parts.fit.y) + len(parts.held.y) == 160
    rows = {
        name: {image.tobytes() for image in getattr(parts, name).X}
        for name in ("predictor", "fit", "held", "test")
    }
    assert sum(len(part) for part in rows.values()) == len(set.union(*rows.values())) == 400
    assert {image.tobytes() for image in parts.calibrator.X} == rows["fit"] | rows["held"]
    assert len(np.unique(parts.held.y)) == 10


def test_a_network_is_asked_once_about_the_same_images():
    class Network:
        classes_ = np.array([0, 1])
        embedding_size_ = 3
        asked = 0

        def predict_proba(self, X):
            Network.asked += 1
            return np.tile([0.2, 0.8], (len(X), 1))

        def embed(self, X):
            Network.asked += 1
            return np.zeros((len(X), 3))

    net = CachedClassifier(Network())
    first, second = np.zeros((4, 2)), np.ones((4, 2))
    for _ in range(3):
        assert net.predict_proba(first).shape == (4, 2)
        np.testing.assert_array_equal(net.predict(second), [1, 1, 1, 1])
        assert net.embed(first).shape == (4, 3)
    assert Network.asked == 3


def test_settings_reach_the_networks():
    networks = Networks(weights="file.pth", device="cpu")
    for name, settings in CLASSIFIERS.items():
        made = networks.classifier(name, seed=5)
        settings = dict(settings)
        weights = "file.pth" if name == "EffNet" else None
        assert made.module_params == {"name": settings.pop("model"), "weights": weights}
        assert {key: getattr(made, key) for key in settings} == settings
        assert made.random_state == 5
    quick = Networks(quick=True).classifier("EffNet", seed=0)
    assert (quick.epochs, quick.input_size) == (1, 32)
    assert quick.module_params["weights"] is None
