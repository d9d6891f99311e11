"""Read a folder in which every file is one text, such as a collection of documents."""

from pathlib import Path

from textassay.corpus.limits import current_limits, input_limit, input_too_long
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.source import Source, io_errors
from textassay.errors import InputError

_DOCUMENTS = (".txt", ".md", ".text", ".markdown")
_N_NAMED = 3


def read_text_folder(folder: Path) -> PackedTexts:
    """Return the text of each file in `folder`, by name, without the line break at its end; hidden files are no texts.

    Raise where there are other things than files of text, or none.
    """
    with io_errors(str(folder)):
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        files = [path for path in inside if path.is_file() and path.suffix.lower() in _DOCUMENTS]
        others = [path.name + ("/" if path.is_dir() else "") for path in inside if path not in set(files)]
        n_bytes = sum(path.stat().st_size for path in files)
    if others or not files:
        raise InputError(f"{folder} is a folder, but neither {_neither(files, others)}; give a file{_of(inside)}")
    limit = input_limit(n_bytes)
    if n_bytes > limit:
        raise input_too_long(str(folder), limit)
    return PackedTexts.of(map(_text, files))


def _text(path: Path) -> str:
    if path.stat().st_size == 0:
        return ""  # an empty text, which inspection reports
    blocks = Source(path).text_blocks(max_line=current_limits().max_text, by_line=False)
    return "".join(blocks).replace("\r\n", "\n").removesuffix("\n")


def _neither(files: list[Path], others: list[str]) -> str:
    kinds = "a saved dataset nor one of text files alone"
    if not files:
        return kinds
    more = ", ..." if len(others) > _N_NAMED else ""
    return f"{kinds} (beside {len(files)} of them it holds {', '.join(others[:_N_NAMED])}{more})"


def _of(inside: list[Path]) -> str:
    """Return a hint with up to three of the files inside."""
    names = [path.name for path in inside if path.is_file()]
    return f": {', '.join(names[:_N_NAMED])}{', ...' if len(names) > _N_NAMED else ''}" if names else ""
