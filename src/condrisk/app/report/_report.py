"""What a report says, before it is a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from condrisk._validation import Vector, check_vectors
from condrisk.app._numbers import Amounts, count
from condrisk.app._verdict import Sentence, verdict
from condrisk.app.report import _steps
from condrisk.app.report._calibrated import GuardedGroup, OffSegment, off_segments
from condrisk.app.report._classes import Confusion, confusion
from condrisk.app.report._drivers import Driver, Progress, RiskOf, find_drivers
from condrisk.app.report._made_of import MadeOf, made_of
from condrisk.app.report._rows import Explain, Riskiest, riskiest_rows
from condrisk.app.report._segments import MIN_ROWS, Segment, find_segments, years_of
from condrisk.app.report._steps import Bars, Bins, Scale, Steps
from condrisk.assessment import calibration_test, deferral_savings

PLAIN = Amounts("loss")


class Figures(NamedTuple):
    """What happens to the rows at a price.

    `rate` is the share of rows that is deferred; `loss` the mean deferral loss; `always` and
    `never` what deferring all rows or none costs; `oracle` what the rule that knows each loss
    would cost (None where only groups of rows are known); `accepted_loss` the mean loss of the
    accepted rows (None if there are none).
    """

    rate: float
    loss: float
    always: float
    never: float
    oracle: float | None
    accepted_loss: float | None


# A risk is hardly any below this share of the highest one.
_HARDLY = 1e-6


@dataclass(frozen=True)
class Report:
    """All that a page shows.

    Made by `build_report`, `report_from_arrays` or `report_from_manifest`; `render` makes a page
    of it.

    Attributes
    ----------
    title : str
        What stands at the top.
    loss_name : str
        The name of the loss.
    n_rows : int
        How many held-out rows it is about.
    lowest, highest : float
        The least and the greatest estimated risk among them.
    steps, by_loss : Steps
        Sums over the rows in order of risk, and in order of loss (None where unknown).
    bins : Bins
        The calibration curve.
    bars, scale : Bars, Scale
        The histogram of the risk, and its axis.
    price : float
        The price that the page starts with.
    facts : tuple of (str, str)
        What else there is to say of the model, as label and text.
    drivers, segments : tuple of Driver, tuple of Segment
        Which columns move the risk, and where it is high.
    riskiest : Riskiest or None
        The rows of greatest risk.
    made_of : tuple of MadeOf
        Floor, gap and correction of the mean risk of all rows and of the riskiest; empty where
        they are not known.
    dates, years : frozenset of str
        The columns that hold dates, and those that hold years as whole numbers.
    notes : tuple of str
        What a reader has to know about how the figures came to be.
    cautions : tuple of str
        What a reader has to know before looking at any of them.
    amounts : Amounts
        How amounts of the loss are written.
    verdict : tuple of Sentence
        What the rows say, at the cost that the page starts with: whether deferring by risk pays,
        and whether the risk is right.
    confusion : Confusion or None
        For classes: which are taken for which.
    off_segments : tuple of OffSegment
        Segments in which loss and risk differ by more than chance, the clearest first.
    groups : tuple of GuardedGroup
        Of a rule with a guarantee for groups: what it accepts of each.
    looked_for_segments : bool
        Whether there were rows and columns enough to look for segments.
    """

    title: str
    loss_name: str
    n_rows: int
    lowest: float
    highest: float
    steps: Steps
    by_loss: Steps | None
    bins: Bins
    bars: Bars
    scale: Scale
    price: float
    facts: tuple[tuple[str, str], ...] = ()
    drivers: tuple[Driver, ...] = ()
    segments: tuple[Segment, ...] = ()
    riskiest: Riskiest | None = None
    made_of: tuple[MadeOf, ...] = ()
    dates: frozenset[str] = frozenset()
    years: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    amounts: Amounts = PLAIN
    verdict: tuple[Sentence, ...] = ()
    confusion: Confusion | None = None
    looked_for_segments: bool = False
    off_segments: tuple[OffSegment, ...] = ()
    groups: tuple[GuardedGroup, ...] = ()

    @property
    def mean_loss(self) -> float:
        """The mean loss of all rows: the cost at which always and never deferring cost the same."""
        return float(self.steps.loss.sum() / self.n_rows)

    @property
    def all_below(self) -> float:
        """The cost below which all rows are deferred; 0 where it is nothing beside the highest."""
        return self.lowest if self.lowest > _HARDLY * self.highest else 0.0

    def at(self, price: float) -> Figures:
        """Return what happens to the rows at a price, as the page's script computes it.

        Parameters
        ----------
        price : float
            The cost of deferring, not negative.

        Returns
        -------
        Figures
            Equal to what `condrisk.metrics` gives for the rows; with steps or groups of several
            rows, equal at their thresholds and short of at most one step between them.
        """
        accepted, loss = _up_to(self.steps, price)
        deferred = self.n_rows - accepted
        oracle = None
        if self.by_loss is not None:
            cheap, cheap_loss = _up_to(self.by_loss, price)
            oracle = (cheap_loss + price * (self.n_rows - cheap)) / self.n_rows
        return Figures(
            rate=deferred / self.n_rows,
            loss=(loss + price * deferred) / self.n_rows,
            always=price,
            never=self.mean_loss,
            oracle=oracle,
            accepted_loss=loss / accepted if accepted else None,
        )

    def pays_between(self) -> tuple[float, float] | None:
        """Return the costs between which deferring by risk is cheaper than always and than never.

        Returns
        -------
        tuple of (float, float) or None
            Around the mean loss, where the choice between always and never is closest; None if
            even there one of them is as cheap.
        """
        middle = max(self.mean_loss, 0.0)
        own = self.steps.threshold
        prices = np.unique(np.append(own[own > 0], middle))
        end = np.searchsorted(own, prices, side="right")
        accepted, loss = (
            np.append(0.0, np.cumsum(sums))[end] for sums in (self.steps.rows, self.steps.loss)
        )
        paid = (loss + prices * (self.n_rows - accepted)) / self.n_rows
        saves = paid < np.minimum(prices, self.mean_loss)
        at = int(np.searchsorted(prices, middle))
        if not saves[at]:
            return None
        worse = np.flatnonzero(~saves)
        first = worse[worse < at].max(initial=-1) + 1
        last = worse[worse > at].min(initial=len(saves)) - 1
        return float(prices[first]), float(prices[last])


def _up_to(steps: Steps, price: float) -> tuple[float, float]:
    """Return the number of rows up to the price, and the sum of their losses."""
    end = int(np.searchsorted(steps.threshold, price, side="right"))
    return float(steps.rows[:end].sum()), float(steps.loss[:end].sum())


def report_from_arrays(
    loss: ArrayLike,
    risk: ArrayLike,
    *,
    frame: pl.DataFrame | None = None,
    risk_of: RiskOf | None = None,
    parts: Sequence[ArrayLike] | None = None,
    prediction: Sequence[Any] | None = None,
    target: Sequence[Any] | None = None,
    row_numbers: Sequence[int] | None = None,
    price: float | None = None,
    title: str = "Risk report",
    loss_name: str = "loss",
    facts: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    cautions: Sequence[str] = (),
    top: int = 50,
    unit: str = "",
    classes: Sequence[Any] | None = None,
    explain: Explain | None = None,
    progress: Progress | None = None,
) -> Report:
    """Make a report from one loss and one risk a row.

    Parameters
    ----------
    loss, risk : array-like of shape (n_rows,)
        Realised loss and estimated risk of each held-out row.
    frame : polars.DataFrame or None, default=None
        The columns of these rows, to say where the risk is high.
    risk_of : callable or None, default=None
        Gives the risk of rows like those of `frame`, to see which columns move it.
    parts : sequence of three array-like of shape (n_rows,) or None, default=None
        Floor, gap and correction, what the risk of each row is made of.
    prediction, target : sequence or None, default=None
        What the model said and what was true, for the table of the riskiest rows.
    row_numbers : sequence of int or None, default=None
        What the rows are called; None: 1, 2, 3, and so on.
    price : float or None, default=None
        The price that the page starts with. None: the mean loss, where the choice between always
        and never deferring is closest.
    title, loss_name : str
        What stands at the top, and the name of the loss.
    facts, notes, cautions : sequence
        Further things to say: pairs of label and text, and sentences for the end of the page and
        for its top.
    top : int, default=50
        How many of the riskiest rows are listed.
    unit : str, default=""
        The unit of the target, such as "g".
    classes : sequence or None, default=None
        For a classifier, its classes: with `prediction` and `target` for which are taken for
        which.
    explain : callable or None, default=None
        Gives, for rows of `frame` and their risks, the columns that raise each risk most and by
        how much; for the riskiest rows.
    progress : callable or None, default=None
        Gets a sentence about each step.

    Returns
    -------
    Report
        For `render`.

    Examples
    --------
    >>> from condrisk.app.report import report_from_arrays
    >>> report = report_from_arrays([0.0, 1.0, 3.0, 2.0], [0.5, 0.5, 2.0, 1.0])
    >>> report.at(1.0).loss, report.at(1.0).rate
    (1.0, 0.25)
    """
    losses, risks = check_vectors(loss=loss, risk=risk)
    if max(np.abs(losses).max(), np.abs(risks).max()) > _steps.MAX_LOSS:
        raise ValueError(f"loss and risk must not exceed {_steps.MAX_LOSS:g} for a report.")
    scale = _steps.scale_of(risks, risks)
    start = first_price(float(losses.mean())) if price is None else float(price)
    amounts = Amounts(loss_name, unit)
    steps = _steps.steps_of(losses, risks)
    report = Report(
        title=title,
        loss_name=loss_name,
        n_rows=len(losses),
        lowest=float(risks.min()),
        highest=float(risks.max()),
        steps=steps,
        by_loss=_steps.steps_of(losses, losses),
        bins=_steps.bins_of(losses, risks),
        bars=_steps.bars_of(risks, scale),
        scale=scale,
        price=start,
        amounts=amounts,
        verdict=tuple(_verdict(losses, risks, start, amounts)),
        confusion=None
        if classes is None or prediction is None or target is None
        else confusion(target, prediction, classes),
        made_of=() if parts is None else made_of(risks, parts),
        facts=tuple(facts),
        notes=(*notes, *_note_on_steps(risks, steps)),
        cautions=tuple(cautions),
    )
    if frame is None:
        return report
    if frame.height != len(losses):
        raise ValueError(f"frame must have {len(losses)} rows, one a loss, got {frame.height}.")
    report = _add_segments(report, frame, losses, risks, risk_of, progress or (lambda what: None))
    riskiest = riskiest_rows(
        frame,
        losses,
        risks,
        prediction=prediction,
        target=target,
        row_numbers=row_numbers,
        order=[driver.column for driver in report.drivers],
        top=top,
        explain=explain,
    )
    return replace(report, riskiest=riskiest)


def _verdict(loss: Vector, risk: Vector, price: float, amounts: Amounts) -> list[Sentence]:
    """Return what the rows say at a price; nothing where there is one row alone."""
    if len(loss) < 2:
        return []
    return verdict(
        {
            "savings": deferral_savings(loss, risk > price, price).to_dict(),
            "calibration": calibration_test(loss, risk).to_dict(),
        },
        amounts,
        given=True,
    )


def _add_segments(
    report: Report,
    frame: pl.DataFrame,
    loss: Vector,
    risk: Vector,
    risk_of: RiskOf | None,
    progress: Progress,
) -> Report:
    """Add which columns move the risk and where it is high."""
    notes = []
    drivers: tuple[Driver, ...] = ()
    if risk_of is not None:
        drivers, looked_at = find_drivers(
            frame, risk, risk_of, progress=progress, amounts=report.amounts
        )
        if looked_at < frame.width:
            notes.append(
                f"Time allowed for shuffling {count(looked_at)} of the {count(frame.width)} "
                f"columns; the others are not among the features that drive the risk."
            )
    if frame.height < MIN_ROWS:
        notes.append(f"With fewer than {MIN_ROWS} rows no segments are looked for.")
    progress("looking for segments")
    return replace(
        report,
        drivers=drivers,
        looked_for_segments=frame.height >= MIN_ROWS,
        segments=find_segments(frame, loss, risk),
        off_segments=off_segments(frame, loss, risk),
        dates=frozenset(c.name for c in frame if c.dtype in (pl.Date, pl.Datetime)),
        years=years_of(frame),
        notes=(*report.notes, *notes),
    )


def first_price(mean_loss: float) -> float:
    """Return the price to start with where nobody has named one."""
    return float(f"{max(mean_loss, 0.0):.3g}")


def _note_on_steps(risk: Vector, steps: Steps) -> list[str]:
    if len(risk) <= _steps.MAX_ROWS or len(np.unique(risk)) == len(steps.rows):
        return []
    widest = steps.rows.max() / len(risk)
    return [
        f"The page holds exact sums over the {count(len(risk))} rows at {count(len(steps.rows))} "
        f"thresholds of the risk. At a price between two of them it takes the lower one, which "
        f"moves the deferral rate by at most {100 * widest:.2g} points."
    ]
