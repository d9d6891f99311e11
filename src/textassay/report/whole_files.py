"""Files that are there whole or not at all, whatever stops the run that writes them."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from textassay.errors import OutputError
from textassay.training import remove_leftovers


def write_whole(folder: Path, contents: Mapping[str, bytes | str]) -> list[Path]:
    """Write files into `folder`, which is made, over what is there; return their paths."""
    for name, content in contents.items():
        draft = folder / f".{name}.{os.getpid()}.tmp"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            remove_leftovers(folder / name)
            draft.write_bytes(content.encode() if isinstance(content, str) else content)
            draft.replace(folder / name)
        except OSError as error:
            place = folder / name
            raise OutputError(f"cannot write {place}: {error.strerror or error}; choose another --out") from error
        finally:
            with suppress(OSError):  # of a folder that is none, after the error that says so
                draft.unlink(missing_ok=True)
    return [folder / name for name in contents]
