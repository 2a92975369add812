"""Rows as learners of ours get them; predictors and parts that are given get them untouched."""

from __future__ import annotations

from typing import Any

from condrisk.learners import TableEncoder


class EncodingMixin:
    """Gives risk estimators the encoder of their rows."""

    encoder_: TableEncoder | None

    def _learn_encoding(self, X: Any, *, needed: bool = True) -> Any:
        """Learn what numbers our own learners make of the rows; return the rows as they get them.

        Before anything is fitted, so that rows that cannot be encoded are refused by then.
        """
        encoder = TableEncoder().fit(X) if needed else None
        self.encoder_ = None if encoder is None or encoder.is_identity_ else encoder
        return self._encoded(X)

    def _encoded(self, X: Any) -> Any:
        """Return rows for our own learners; numbers, and rows for parts given, as they are."""
        return X if self.encoder_ is None else self.encoder_.transform(X)
