"""Exposure bias of a generator on a text, in one call: what is read and checked, and kept in a folder."""

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from textassay.comparison.measure import EstimateStore, Progress, estimate_key
from textassay.corpus.corpus import Corpus, Texts
from textassay.corpus.texts import as_texts
from textassay.errors import InputError, OptionError, TooFewSentencesError
from textassay.ngram.language_model import tokens_in
from textassay_lab.exposure.bleu import NotForTranslationError, check_not_translation
from textassay_lab.exposure.distance import Distance
from textassay_lab.exposure.lengths import LONGEST, choose_lengths
from textassay_lab.exposure.measurement import Exposure, ExposureSettings, Keep, measure_exposure
from textassay_lab.exposure.translation import TranslationCurve, translation_eb_c
from textassay_lab.generator.next_words import Ends
from textassay_lab.generator.parallel import ParallelText
from textassay_lab.generator.prefixes import blocks as cut_blocks
from textassay_lab.generator.ready import Model, label, open_generator, precision_of
from textassay_lab.generator.text_generator import TextGenerator


def exposure_bias(
    model: Model,
    real: Texts,
    *,
    oracle: Model | None = None,
    lengths: Sequence[int] | None = None,
    prefixes: Sequence[str] = ("model", "shuffled"),
    n_samples: int = 10_000,
    bleu_runs: int = 10,
    oracle_runs: int = 5,
    sentence_length: int | None = None,
    distances: Sequence[Distance] = ("tv", "js", "greedy"),
    ends: Ends = "excluded",
    with_dd: bool = False,
    blocks: bool = False,
    n_shown: int = 3,
    folder: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Exposure:
    """Return how much worse a language model goes on from its own words than from real ones.

    Parameters
    ----------
    model
        A fitted generator of `textassay_lab.generators` with a likelihood, or the folder of one.
    real
        Real text that the model never saw, as `textassay.compare` takes it, at least 2 texts.
    oracle
        A model of the same tokens that stands for the data: with it EB-C, the accumulated error and EB-DD.
    lengths
        Tokens of the prefixes; by default six lengths that suit the text.
    prefixes
        What prefixes of the data are compared with: ``model``, ``shuffled``, ``random``, ``corrupted:RATE``.
    n_samples
        Continuations and references of each run, or as many as the text allows.
    bleu_runs, oracle_runs
        Runs of EB-bleu, and of EB-C.
    sentence_length, distances, ends
        Tokens of the sentences; distances of EB-C; whether texts may end in the measure.
    with_dd
        Whether to measure EB-DD, too.
    blocks
        Whether the text is running text, to be cut into blocks of `sentence_length` tokens.
    n_shown
        Example texts of each kind of prefix.
    folder
        Where values are kept, so that the same call goes on; nowhere without one.
    level, seed, progress
        As in `textassay.compare`.

    Raises
    ------
    InputError, OptionError, TooFewSentencesError
        If the model knows no token of the text or was trained on it, the two models differ in tokens, or the texts are
        too few or short.
    """
    opened, truth = open_generator(model), None if oracle is None else open_generator(oracle)
    for side in (opened, truth):
        try:
            check_not_translation(None if side is None else side.model)
        except NotForTranslationError as error:
            advice = "'textassay translate --prefix-mode' shows what it makes of forced beginnings"
            raise NotForTranslationError(f"{error}; {advice}") from None
    if truth is not None:
        tokens = [set(side.form.vocabulary.tokens) for side in (opened, truth)]
        if tokens[0] != tokens[1]:
            raise OptionError(
                f"{label(opened)} and its oracle {label(truth)} have different vocabularies, of {len(tokens[0])} and "
                f"{len(tokens[1])} tokens, {len(tokens[0] & tokens[1])} in both: train one like (--like) the other, on "
                "text that it drew"
            )
    file = as_texts(real, "the text")
    corpus = opened.corpus(file)
    tokens_in(opened.form.vocabulary, corpus, generator=opened.model.name)  # raises where a text holds <eos>
    if corpus.unk_rate == 1:
        raise InputError(f"{label(opened)} knows no token of {file.name}: give text in its language, in its tokens")
    _check_unseen(opened, corpus, file.name)
    if blocks:
        sentence_length = LONGEST if sentence_length is None else sentence_length
        corpus = cut_blocks(corpus, sentence_length)
    elif len(corpus) == 1:
        raise TooFewSentencesError(
            f"{file.name} is one sentence, of {len(corpus.tokens)} tokens: at least 2 are needed, for a prefix and "
            "for a reference; is it running text? then cut it into blocks (--blocks)"
        )
    settings = ExposureSettings(
        kinds=tuple(prefixes),
        n=n_samples,
        bleu_runs=bleu_runs,
        oracle_runs=oracle_runs,
        distances=tuple(distances),
        ends=ends,
        with_dd=with_dd,
        n_shown=n_shown,
        level=level,
        seed=seed,
    )
    return measure_exposure(
        opened.model,
        corpus,
        choose_lengths(corpus, lengths, sentence_length, ends=ends),
        settings,
        oracle=None if truth is None else truth.model,
        keep=None if folder is None else _keep_cells(Path(folder), opened, truth, corpus),
        progress=progress,
    )


def _check_unseen(opened: TextGenerator, corpus: Corpus, name: str) -> None:
    """Raise where the text is, or begins with, what the model was trained on, as far as its folder tells."""
    record = opened.document.get("training", {})
    seen = record.get("train") or {}
    n_seen = seen.get("sentences", 0)
    reason = (
        f"what {label(opened)} was trained on: give text that it never saw, since what it learnt by heart reads well"
    )
    if corpus.fingerprint == seen.get("fingerprint"):
        raise InputError(f"{name} is {reason}")
    if 0 < n_seen < len(corpus) and corpus.take(np.arange(n_seen)).fingerprint == seen.get("fingerprint"):
        raise InputError(f"the first {n_seen} of {len(corpus)} sentences of {name} are {reason}")
    if corpus.fingerprint == (record.get("valid") or {}).get("fingerprint"):
        warnings.warn(
            f"{name} decided when the training of {label(opened)} stopped: other text is better", stacklevel=3
        )


def _keep_cells(folder: Path, opened: TextGenerator, oracle: TextGenerator | None, corpus: Corpus) -> Keep:
    """Return what keeps cells of exposure bias in a folder, by the content they were computed from."""
    store = EstimateStore(folder)
    identities = [_identity(side) for side in (opened, oracle) if side is not None]

    def keep(settings: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        # EB-bleu knows no oracle, EB-C no text: what they do not depend on is left out of their keys
        known = identities[:1] if settings["measure"] == "EB-bleu" else identities
        text = corpus.fingerprint if settings["measure"] != "EB-C" else ""
        key = estimate_key(
            version("textassay"), *known, text, precision_of(opened), json.dumps(settings, sort_keys=True)
        )
        document = store.load_document(key)
        if document is None:
            document = compute()
            store.save_document(key, document)
        return document

    return keep


def _identity(opened: TextGenerator) -> str:
    """Return what tells a model from every other: what is in its folder, or, without one, what names it."""
    if not opened.document:
        return json.dumps([label(opened), opened.model.name])
    return json.dumps(
        {name: opened.document[name] for name in ("kind", "settings", "checksum", "vocabulary")}, sort_keys=True
    )


def translation_exposure_bias(
    model: Model,
    oracle: Model,
    sources: Texts,
    translations: Texts,
    lengths: Sequence[int],
    *,
    distances: Sequence[Distance] = ("tv", "js", "greedy"),
    beam: int = 10,
    level: float = 0.95,
) -> dict[str, TranslationCurve]:
    """Return how much worse a translation model goes on from its own words than from the reference, by each distance.

    Parameters
    ----------
    model, oracle
        Fitted `textassay_lab.generators.Translation`, or folders of such; the oracle stands for the data, with the same
        tokens (``like=model``).
    sources, translations
        Texts and their translations that neither saw in training.
    lengths
        Tokens to read before the next word is looked at, each at least 0.
    distances
        Of the probabilities of the next word.
    beam
        Width of the search for the model's own translations.
    level
        Of the intervals.
    """
    opened, truth = open_generator(model), open_generator(oracle)
    pairs = ParallelText(opened.corpus(sources), opened.corpus(translations))
    return translation_eb_c(opened.model, truth.model, pairs, lengths, distances=distances, width=beam, level=level)
