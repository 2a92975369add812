"""A multi-layer perceptron for each target, all of them trained at once."""

from __future__ import annotations

import warnings
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from condrisk.paper.rwr._nets import Nets, Recipe, outputs, train

# Rows predicted at a time: the activations of a block stay in the cache.
_BLOCK = 4096


class LockstepMLPRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """One multi-layer perceptron for each target, all of them trained at once.

    Fitting k columns gives the networks that k separate fits of
    `sklearn.neural_network.MLPRegressor` (relu, adam) with the same integer `random_state` would
    give: the same initial weights, batches, steps and stopping rule, each network stopping by
    itself. In float64 the two agree to rounding. Since small networks spend their time in calls
    rather than in arithmetic, networks in lockstep are several times faster; a single one gains
    too.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(100,)
        Units of each hidden layer.
    alpha : float, default=0.0001
        Strength of the L2 penalty on the weights.
    batch_size : int or "auto", default="auto"
        Rows of a step, at most all of them; "auto" is 200.
    learning_rate_init : float, default=0.001
        Rate of Adam.
    max_iter : int, default=200
        The most epochs.
    tol : float, default=0.0001
        What a loss has to be lowered by to count as improved.
    n_iter_no_change : int, default=10
        A network stops after more than this many epochs in a row without improvement.
    dtype : {"float32", "float64"}, default="float32"
        The arithmetic. Rounding in float32 moves the outcome a little, as another seed would, but
        less.
    random_state : int, RandomState instance or None, default=None
        Seeds initial weights and batches, the same for every target.

    Attributes
    ----------
    coefs_ : list of ndarray of shape (n_targets, fan_in, fan_out)
        The weights of each layer.
    intercepts_ : list of ndarray of shape (n_targets, 1, fan_out)
        The biases of each layer.
    n_iter_ : ndarray of int, shape (n_targets,)
        Epochs until each network stopped.
    loss_ : ndarray of shape (n_targets,)
        The loss of each in its last epoch.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where `X` has such.

    Examples
    --------
    >>> import numpy as np
    >>> from condrisk.paper.rwr import LockstepMLPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> Y = np.column_stack([X[:, 0] + X[:, 1], np.abs(X[:, 0])])
    >>> net = LockstepMLPRegressor(learning_rate_init=0.01, random_state=0).fit(X, Y)
    >>> bool(net.score(X, Y) > 0.99)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "dtype": [StrOptions({"float32", "float64"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        hidden_layer_sizes: Any = (100,),
        alpha: float = 1e-4,
        batch_size: int | Literal["auto"] = "auto",
        learning_rate_init: float = 1e-3,
        max_iter: int = 200,
        tol: float = 1e-4,
        n_iter_no_change: int = 10,
        dtype: Literal["float32", "float64"] = "float32",
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.dtype = dtype
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train a network for each target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row in the loss of its batch; rows of weight zero are left out.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, Y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=self.dtype)
        Y = np.asarray(Y, dtype=self.dtype)
        self._one_target = Y.ndim == 1
        Y = Y.reshape(len(Y), -1)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            X, Y, weight = (part[weight > 0] for part in (X, Y, weight.astype(self.dtype)))
        rng = check_random_state(self.random_state)
        nets = Nets.initial(self._units(X), Y.shape[1], self.dtype, rng)
        with np.errstate(over="ignore", invalid="ignore"):  # diverging is told of below
            trained = train(nets, X, Y, weight, self._recipe(len(X)), rng)
        if not np.isfinite(trained.nets.parameters).all():
            raise ValueError(
                "the weights of a network became infinite: scale X and y, lower "
                "learning_rate_init, or use dtype='float64'."
            )
        if not trained.converged.all():
            warnings.warn(
                f"max_iter={self.max_iter} epochs were reached before the loss had converged.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coefs_, self.intercepts_ = trained.nets.weights, trained.nets.biases
        self.n_iter_, self.loss_ = trained.n_iter, trained.loss
        return self

    def _units(self, X: NDArray[Any]) -> list[int]:
        sizes = np.atleast_1d(self.hidden_layer_sizes)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ValueError(
                f"hidden_layer_sizes must be whole numbers of at least 1, "
                f"got {self.hidden_layer_sizes!r}."
            )
        return [X.shape[1], *(int(size) for size in sizes), 1]

    def _recipe(self, n_rows: int) -> Recipe:
        size = 200 if self.batch_size == "auto" else int(self.batch_size)
        return Recipe(
            alpha=self.alpha,
            batch_size=min(size, n_rows),
            learning_rate_init=self.learning_rate_init,
            max_iter=self.max_iter,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict each target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
            The predictions, in the shape of the targets that were fitted.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=self.dtype)
        output = np.empty((len(X), len(self.n_iter_)))
        for start in range(0, len(X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            output[rows] = outputs(self.coefs_, self.intercepts_, X[rows])
        return output[:, 0] if self._one_target else output

    def target(self, k: int) -> Self:
        """Return the network of one target as a fitted estimator by itself.

        Parameters
        ----------
        k : int
            The column of the target.

        Returns
        -------
        LockstepMLPRegressor
            As if it had been fitted on that column alone.
        """
        check_is_fitted(self)
        if not 0 <= k < len(self.n_iter_):
            raise ValueError(f"k must be from 0 to {len(self.n_iter_) - 1}, got {k!r}.")
        alone = copy(self)
        alone.coefs_ = [weight[k : k + 1].copy() for weight in self.coefs_]
        alone.intercepts_ = [bias[k : k + 1].copy() for bias in self.intercepts_]
        alone.n_iter_, alone.loss_ = self.n_iter_[k : k + 1], self.loss_[k : k + 1]
        alone._one_target = True
        return alone
