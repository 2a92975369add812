"""Names and losses in words, safe to put on a page."""

from __future__ import annotations

import re
from html import escape
from typing import Any

# Characters that would change how the text around them is shown, or that no encoding takes:
# controls, line and paragraph separators, embeddings, overrides and isolates, lone surrogates.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
MAX_TEXT = 100

_LOSSES = {
    "squared_error": "the square of the error",
    "absolute_error": "the size of the error",
    "zero_one": "1 for a wrong answer, 0 for a right one, so a risk is the chance of being wrong",
    "log_loss": "minus the logarithm of the probability that the model gave to the truth",
    "brier": "the squared distance between the probabilities and the truth",
}


def plain(value: Any, *, limit: int = MAX_TEXT) -> str:
    r"""Return a text of the user's as one line, unseen characters spelled out, not yet escaped.

    Examples
    --------
    >>> from condrisk.app.report._words import plain
    >>> print(plain("a\u202eb"))
    a\u202eb
    """
    text = str(value)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def isolated(value: Any) -> str:
    """Return a text of the user's as HTML that cannot touch what stands around it.

    Examples
    --------
    >>> from condrisk.app.report._words import isolated
    >>> isolated("<b>")
    '<bdi>&lt;b&gt;</bdi>'
    """
    return f"<bdi>{escape(plain(value))}</bdi>"


def loss_in_words(name: str) -> str:
    """Say what a loss of this name is."""
    return _LOSSES.get(name, "what an error costs")
