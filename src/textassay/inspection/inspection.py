"""Inspection: trivial differences between two corpora that any metric would mistake for quality.

Checks read the tokens that metrics read, so what a tokeniser or --lowercase has made equal is not reported. Every
comparison of shares leaves four standard errors to luck; `docs/inspection.md` lists the thresholds. The checks stand in
`style_checks`, `marker_checks`, `size_checks` and `copy_checks`.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Unpack

import numpy as np

from textassay.corpus import Corpus, SpacingWarning, TextOptions, Texts, prepare_corpora
from textassay.errors import EmptyCorpusError, InputError
from textassay.inspection import copy_checks, marker_checks, size_checks, spacing_checks, style_checks
from textassay.inspection.finding import HELDOUT, REAL, Finding, Findings, own_finding
from textassay.inspection.sentence_keys import Keys, n_distinct, occurs_elsewhere, sentence_keys
from textassay.inspection.surface import Mask, Pair, Surface, surfaces
from textassay.inspection.token_traits import Trait

_TRAIN = "(train)"
_OWN_SHARE = 0.01
_OWN_REMEDIES = {
    "empty-sentences": "Remove them if they are stray lines: every empty line counts as a sentence.",
    "repeated-sentences": "Nothing to repair if they are legitimate draws: a generator should repeat itself as often.",
    "whitespace": "Use --normalize, which leaves single spaces on both sides.",
    "special-tokens": "Strip special tokens from the text: they are no part of a sentence.",
}


def inspect(
    generated: Mapping[str, Texts],
    real: Texts,
    *,
    train: Texts = None,
    heldout: Texts = None,
    **text: Unpack[TextOptions],
) -> Findings:
    """Return what is wrong with the real text, with the held-out real text and with each generator's text.

    Parameters
    ----------
    generated
        Name of a generator to its text: a list of str, a column, a path or a corpus, as in `compare`.
    real
        Real text, at least one sentence.
    train
        What the generators were trained on.
    heldout
        More real text, looked at as if it were a generator's, named ``(real-heldout)``.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Findings
        A list that prints as the command does: the real text's own findings, then the held-out text's, then each
        generator's in the order given; in each, warnings first.

    Raises
    ------
    EmptyCorpusError
        If a corpus has no sentence.
    InputError
        If corpora are given that do not share one vocabulary.
    """
    sources = {REAL: real, HELDOUT: heldout, _TRAIN: train, **generated}
    sources = {name: source for name, source in sources.items() if source is not None}
    if text or not all(isinstance(source, Corpus) for source in sources.values()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpacingWarning)  # the findings say it
            sources = prepare_corpora(sources, **text)
    _check(list(sources.values()))
    train_keys = sentence_keys(sources.pop(_TRAIN)) if train is not None else None
    faces = surfaces(list(sources.values()))
    others = [name for name in sources if name != REAL]
    found = _own(faces[0], REAL)
    if train_keys is not None:
        seen = copy_checks.real_in_train(faces[0], train_keys)
        found += [] if seen is None else [seen]
    found = _warnings_first(found)
    for number, name in enumerate(others, start=1):
        pair = Pair(faces[number], faces[0], name)
        found += _compare(pair, train_keys)
    return Findings(found)


def inspect_pair(real: Corpus, generated: Corpus, *, name: str) -> list[Finding]:
    """Return what differs between `generated`, the text of `name`, and `real`; warnings first."""
    _check([real, generated])
    faces = surfaces([generated, real])
    return _compare(Pair(faces[0], faces[1], name), None)


def inspect_corpus(corpus: Corpus, *, name: str) -> list[Finding]:
    """Return what is wrong with one corpus by itself; warnings first.

    Counts are those of the real side where `name` stands in parentheses, as ``(real)`` does, else of the generated.
    """
    _check([corpus])
    return _warnings_first(_own(surfaces([corpus])[0], name))


def _check(corpora: Sequence[Corpus]) -> None:
    for corpus in corpora:
        if not len(corpus):
            raise EmptyCorpusError("a corpus to inspect needs at least one sentence, got none")
        if corpus.vocabulary is not corpora[0].vocabulary:
            raise InputError("corpora to compare must share one vocabulary: encode them together")


def _own(side: Surface, name: str) -> list[Finding]:
    """Return what is wrong with one side by itself."""
    few = size_checks.few_sentences(side.corpus, name)
    unspaced = spacing_checks.unspaced_text(side, name)
    found = [one for one in (few, unspaced) if one is not None]
    filled = side.filled
    filled_keys = side.keys[filled]
    repeats = np.zeros(len(side), dtype=np.bool_)
    repeats[filled] = occurs_elsewhere(filled_keys)
    n_repeats = len(filled_keys) - n_distinct(filled_keys)
    if (~filled).any():
        found.append(_own_share("empty-sentences", "are empty", side, name, ~filled))
    if n_repeats >= _OWN_SHARE * len(side):
        found.append(_own_share("repeated-sentences", "repeat an earlier one", side, name, repeats, count=n_repeats))
    if side.words is not side.corpus:
        spaced = size_checks.spaced(side.corpus)
        if spaced.sum() >= _OWN_SHARE * len(side):
            found.append(_own_share("whitespace", "have a space at an end or two in a row", side, name, spaced))
    special = side.shows(Trait.SPECIAL)
    if special.sum() >= _OWN_SHARE * len(side) and special.any():
        found.append(_own_share("special-tokens", "have a special token left in", side, name, special))
    return found


def _own_share(kind: str, what: str, side: Surface, name: str, shown: Mask, *, count: int | None = None) -> Finding:
    n_shown = int(shown.sum()) if count is None else count
    message = f"{n_shown} of {len(side)} sentences ({100 * n_shown / len(side):.1f} %) {what}."
    example = side.example(shown & side.filled, Trait.SPECIAL)
    return own_finding(kind, "note", name, message, n_shown, len(side), example, _OWN_REMEDIES[kind])


def _compare(pair: Pair, train: Keys | None) -> list[Finding]:
    same = copy_checks.same_text(pair)
    if same is not None:
        return [same]
    cut = size_checks.cut_length(pair)
    found = [
        size_checks.few_sentences(pair.generated.corpus, pair.name),
        size_checks.unequal_samples(pair),
        size_checks.empty_sentences(pair),
        spacing_checks.word_spacing(pair),
        style_checks.case(pair),
        style_checks.glued_punctuation(pair),
        cut[0] if cut is not None else size_checks.length(pair),
        style_checks.final_punctuation(pair, None if cut is None else cut[1]),
        marker_checks.unknown_tokens(pair),
        marker_checks.masked_digits(pair),
        marker_checks.digits(pair),
        marker_checks.special_tokens(pair),
        marker_checks.alphabet(pair),
        size_checks.outer_space(pair),
        copy_checks.repeated(pair),
        copy_checks.shared(pair),
    ]
    if train is not None:
        found.append(copy_checks.memorised(pair, train))
    return _warnings_first([one for one in found if one is not None])


def _warnings_first(found: list[Finding]) -> list[Finding]:
    return sorted(found, key=lambda one: one.severity != "warning")
