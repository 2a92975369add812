"""What is raised where a table of the user's is wrong."""

from __future__ import annotations

NO_RULE = (
    "nothing says when to defer a row: give cost=0.1 (defer where the expected loss is above what "
    "deferring costs), cost_column='price' (the same, with a cost for each row), budget=0.1 (defer "
    "a tenth of the rows) or risk_target=0.05 (keep the mean loss of the accepted rows below it)."
)


class TableError(ValueError):
    """Something is wrong with a table; the message is one sentence that says what and where."""
