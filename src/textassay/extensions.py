"""What packages beside this one register by entry points: names, commands, models, discriminators.

The laboratory is such a package. It imports this one; this one never imports it, and finds what it registers here.
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from textassay.errors import UnavailableError


@cache
def extensions(group: str) -> tuple[Any, ...]:
    """Return what packages register in a group of entry points, such as ``textassay.commands``."""
    found = sorted(entry_points(group=group), key=lambda entry: entry.name)
    return tuple(entry.load() for entry in found)


def extension(group: str, *, for_what: str) -> Any:
    """Return the first thing that is registered in a group; raise `UnavailableError` where there is none."""
    for found in extensions(group):
        return found
    raise UnavailableError(
        f"{for_what} needs the package textassay_lab, but no package registers {group}: reinstall textassay"
    )
