"""Why a request gets no answer: one exception, one shape of the body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from condrisk.app.serve._json import json_response

# A body of ten thousand bad rows needs no ten thousand sentences.
MOST_REASONS = 100


class RefusedError(Exception):
    """A request that is answered with a sentence instead of decisions.

    Parameters
    ----------
    status : int
        The HTTP status.
    message : str
        One sentence for the person who sent the request.
    rows : mapping of int to str, optional
        What is wrong with which rows, by their position in the request.
    headers : mapping of str to str, optional
        Further headers of the response.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        rows: Mapping[int, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.rows = rows
        self.headers = headers

    def response(self) -> Response:
        """Return it as an HTTP response.

        Returns
        -------
        Response
            With ``error`` and, where single rows are at fault, ``rows``.
        """
        body: dict[str, Any] = {"error": self.message}
        if self.rows:
            first = sorted(self.rows)[:MOST_REASONS]
            body["rows"] = [{"row": i, "reason": self.rows[i]} for i in first]
        return json_response(body, self.status, self.headers)


def bad_rows(reasons: Mapping[int, str]) -> RefusedError:
    """Return the refusal of a request with bad rows, none of which has been decided.

    Parameters
    ----------
    reasons : mapping of int to str
        What is wrong, by position.

    Returns
    -------
    RefusedError
        With status 422.
    """
    many = f"{len(reasons)} rows do" if len(reasons) > 1 else "1 row does"
    listed = f"; the first {MOST_REASONS} are listed" if len(reasons) > MOST_REASONS else ""
    return RefusedError(
        422, f"{many} not fit the model, so nothing was decided{listed}.", rows=reasons
    )
