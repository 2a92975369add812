"""Stacked training: against torch's own layers, gradients and optimiser, and net by net."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from condrisk.paper.baselines._forward import predictions, predictions_and_selection
from condrisk.paper.baselines._heads import RegressionHead, SelectiveHead
from condrisk.paper.baselines._stack import Stack, Training, batch_slices, import_torch, train

torch = pytest.importorskip("torch")

N_ROWS, N_FEATURES, UNITS = 45, 3, 5
COVERAGE = np.array([0.99, 0.6, 0.05])
TRAINING = Training(max_epochs=15, batch_size=16, learning_rate=0.01, weight_decay=0.01)


def rows_and_targets(seed):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) * [1.0, 0.1, 5.0]
    return X, X[:, 0] + 0.3 * X[:, 2] * rng.normal(size=N_ROWS)


def selective_head(coverage=COVERAGE, penalty=200.0):
    return SelectiveHead(coverage, alpha=0.4, penalty=penalty)


def make_stack(head, seeds):
    return Stack(N_FEATURES, UNITS, head, seeds, dtype="float64")


class Reference(torch.nn.Module):
    """The same network out of torch's layers, with the initial parameters of one net of a stack."""

    def __init__(self, stack, net):
        super().__init__()
        nn = torch.nn
        value = {name: p[net].clone() for name, p in stack.params.items()}
        self.first = nn.BatchNorm1d(N_FEATURES)
        self.linear = nn.Linear(N_FEATURES, UNITS, bias=False)
        self.second = nn.BatchNorm1d(UNITS)
        self.double()
        self.first.bias.requires_grad_(False)  # the second batch norm takes it away
        self.linear.weight.data = value["hidden"].T.contiguous()
        self.selective = "heads" in value
        if self.selective:
            heads, bias = value["heads"].T.contiguous(), value["heads_bias"]
            self.answer = self._linear(heads[:1], bias[:1])
            self.auxiliary = self._linear(heads[1:2], bias[1:])
            self.inner = self._linear(heads[2:])
            self.third = nn.BatchNorm1d(16).double()
            self.select = self._linear(value["select"].T, value["select_bias"])
        else:
            self.answer = self._linear(value["answer"].T, value["answer_bias"])

    @staticmethod
    def _linear(weight, bias=None):
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None).double()
        layer.weight.data = weight.contiguous().clone()
        if bias is not None:
            layer.bias.data = bias.clone()
        return layer

    def forward(self, x):
        hidden = torch.relu(self.second(self.linear(self.first(x))))
        if not self.selective:
            return self.answer(hidden)[:, 0]
        inner = torch.relu(self.third(self.inner(hidden)))
        selection = torch.sigmoid(self.select(inner)[:, 0])
        return self.answer(hidden)[:, 0], self.auxiliary(hidden)[:, 0], selection

    def objective(self, x, y, head, net):
        if not self.selective:
            return ((self(x) - y) ** 2).mean()
        answer, auxiliary, s = self(x)
        risk = ((answer - y) ** 2 * s).mean() / s.mean()
        missing = torch.relu(torch.tensor(head.coverage[net]) - s.mean())
        selective = risk + head.penalty * missing**2
        return head.alpha * selective + (1 - head.alpha) * ((auxiliary - y) ** 2).mean()

    def gradients(self):
        """Return the gradients under the names and in the shapes of a stack."""
        grads = {
            "scale": self.first.weight.grad,
            "hidden": self.linear.weight.grad.T,
            "gain": self.second.weight.grad,
            "shift": self.second.bias.grad,
        }
        if not self.selective:
            return grads | {
                "answer": self.answer.weight.grad.T,
                "answer_bias": self.answer.bias.grad,
            }
        heads = (self.answer, self.auxiliary, self.inner)
        return grads | {
            "heads": torch.cat([layer.weight.grad for layer in heads]).T,
            "heads_bias": torch.cat([layer.bias.grad for layer in heads[:2]]),
            "inner_gain": self.third.weight.grad,
            "inner_shift": self.third.bias.grad,
            "select": self.select.weight.grad.T,
            "select_bias": self.select.bias.grad,
        }


HEADS = {
    "regression": RegressionHead,
    "selective": selective_head,
    "selective, full penalty": lambda: selective_head(np.ones(3), penalty=1e4),
    "selective, no penalty": lambda: selective_head(np.zeros(3)),
}


@pytest.mark.parametrize("name", HEADS)
def test_gradients_are_those_of_autograd(name, seed):
    head = HEADS[name]()
    stack = make_stack(head, range(seed, seed + head.n_nets))
    x, y = (torch.tensor(v) for v in rows_and_targets(seed))
    references = [Reference(stack, net) for net in range(head.n_nets)]
    stack.backward(x, y)
    for net, reference in enumerate(references):
        reference.objective(x, y, head, net).backward()
        expected = reference.gradients()
        assert expected.keys() == stack.grads.keys()
        for part, grad in expected.items():
            assert_allclose(stack.grads[part][net], grad, rtol=1e-9, atol=1e-12, err_msg=part)


