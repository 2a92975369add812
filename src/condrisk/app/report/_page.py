"""What all pages share: styles, scripts, and a policy under which nothing else counts."""

from __future__ import annotations

import base64
import hashlib

from condrisk.app.report._parts import read


def styles(more: str = "") -> str:
    """Return the style sheet of a page."""
    return read("style.css") + more


def scripts(*names: str, more: str = "") -> str:
    """Return scripts as one, so that none of their names is seen outside."""
    shared = ("numbers.js", "charts.js", "save.js")
    parts = "\n".join(read(name) for name in (*shared, *names))
    own = f'(() => {{\n"use strict";\n{parts}}})();'
    return f"{own}\n{more}" if more else own


def page_policy(style: str, script: str, *, talks: bool) -> str:
    """Return a policy under which only this style and this script count, and nothing is loaded."""
    rules = [
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *(["connect-src 'self'"] if talks else []),
    ]
    return "; ".join(rules)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
