"""The texts that a command names, read and checked alike for all commands."""

from collections.abc import Mapping

from textassay.cli.options import REMEDY
from textassay.comparison import FLOOR
from textassay.corpus import TextFile, read_texts
from textassay.errors import EmptyCorpusError, InputError, OptionError, TooFewSentencesError


def read_sources(
    sources: Mapping[str, str],
    *,
    column: str | None,
    group_column: str | None,
    remedies: Mapping[str, str] | None = None,
) -> dict[str, TextFile]:
    """Return what each name stands for.

    `sources`: name to source, the real text under ``(real)``.
    """
    files = {name: read_texts(source, column=column, group_column=group_column) for name, source in sources.items()}
    if group_column is not None and all(file.groups is None for file in files.values()):
        raise OptionError(
            f"--group-column {group_column}: none of the files has columns; give csv, tsv, jsonl or parquet"
        )
    for name, file in files.items():
        if len(file.texts) < 2:
            raise TooFewSentencesError(f"{sources[name]} has {len(file.texts)} sentence: at least 2 are needed")
        if not any(text and not text.isspace() for text in file.texts):
            raise EmptyCorpusError(f"{sources[name]} is empty: all of its {len(file.texts)} lines are blank")
        if name != FLOOR and file.texts == files[FLOOR].texts:
            remedy = (remedies or {}).get(name, REMEDY)
            raise InputError(f"{sources[name]} holds the same sentences as {sources[FLOOR]}: {remedy}")
    return files
