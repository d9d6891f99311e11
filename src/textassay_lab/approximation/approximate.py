"""A text under a generator without a likelihood, in one call: what is read and checked, and kept in a folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.comparison.measure import EstimateStore, Progress, estimate_key
from textassay.corpus.corpus import Corpus, Texts
from textassay.corpus.text_form import TextForm
from textassay.corpus.tokenizer import resolve_tokenizer
from textassay.errors import OptionError
from textassay_lab.approximation.approximation import FLOOR as FLOOR_PROBABILITY
from textassay_lab.approximation.approximation import N_SAMPLES, Approximation, choose_mode
from textassay_lab.approximation.approximation import approximate as approximate_corpus
from textassay_lab.generator.ready import Model, open_generator, precision_of
from textassay_lab.generator.text_generator import TextGenerator


def approximate(
    generator: Model | Any,
    text: Texts,
    *,
    mode: str | None = None,
    n_samples: int = N_SAMPLES,
    window: int | None = None,
    context: int = 0,
    floor: float = FLOOR_PROBABILITY,
    rule: bool = False,
    folder: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
    seed: int = 0,
) -> Approximation:
    """Return what a text costs under a generator without a likelihood, by its average output after the real words.

    Parameters
    ----------
    generator
        A fitted generator of `textassay_lab.generators`, or the folder of one; or an object of your own that has
        `vocabulary` and ``step(prefixes, seed=)``.
    text
        Real text, as `textassay.compare` takes it; with `window`, one running text.
    mode
        ``multinomial``, ``onehot``, ``soft`` or ``exact``; by default what the generator can do.
    n_samples
        Draws at each place, at least 20.
    window, context
        Tokens of a window of running text, and how many before it are read; whole texts without.
    floor
        What a token that was never drawn has instead of probability 0, above 0 and at most 1/`n_samples`.
    rule
        Whether to follow the stopping rule, with draws of its own.
    folder
        Where parts are kept where many draws take long, so that the same call goes on; nowhere without one.
    level, progress, seed
        As in `textassay.compare`.
    """
    if isinstance(generator, TextGenerator | str | os.PathLike):
        opened = open_generator(generator)
    elif isinstance(text, Corpus):
        opened = TextGenerator.of(generator, TextForm(resolve_tokenizer(text.tokenizer), text.vocabulary))
    else:
        raise OptionError("a custom generator needs its text as a Corpus over its vocabulary")
    corpus = text if isinstance(text, Corpus) and opened.form.vocabulary is text.vocabulary else opened.corpus(text)
    if window is not None and len(corpus) > 1:
        corpus = opened.corpus([" ".join(corpus)])
    keep = None
    if folder is not None and choose_mode(opened.model, mode) in ("onehot", "soft"):
        settings = (n_samples, window, context, floor, seed, precision_of(opened))
        checksum = opened.document.get("checksum")
        decides = (version("textassay"), opened.model.name, checksum, opened.form.hash, corpus.fingerprint, *settings)
        keep = _Parts(EstimateStore(Path(folder)), ("approximation", *decides))
    return approximate_corpus(
        opened.model,
        corpus,
        keep=keep,
        mode=mode,
        n_samples=n_samples,
        window=window,
        context=context,
        floor=floor,
        rule=rule,
        level=level,
        progress=progress,
        seed=seed,
    )


@dataclass(frozen=True)
class _Parts:
    """Finished parts of an approximation in a folder, named by all that decides them."""

    store: EstimateStore
    decides: tuple[Any, ...]

    def load(self, part: str) -> Mapping[str, npt.NDArray[np.float64]] | None:
        """Return what was kept of `part`, or None."""
        rows: dict[str, Any] | None = self.store.load_document(estimate_key(*self.decides, part))
        return None if rows is None else {name: np.asarray(row, dtype=np.float64) for name, row in rows.items()}

    def save(self, part: str, arrays: Mapping[str, npt.NDArray[np.float64]]) -> None:
        """Keep arrays of `part`."""
        document = {name: array.tolist() for name, array in arrays.items()}
        self.store.save_document(estimate_key(*self.decides, part), document)
