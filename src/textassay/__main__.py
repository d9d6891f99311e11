"""``python -m textassay``: the command line."""

import sys

from textassay.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
