"""What is raised where a model cannot be exported."""

from __future__ import annotations

from typing import Any


class ExportError(ValueError):
    """A model, or a part of it, cannot be exported; the message is one sentence that says why."""


def refuse_encoder(part: Any) -> None:
    """Refuse a risk or a learner that encodes its rows by itself."""
    if getattr(part, "encoder_", None) is not None:
        raise ExportError(
            f"{type(part).__name__} encodes text, categories or dates by a TableEncoder, which "
            f"cannot be converted to ONNX; put the encoding before it, as "
            f"make_pipeline(encoder, risk)."
        )
