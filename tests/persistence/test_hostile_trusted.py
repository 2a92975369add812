"""Files that abuse the trust of whoever loads them."""

import numpy as np
import pytest
from hostile_trusted import TRUSTED_CASES
from sklearn.linear_model import LinearRegression
from strangers import StrangerRisk, late

from condrisk import Deferral, RegressionRisk, make_loss
from condrisk.persistence import ModelFileError, load_model, save_model

# Networks that are hardly trained, and being early costs nothing: no good predictors.
pytestmark = pytest.mark.filterwarnings("ignore:the predictor is worse")


def rows(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    return X, X[:, 0] + np.exp(X[:, 1] / 2) * rng.normal(size=n)


def regression(predictor, **options):
    return RegressionRisk(predictor, regressor=LinearRegression(), cv=2, random_state=0, **options)


def lightgbm_risk():
    lightgbm = pytest.importorskip("lightgbm")
    from condrisk import PlugInRisk

    return PlugInRisk(lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1), cv=2)


def xgboost_risk():
    xgboost = pytest.importorskip("xgboost")
    return regression(xgboost.XGBRegressor(n_estimators=3, n_jobs=1))


def catboost_risk():
    catboost = pytest.importorskip("catboost")
    options = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return regression(catboost.CatBoostRegressor(iterations=3, **options))


def torch_risk():
    pytest.importorskip("torch")
    from stranger_nets import Net

    from condrisk.torch import TorchRegressor

    return regression(TorchRegressor(Net, epochs=1, device="cpu", random_state=0))


MODELS = {
    "lightgbm": lightgbm_risk,
    "xgboost": xgboost_risk,
    "catboost": catboost_risk,
    "torch": torch_risk,
    "stranger": StrangerRisk,
    "loss": lambda: regression(LinearRegression(), loss=make_loss(late)),
}
SOUND = {
    "lightgbm": ["lightgbm"],
    "xgboost": ["xgboost"],
    "catboost": ["catboost"],
    "torch": ["stranger_nets.Net"],
    "stranger": ["strangers.StrangerRisk"],
    "loss": ["function:strangers.late"],
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Model files, each fitted when it is first asked for."""
    folder, known = tmp_path_factory.mktemp("trusted"), {}

    def get(name):
        if name not in known:
            X, y = rows()
            y = (y > 0).astype(int) if name == "lightgbm" else y
            model = Deferral(MODELS[name](), cost=0.5).fit(X, y)
            save_model(model, folder / name, schema=X)
            load_model(folder / name, trusted=SOUND[name])
            known[name] = (folder / name).read_bytes()
        return known[name]

    return get


@pytest.mark.parametrize("case", TRUSTED_CASES, ids=lambda case: case.name)
def test_each_file_that_abuses_trust_is_refused_in_one_sentence(case, sound, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.skops"
    path.write_bytes(case.change(sound(case.model)))
    with pytest.raises(ModelFileError, match=case.refused) as caught:
        load_model(path, trusted=case.trusted)
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert [p.name for p in tmp_path.rglob("*")] == ["model.skops"]  # nothing written or executed


def test_there_are_enough_of_them():
    assert len({case.name for case in TRUSTED_CASES}) == len(TRUSTED_CASES) >= 20


@pytest.mark.parametrize(
    ("trusted", "message"),
    [
        ("lightgbm", "trusted must be a sequence of names"),
        (["numpy"], "trusted must name packages"),
        (["function:late"], "trusted must name packages"),
        ([StrangerRisk], "trusted must name packages"),
        ([""], "trusted must name packages"),
    ],
)
def test_trust_that_says_nothing_is_refused(sound, tmp_path, trusted, message):
    path = tmp_path / "model.skops"
    path.write_bytes(sound("stranger"))
    with pytest.raises((TypeError, ValueError), match=message):
        load_model(path, trusted=trusted)
