"""The study ``exposure-bias`` on the command line: a folder of texts, read and made a study of."""

from collections.abc import Callable
from pathlib import Path

from textassay.cli.messages import print_line
from textassay.errors import OptionError
from textassay.study.exposure_bias.scales import EXPOSURE_SCALES
from textassay.study.exposure_bias.study import ExposureStudy
from textassay.study.exposure_bias.texts import FILES, read_exposure_texts
from textassay.study.presets import scale_named
from textassay.training.backend import require_neural

__all__ = ["ABOUT", "EXPOSURE", "make_exposure_study"]

EXPOSURE = "exposure-bias"
ABOUT = "language and translation models; are they worse after their own words than after real ones?"


def make_exposure_study(
    data: Path | None,
    out: Path,
    *,
    scale: str,
    runs: int | None,
    seed: int,
    quiet: bool,
    progress: Callable[[str, int, int], None] | None,
) -> ExposureStudy:
    """Return the study of a folder of texts.

    Parameters
    ----------
    data
        Holds the folders of `textassay.study.exposure_bias.texts.FILES`; what one that is not there would give is not
        measured, which is said.
    out
        Where stages are kept.
    scale, runs, seed
        How much is computed; runs instead of the scale's.
    quiet
        Whether to say nothing of what is not there.
    progress
        Called with the stage that runs, how many are done, and how many there are.

    Raises
    ------
    OptionError
        If no folder is named.
    InputError
        If it holds none of the texts, or one cannot be read.
    MissingExtraError
        If the extra ``neural`` is not installed.
    """
    if data is None:
        raise OptionError(f"name the folder of texts: --data DIR, which holds {', '.join(FILES)} or some of them")
    require_neural(f"the study {EXPOSURE}")
    size = scale_named(EXPOSURE_SCALES, scale)
    texts = read_exposure_texts(data, size, seed=seed)
    if texts.missing and not quiet:
        print_line(f"{data} has no folder {', '.join(texts.missing)}: what needs it is not measured")
    return ExposureStudy(texts, size, out, seed=seed, runs=runs, progress=progress)
