"""Under which names a service may be called.

A web page can point a name of its own at a service that only this machine can reach, and would
then read it with the browser of somebody who is at this machine. The page cannot choose what the
browser sends as the name of the host: it is the page's own.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from typing import Any

ANY = "*"
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")


class Hosts:
    """The names that are allowed.

    Parameters
    ----------
    names : collection of str or None
        Names besides "localhost" and addresses, which no page can take; "*" for any name. None:
        where a connection comes in over the loopback interface no other names are allowed, and
        elsewhere any name is, as nothing tells which names the machine has there.
    """

    def __init__(self, names: Collection[str] | None = None) -> None:
        self._names = None if names is None else frozenset(map(_plain, names))

    def allow(self, scope: Any) -> bool:
        """Tell whether a request may be answered, by the name of the host in its head.

        Parameters
        ----------
        scope : dict
            The request, as ASGI has it.

        Returns
        -------
        bool
            False also where there is no such name, or more than one.
        """
        if self._names is None:
            if not _is_loopback(scope.get("server")):
                return True
        elif ANY in self._names:
            return True
        given = [value for name, value in scope["headers"] if name == b"host"]
        found = _HOST.fullmatch(given[0].decode("latin-1")) if len(given) == 1 else None
        if found is None:
            return False
        host = _plain(found[1])
        return host == "localhost" or _is_address(host) or host in (self._names or ())


def _plain(name: str) -> str:
    return name.lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(server: tuple[str, int | None] | None) -> bool:
    """Tell whether a connection came in at an address that only this machine has."""
    if server is None:
        return False
    try:
        address = ipaddress.ip_address(server[0].partition("%")[0])
    except ValueError:  # the path of a Unix socket
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
