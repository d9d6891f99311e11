"""The study ``generators`` on the command line: a folder of texts, read and made a study of."""

from collections.abc import Callable
from pathlib import Path

from textassay.cli.messages import print_line
from textassay.errors import OptionError
from textassay.study.generators.scales import GENERATORS_SCALES
from textassay.study.generators.study import GeneratorsStudy
from textassay.study.generators.texts import read_generators_texts
from textassay.study.presets import scale_named
from textassay.training.backend import require_neural

__all__ = ["ABOUT", "GENERATORS", "make_generators_study"]

GENERATORS = "generators"
ABOUT = "every generator of the paper trained on one text; how do evaluators rank them, and are they right?"


def make_generators_study(
    data: Path | None,
    out: Path,
    *,
    scale: str,
    seed: int,
    quiet: bool,
    progress: Callable[[str, int, int], None] | None,
) -> GeneratorsStudy:
    """Return the study of a folder of texts.

    Parameters
    ----------
    data
        Holds ``yelp`` and, for a model of another domain, ``emnlp_news``; without that one it is left out, which is
        said.
    out
        Where stages are kept.
    scale, seed
        How much is computed.
    quiet
        Whether to say nothing of what is not there.
    progress
        Called with the stage that runs, how many are done, and how many there are.

    Raises
    ------
    OptionError
        If no folder is named.
    InputError
        If it does not hold the reviews, or they cannot be read.
    TooFewSentencesError
        If there are too few of them.
    MissingExtraError
        If the extra ``neural`` is not installed.
    """
    if data is None:
        raise OptionError("name the folder of texts: --data DIR, which holds yelp and, if you like, emnlp_news")
    require_neural(f"the study {GENERATORS}")
    size = scale_named(GENERATORS_SCALES, scale)
    texts = read_generators_texts(data, size)
    if texts.missing and not quiet:
        print_line(f"{data} has no folder {', '.join(texts.missing)}: what needs it is not measured")
    return GeneratorsStudy(texts, size, out, seed=seed, progress=progress)
