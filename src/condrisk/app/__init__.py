"""What runs around a model: tables, model files, scoring, pages, a service, commands."""

from condrisk._extras import require

require(
    "The command line",
    *("typer", "rich", "polars", "pyarrow", "skops", "matplotlib", "filelock"),
    *("starlette", "uvicorn", "httptools", "orjson", "prometheus_client"),
    extra="app",
)
