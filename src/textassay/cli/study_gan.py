"""The study ``gan-as-lm`` on the command line: running characters, read and made a study of."""

from collections.abc import Callable
from pathlib import Path

from textassay.errors import OptionError
from textassay.study.gan_as_lm.scales import GAN_SCALES
from textassay.study.gan_as_lm.study import GanStudy
from textassay.study.gan_as_lm.text import FILES, read_gan_text
from textassay.study.presets import scale_named
from textassay.training.backend import require_neural

__all__ = ["ABOUT", "GAN", "make_gan_study"]

GAN = "gan-as-lm"
ABOUT = "character GANs and language models; how many bits per character, with a softmax and without?"


def make_gan_study(
    data: Path | None,
    out: Path,
    *,
    scale: str,
    runs: int | None,
    seed: int,
    progress: Callable[[str, int, int], None] | None,
) -> GanStudy:
    """Return the study of a text.

    Parameters
    ----------
    data
        A folder of training, validation and test text, or one file of running text.
    out
        Where stages are kept.
    scale, runs, seed
        How much is computed; trainings of SeqGAN instead of the scale's.
    progress
        Called with the stage that runs, how many are done, and how many there are.

    Raises
    ------
    OptionError
        If no text is named.
    InputError
        If it cannot be read or is too short.
    MissingExtraError
        If the extra ``neural`` is not installed.
    """
    if data is None:
        raise OptionError(f"name the text: --data DIR, which holds {', '.join(FILES)}, or --data FILE")
    require_neural(f"the study {GAN}")
    size = scale_named(GAN_SCALES, scale)
    return GanStudy(read_gan_text(data, size), size, out, seed=seed, runs=runs, progress=progress)
