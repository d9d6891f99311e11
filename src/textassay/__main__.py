"""``textassay`` and ``python -m textassay``: the command line."""

import sys


def main() -> int:
    """Run the command and return its exit status; Ctrl-C is answered in one line even while it is being imported."""
    try:
        from textassay.cli.main import main as run
    except KeyboardInterrupt:
        print("textassay: interrupted", file=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
