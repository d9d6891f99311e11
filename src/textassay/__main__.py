"""``python -m textassay``: the command line."""

import sys

from textassay.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
