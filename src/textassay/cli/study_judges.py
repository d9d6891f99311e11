"""The study ``judges`` on the command line: people's judgements, read and made a study of."""

from collections.abc import Callable
from pathlib import Path

from textassay.errors import OptionError
from textassay.human.files import read_judgements
from textassay.human.mechanical_turk import is_batch, read_mechanical_turk
from textassay.human.table_file import read_columns
from textassay.study.judges.study import JUDGES_SCALES, JudgesStudy
from textassay.training.backend import require_neural

__all__ = ["ABOUT", "JUDGES", "make_judges_study"]

JUDGES = "judges"
ABOUT = "texts that people judged; which evaluators agree with them?"


def make_judges_study(
    judgements: Path | None,
    out: Path,
    *,
    scale: str,
    partitions: int | None,
    seed: int,
    progress: Callable[[str, int, int], None] | None,
) -> JudgesStudy:
    """Return the study of a file of judgements.

    Parameters
    ----------
    judgements
        Any file that holds judgements of real or fake, with texts; of Mechanical Turk, the report also tells what
        submissions that failed their attention check would change.
    out
        Where stages are kept.
    scale, partitions, seed
        How much is computed; partitions instead of the scale's.
    progress
        Called with the stage that runs, how many are done, and how many there are.

    Raises
    ------
    OptionError
        If no file is named.
    InputError
        If the file holds no such judgements.
    MissingExtraError
        If the scale has networks and the extra ``neural`` is not installed.
    """
    if judgements is None:
        raise OptionError("name the file of people's judgements: --judgements FILE")
    found = read_judgements(judgements)
    unchecked = None
    if ".json" not in judgements.suffixes and is_batch(read_columns(judgements)):
        kept = read_mechanical_turk(judgements, attention_checks=False)
        unchecked = kept if len(kept) != len(found) else None
    size = JUDGES_SCALES[scale]
    if size.networks:
        require_neural(f"the study judges at --scale {scale}")
    return JudgesStudy(found, size, out, unchecked=unchecked, seed=seed, partitions=partitions, progress=progress)
