"""A model behind HTTP: decisions for rows as they come, and a page to look at."""

from condrisk.app.serve._app import create_app
from condrisk.app.serve._router_app import create_router_app
from condrisk.app.serve._server import listen, run

__all__ = ["create_app", "create_router_app", "listen", "run"]