@pytest.mark.parametrize("name", HEADS)
def test_training_is_that_of_torch(name, seed):
    """The optimiser, the running statistics and the folding of batch norms are right too."""
    head = HEADS[name]()
    X, y = rows_and_targets(seed)
    stack = make_stack(head, range(seed, seed + head.n_nets))
    references = [Reference(stack, net) for net in range(head.n_nets)]
    stack.run(X, y, TRAINING, np.random.RandomState(seed))
    weights = stack.weights() | {"centre": np.zeros(N_FEATURES)}
    for net, reference in enumerate(references):
        optimizer = torch.optim.Adam(
            reference.parameters(), TRAINING.learning_rate, weight_decay=TRAINING.weight_decay
        )
        rng = np.random.RandomState(seed)
        for _ in range(TRAINING.max_epochs):
            order = rng.permutation(N_ROWS)
            for batch in (order[:16], order[16:32], order[32:]):
                optimizer.zero_grad()
                x, target = torch.tensor(X[batch]), torch.tensor(y[batch])
                reference.objective(x, target, head, net).backward()
                optimizer.step()
        with torch.no_grad():
            expected = reference.eval()(torch.tensor(X))
        if name == "regression":
            assert_allclose(predictions(weights, X, net), expected, rtol=1e-6, atol=1e-8)
        else:
            answer, selection = predictions_and_selection(weights, X, net)
            assert_allclose(answer, expected[0], rtol=1e-6, atol=1e-8)
            assert_allclose(selection, expected[2], rtol=1e-6, atol=1e-8)


def test_nets_trained_together_are_those_trained_alone(seed):
    X, y = rows_and_targets(seed)
    together = make_stack(selective_head(), [7, 8, 9])
    together.run(X, y, TRAINING, np.random.RandomState(seed))
    for net in range(3):
        alone = make_stack(selective_head(COVERAGE[[net]]), [7 + net])
        alone.run(X, y, TRAINING, np.random.RandomState(seed))
        for name, value in alone.weights().items():
            assert_allclose(value[0], together.weights()[name][net], rtol=1e-7, atol=1e-9)


def test_the_first_net_is_the_same_whatever_others_are_trained(seed):
    X, y = rows_and_targets(seed)
    options = {"hidden_units": UNITS, "training": TRAINING._replace(max_epochs=2)}
    many, one = (
        train(X, y, selective_head(coverage), rng=np.random.RandomState(seed), **options)
        for coverage in (COVERAGE, COVERAGE[:1])
    )
    for name, value in one.items():
        assert_allclose(value[0], many[name][0], rtol=1e-3, atol=1e-3)


def test_single_precision_is_near_double_precision(seed):
    X, y = rows_and_targets(seed)
    found = []
    for dtype in ("float32", "float64"):
        stack = Stack(N_FEATURES, UNITS, selective_head(), [1, 2, 3], dtype=dtype)
        stack.run(X, y, TRAINING._replace(max_epochs=3), np.random.RandomState(seed))
        weights = stack.weights() | {"centre": np.zeros(N_FEATURES)}
        found.append(np.array([predictions_and_selection(weights, X, net) for net in range(3)]))
    assert_allclose(*found, rtol=0.01, atol=1e-3)


def test_a_shift_of_the_features_changes_nothing(seed):
    """Even one at which single precision would have no digits left for them."""
    X, y = rows_and_targets(seed)
    options = {"hidden_units": UNITS, "training": TRAINING}
    here, there = (
        train(X + shift, y, RegressionHead(), rng=np.random.RandomState(seed), **options)
        for shift in (0.0, 2.0**26)
    )
    assert_allclose(
        predictions(there, X + 2.0**26, 0), predictions(here, X, 0), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize(
    ("n_rows", "sizes"),
    [(2, [2]), (8, [4, 4]), (9, [4, 5]), (5, [5]), (10, [4, 4, 2]), (3, [3])],
)
def test_a_last_row_by_itself_joins_the_batch_before(n_rows, sizes):
    batches = list(batch_slices(n_rows, 4))
    rows = np.arange(n_rows)
    assert [len(rows[batch]) for batch in batches] == sizes
    assert_array_equal(np.concatenate([rows[batch] for batch in batches]), rows)


def test_training_leaves_the_random_numbers_of_others_alone():
    X, y = rows_and_targets(0)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - it is the global generator that is meant
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    options = {"hidden_units": UNITS, "training": TRAINING}
    train(X, y, RegressionHead(), rng=np.random.RandomState(0), **options)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


def test_divergence_is_an_error():
    X, y = rows_and_targets(0)
    options = {"hidden_units": UNITS, "training": TRAINING}
    with pytest.raises(ValueError, match=r"diverged.*scale y"):
        train(X, 1e30 * y, RegressionHead(), rng=np.random.RandomState(0), **options)


def test_a_selection_that_underflows_gives_no_nan():
    stack = make_stack(selective_head(), [1, 2, 3])
    stack.params["select_bias"].fill_(-1e4)
    stack.backward(*(torch.tensor(v) for v in rows_and_targets(0)))
    assert torch.isfinite(stack.flat_grad).all()


def test_missing_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "condrisk\[torch\]"'):
        import_torch()
