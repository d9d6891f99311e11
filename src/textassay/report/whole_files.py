"""Writing files."""

from collections.abc import Mapping
from pathlib import Path

from textassay.storage import write_files


def write_whole(folder: Path, contents: Mapping[str, bytes | str]) -> list[Path]:
    """Write files into `folder`, all or none; return their paths."""
    return write_files(folder, contents)
