"""How far a class of functions is from the truth of a synthetic world, almost everywhere.

Theorem 1 and Proposition 3 need a member of the class that equals p(· | x) for almost every x, not
for each x a member that does so there.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from condrisk.datasets import ClassificationWorld, RegressionWorld
from condrisk.paper.theory._checks import check_count

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RealizabilityGap:
    """How far the nearest member found is from the truth.

    Attributes
    ----------
    value : float
        E‖p_θ(X) − p(X)‖₁, or E|g_θ(X) − g(X)|, of that member. At least the distance of the
        class, which is the infimum over all members.
    standard_error : float
        Of that mean.
    nearest : int
        The position of the member in the list; 0 for a class that was fitted.
    target : {"p", "g"}
        Whether class probabilities or risks were compared.
    n_samples : int
        The rows that the mean was taken over.

    Examples
    --------
    >>> from condrisk.datasets import make_separable
    >>> from condrisk.paper.theory import realizability_gap
    >>> world = make_separable(random_state=0)
    >>> gap = realizability_gap(world, [world.proba], random_state=0)
    >>> gap.value, gap.standard_error
    (0.0, 0.0)
    """

    value: float
    standard_error: float
    nearest: int
    target: Literal["p", "g"]
    n_samples: int


def realizability_gap(
    world: ClassificationWorld | RegressionWorld,
    members: Any,
    *,
    predictor: Any = None,
    loss: Any = None,
    n_samples: int = 50_000,
    random_state: Any = None,
) -> RealizabilityGap:
    """Estimate how far a class of functions is from the truth of a world, almost everywhere.

    Parameters
    ----------
    world : ClassificationWorld or RegressionWorld
        A synthetic world, whose law is known; fresh rows are drawn from it.
    members : list, or estimator
        The class. A list has functions of X, or fitted models (`predict_proba` for
        probabilities, whose columns are the classes of the world; `predict` for risks). An
        estimator stands for all that it can fit: a copy is fitted to the truth itself.
    predictor : fitted model, optional
        If given, the truth is its conditional risk g, and members estimate risks. If not, the
        truth is p(· | x), and members give probabilities. Needed for a RegressionWorld.
    loss : str, Loss, cost matrix or callable, optional
        The loss of `predictor`, as `world.risk` takes it.
    n_samples : int, default=50_000
        Rows to choose the member on, and again as many to measure its distance on.
    random_state : None, int or numpy.random.Generator
        Where the rows come from; an int gives the same rows every time.

    Returns
    -------
    RealizabilityGap
        Zero, within the precision of the fit, if the class contains the truth. A value above
        zero by several standard errors says that the member found is not the truth; for a list
        that settles the matter, for an estimator only if its fit finds the nearest member.

    Notes
    -----
    The member is chosen on other rows than those its distance is measured on, so the mean is
    unbiased for that member. An estimator of probabilities is fitted with every row once for each
    class, weighted by p(k | x): labels would add noise that has nothing to do with the class of
    functions. It should not regularise, or the gap is that of the regularised fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from condrisk.datasets import make_gaussian_mixture, make_separable
    >>> from condrisk.paper.theory import realizability_gap
    >>> logistic = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000)
    >>> clouds = make_gaussian_mixture(random_state=0)
    >>> gap = realizability_gap(clouds, logistic, n_samples=5000, random_state=0)
    >>> round(gap.value, 4)  # normal clouds: logistic regression is well specified
    0.0
    >>> constant = [lambda X: np.full((len(X), 3), 1 / 3)]
    >>> gap = realizability_gap(make_separable(random_state=0), constant, random_state=0)
    >>> round(gap.value, 4)  # |1 − ⅓| + ⅓ + ⅓
    1.3333
    """
    count = check_count(n_samples, "n_samples", minimum=2)
    if isinstance(world, RegressionWorld) and predictor is None:
        raise ValueError("predictor must be given for a RegressionWorld, whose truth is its risk")
    if not isinstance(world, RegressionWorld | ClassificationWorld):
        raise TypeError(f"world must be what a make_* function returns, got {type(world).__name__}")
    target: Literal["p", "g"] = "p" if predictor is None else "g"
    rng = np.random.default_rng(random_state)
    choosing, measuring = (world.sample(count, random_state=rng).X for _ in range(2))

    def truth(X: Floats) -> Floats:
        if isinstance(world, ClassificationWorld) and predictor is None:
            return world.proba(X)
        return world.risk(predictor, X, loss=loss)[:, np.newaxis]

    if isinstance(members, Sequence):
        functions = _check_members(members)
    else:
        functions = [_fitted(members, choosing, truth(choosing), target)]
    nearest = 0
    if len(functions) > 1:
        exact = truth(choosing)
        means = [_distances(member, choosing, exact, target).mean() for member in functions]
        nearest = int(np.argmin(means))
    distances = _distances(functions[nearest], measuring, truth(measuring), target)
    return RealizabilityGap(
        value=float(distances.mean()),
        standard_error=float(distances.std(ddof=1) / np.sqrt(count)),
        nearest=nearest,
        target=target,
        n_samples=count,
    )


def _check_members(members: Sequence[Any]) -> list[Any]:
    if len(members) == 0:
        raise ValueError("members is empty: at least one function is needed")
    return list(members)


def _fitted(estimator: Any, X: Floats, exact: Floats, target: str) -> Any:
    """Return a copy of the estimator, fitted to the truth instead of to noisy rows."""
    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"members must be a list of functions or an estimator with fit, "
            f"got {type(estimator).__name__}"
        )
    model = deepcopy(estimator)
    if target == "g":
        return model.fit(X, exact[:, 0])
    n_rows, n_classes = exact.shape
    rows, labels = np.repeat(X, n_classes, axis=0), np.tile(np.arange(n_classes), n_rows)
    possible = exact.ravel() > 0
    return model.fit(rows[possible], labels[possible], sample_weight=exact.ravel()[possible])


def _distances(member: Any, X: Floats, exact: Floats, target: str) -> Floats:
    """Return the distance between member and truth at each row."""
    method = getattr(member, "predict_proba" if target == "p" else "predict", member)
    if not callable(method):
        raise TypeError(f"members must be functions or fitted models, got {member!r}")
    values = np.asarray(method(X), dtype=np.float64)
    if target == "g" and values.ndim == 1:
        values = values[:, np.newaxis]
    if values.shape != exact.shape:
        raise ValueError(
            f"members must give an array of shape {exact.shape if target == 'p' else (len(X),)} "
            f"for {len(X)} rows, got {values.shape}"
        )
    return np.abs(values - exact).sum(axis=1)
