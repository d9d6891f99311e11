"""Stages on translation: two models, BLEU and forced prefixes of the first, exposure bias of the second.

The first model is trained on pairs and then serves as the data distribution, P_D: it draws a translation of each
source, on which the second model is trained. So the next words of P_D are known exactly, and references of held-back
sources are further samples of it.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, appendix C, equations (7) and (8).
Departs from it: there people choose the next word; here a known model does.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, cast

import numpy as np

from textassay.corpus import Corpus, ParallelText, TextForm
from textassay.execution import workers
from textassay.exposure import translation_eb_c
from textassay.generator import (
    BEAM,
    PREFIX_MODES,
    TranslationModel,
    forced_prefixes,
    make_generator,
    presets_of,
    save_model,
    translate,
)
from textassay.metric import translation_bleu
from textassay.report import join_words
from textassay.study.draws import load_draws, save_draws
from textassay.study.exposure_bias.scales import ExposureScale
from textassay.study.exposure_bias.texts import PairTexts
from textassay.study.network_stages import MODEL, opened, seed_for, tell_step
from textassay.study.presets import Network
from textassay.study.stages import Stage, Work

_COST = 30.0  # of a pair in training, beside a sentence elsewhere
_CHECKPOINT = "training.safetensors"
_SHOWN = 4  # sentences of the test set whose translations are shown: the first
_DISTANCES = ("tv", "js", "greedy")
_FEWEST = 30  # pairs that a length is measured on


@dataclass(frozen=True)
class TranslationStages:
    """What is measured of translation: BLEU and samples of the first model, exposure bias of the second."""

    quality: Stage
    bias: Stage


def translation_stages(texts: PairTexts, scale: ExposureScale, *, precision: str, seed: int) -> TranslationStages:
    """Return the stages; nothing is computed yet."""
    train = texts.train
    data = _training("translation data model", scale, texts, None, seed=seed_for(seed, "translation", "data"))
    n_drawn = len(train) if scale.n_drawn_pairs is None else min(scale.n_drawn_pairs, len(train))
    pair_sets = {"train": train.take(np.arange(n_drawn)), "valid": texts.valid, "held": texts.held}
    drawn = _drawing(data, pair_sets, precision=precision, seed=seed_for(seed, "translation", "draw"))
    own = _training("translation model", scale, texts, (drawn, pair_sets), seed=seed_for(seed, "translation", "model"))
    return TranslationStages(
        _quality(data, texts, precision=precision, seed=seed_for(seed, "translation", "forced")),
        _bias(own, data, drawn, texts, scale.translation_lengths, precision=precision),
    )


def _training(
    name: str,
    scale: ExposureScale,
    texts: PairTexts,
    drawn: tuple[Stage, Mapping[str, ParallelText]] | None,
    *,
    seed: int,
) -> Stage:
    """Return the training on pairs, or on what a stage drew for their sources."""
    network: Network = scale.translation

    def run(work: Work) -> dict[str, Any]:
        train, valid = texts.train, texts.valid
        if drawn is not None:
            train, valid = (
                _with_drawn_targets(work, drawn[0], drawn[1][part], part, texts.form) for part in ("train", "valid")
            )
        generator = make_generator(
            "translation", preset=network.preset, seed=seed, precision=scale.precision, **network.changes
        )
        model = cast(TranslationModel, generator)
        checkpoint = work.folder / _CHECKPOINT
        with workers(1):  # another number of threads sums in another order, and gives other weights
            model.fit(train, valid, checkpoint=checkpoint, progress=lambda step: tell_step(work, step))
        save_model(generator, work.folder / MODEL, form=texts.form)
        checkpoint.unlink(missing_ok=True)
        return {"model": model.name, "n_parameters": model.n_parameters}

    settings = {
        "preset": f"{network.preset} {presets_of('translation')[network.preset]}",
        "changes": dict(network.changes),
        "precision": scale.precision,
        "seed": seed,
        "form": texts.form.hash,
        "pairs": [texts.train.fingerprint, texts.valid.fingerprint] if drawn is None else None,
    }
    cost = _COST * (len(texts.train) if drawn is None else len(drawn[1]["train"]))
    return Stage("train", name, settings, run, () if drawn is None else (drawn[0],), cost)


def _drawing(data: Stage, pair_sets: Mapping[str, ParallelText], *, precision: str, seed: int) -> Stage:
    """Return what the data model answers to sources, one file a set."""

    def run(work: Work) -> dict[str, Any]:
        model = opened(work, data, precision=precision)
        for number, (name, pairs) in enumerate(pair_sets.items()):
            work.tell(f"{len(pairs)} translations, set {number + 1} of {len(pair_sets)}")
            translations = model.sample(len(pairs), seed=seed_for(seed, "draw", name), context=pairs.source)
            save_draws(work.folder / f"{name}.npz", translations)
        return {name: len(pairs) for name, pairs in pair_sets.items()}

    sources = {name: pairs.source.fingerprint for name, pairs in pair_sets.items()}
    settings = {"sources": sources, "precision": precision, "seed": seed}
    return Stage("sample", "translation data model", settings, run, (data,), float(len(pair_sets["train"])))


def _with_drawn_targets(work: Work, drawn: Stage, pairs: ParallelText, name: str, form: TextForm) -> ParallelText:
    """Return the sources with what was drawn for them."""
    return ParallelText(pairs.source, load_draws(work.inputs[drawn].folder / f"{name}.npz", form))


def _quality(data: Stage, texts: PairTexts, *, precision: str, seed: int) -> Stage:
    """Return BLEU of the test set, and translations of its first sentences with forced beginnings."""

    def run(work: Work) -> dict[str, Any]:
        model = opened(work, data, precision=precision)
        assert isinstance(model, TranslationModel)
        work.tell(f"beam search, {len(texts.test)} sentences")
        translations = translate(model, texts.test.source).corpus
        bleu = translation_bleu(translations.texts, texts.references, seed=seed)
        forced = {mode: forced_prefixes(mode, texts.test.target, seed=seed) for mode in PREFIX_MODES}
        first_rows = np.arange(min(_SHOWN, len(texts.test)))
        source = texts.test.source.take(first_rows)
        samples = []
        for mode, prefixes in forced.items():
            begin = prefixes.take(first_rows)
            whole = translate(model, source, prefix=begin).corpus
            for number, (text, first) in enumerate(zip(whole.texts, begin.texts, strict=True)):
                shared = takewhile(lambda pair: pair[0] == pair[1], zip(text, first, strict=False))
                length = sum(1 for _ in shared)  # all of `first`, but where a letter of its last token goes on
                parts = {"prefix": text[:length], "continuation": text[length:]}
                samples.append({"number": number, "mode": mode, **parts})
        return {"bleu": bleu.to_dict(), "samples": samples, "n": len(translations)}

    settings = {
        "test": texts.test.fingerprint, "form": texts.form.hash, "beam": BEAM, "shown": _SHOWN, "precision": precision,
        "seed": seed,
    }  # fmt: skip
    return Stage("translate", "multi30k", settings, run, (data,), float(len(texts.test)))


def _bias(
    own: Stage, data: Stage, drawn: Stage, texts: PairTexts, lengths: Sequence[int], *, precision: str
) -> Stage:  # fmt: skip
    """Return CGD and EB-C of translation on held-back sources."""

    def run(work: Work) -> dict[str, Any]:
        model, oracle = (cast(TranslationModel, opened(work, stage, precision=precision)) for stage in (own, data))
        pairs = _with_drawn_targets(work, drawn, texts.held, "held", texts.form)
        work.tell(f"beam search, {len(pairs)} sentences")
        translations = model.translations(pairs.source, width=BEAM)
        enough = [length for length in lengths if _n_at(length, pairs.target, translations) >= _FEWEST]
        if len(enough) < len(lengths):
            warnings.warn(
                f"of {len(pairs)} pairs, fewer than {_FEWEST} have so many tokens in both reference and translation: "
                f"{join_words([str(length) for length in lengths if length not in enough])}; left out",
                stacklevel=2,
            )
        curves = translation_eb_c(
            model, oracle, pairs, enough or [0], distances=_DISTANCES, translations=translations
        )  # fmt: skip
        return {name: curve.to_dict() for name, curve in curves.items()}

    settings = {
        "held": texts.held.source.fingerprint, "lengths": list(lengths), "distances": list(_DISTANCES), "beam": BEAM,
        "fewest": _FEWEST, "precision": precision,
    }  # fmt: skip
    return Stage("eb-c", "translation", settings, run, (own, data, drawn), float(10 * len(texts.held)))


def _n_at(length: int, references: Corpus, translations: Corpus) -> int:
    """Return how many pairs have so many tokens on both sides."""
    return int(np.count_nonzero(np.minimum(references.lengths, translations.lengths) >= length))
