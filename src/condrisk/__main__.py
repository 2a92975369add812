"""The command `condrisk`, also where only the library is installed."""

from __future__ import annotations

import sys

import condrisk


def main() -> None:
    """Run the command line, or say how to install it."""
    if sys.argv[1:] == ["--version"]:  # without a look at anything else
        print(f"condrisk {condrisk.__version__}")
        return
    try:
        from condrisk.app.cli import app
    except ImportError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2)
    app()


if __name__ == "__main__":
    main()
