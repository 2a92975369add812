"""The level of a risk: what it has to be, as a function of what it is."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

Floats = NDArray[np.float64]

# Isotonic regression counts for n / (n + this) beside the line, which has one number to learn.
ROWS_OF_LINE = 300


class Level:
    """A monotone function of the risk: isotonic regression and a line through 0, mixed."""

    def fit(self, risk: Floats, loss: Floats, weight: Floats) -> Self:
        """Learn it from held-out losses."""
        total = float(weight @ risk)
        self.factor = float(weight @ loss) / total if total > 0 else 1.0
        self.share, self.steps = 0.0, None
        n = int((weight > 0).sum())
        if n > 1 and np.ptp(risk[weight > 0]) > 0:
            self.share = n / (n + ROWS_OF_LINE)
            self.steps = IsotonicRegression(out_of_bounds="clip").fit(risk, loss, weight)
        return self

    def predict(self, risk: Floats) -> Floats:
        """Return the corrected risks."""
        line = self.factor * risk
        if self.steps is None:
            return line
        return self.share * self.steps.predict(risk) + (1 - self.share) * line
