"""One rule for what is generated, whatever function takes it: texts, name to texts, or a table of several."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textassay.corpus.paths import Columns
from textassay.corpus.texts import as_texts, is_table
from textassay.errors import OptionError

GENERATED = "generated"  # how texts without a name are called


def named_texts(
    generated: Any,
    real: Any = None,
    *,
    by: str | None = None,
    column: str | None = None,
    prompt_column: str | None = None,
    may_be_none: bool = False,
) -> tuple[dict[str, Any], Any]:
    """Return generator name to texts, and the real texts.

    `generated`: name to texts; texts alone, which are then called "generated"; or a table, or its path, whose column
    `by` says who wrote each text, and `real` is the name that the real ones have there.
    """
    if by is not None:
        columns = Columns(column, None, prompt_column, by)
        real_texts, named_sides = as_texts(generated, "the table", columns=columns).sides(str(real))
        return dict(named_sides), real_texts
    if isinstance(real, str) and is_table(generated) and not Path(real).exists():
        raise OptionError(
            f"there is no file '{real}': for one table with all texts, name the column of their sources: by='model', "
            f"real='{real}'"
        )
    is_named = isinstance(generated, Mapping) and not hasattr(generated, "column_names")  # which datasets have
    named = dict(generated) if is_named else {} if generated is None else {GENERATED: generated}
    if not (named or may_be_none):
        raise OptionError("generated must name at least one generator, got none")
    for name in named:
        if not isinstance(name, str):
            raise OptionError(f"a generator's name must be a str, got {name!r}")
    return named, real


def one_text(generated: Any, name: str = GENERATED) -> tuple[str, Any]:
    """Return the name and the texts of the one generator that `generated` has; raise where it has more or none."""
    named, _ = named_texts(generated)
    if len(named) != 1:
        raise OptionError(
            f"expected the texts of one generator, got {len(named)}: {', '.join(map(str, named)) or 'none'}"
        )
    ((own, texts),) = named.items()
    return (own if isinstance(generated, Mapping) else name), texts
