"""Inspection: trivial differences between two corpora that metrics would mistake for a difference in quality.

Checks see the tokens that metrics see, so differences that a tokeniser or --lowercase removed are not reported. Every
comparison of shares allows four standard errors for chance; `docs/inspection.md` lists the thresholds.
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
    "empty-sentences": "Remove them if they are stray blank lines: every empty line counts as a text.",
    "repeated-sentences": "Nothing to repair if they are genuine: a generator should repeat itself as often.",
    "whitespace": "Use --normalize, which leaves single spaces on both sides.",
    "special-tokens": "Strip special tokens: they are not part of the text.",
}


def inspect(
    generated: Mapping[str, Texts],
    real: Texts,
    *,
    train: Texts = None,
    heldout: Texts = None,
    **text: Unpack[TextOptions],
) -> Findings:
    """Return the problems of the real text, the held-out real text and each generator's text.

    Parameters
    ----------
    generated
        Name of a generator to its text: a list of str, a column, a path or a corpus, as in `compare`.
    real
        At least one real text.
    train
        Training text of the generators.
    heldout
        More real text, checked like a generator's, named ``(real-heldout)``.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Findings
        A list that prints as the command does: findings about the real text, then the held-out text, then each
        generator in the order given; warnings first in each.

    Raises
    ------
    EmptyCorpusError
        If a corpus has no text.
    InputError
        If the corpora do not share one vocabulary.
    """
    sources = {REAL: real, HELDOUT: heldout, _TRAIN: train, **generated}
    sources = {name: source for name, source in sources.items() if source is not None}
    if text or not all(isinstance(source, Corpus) for source in sources.values()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpacingWarning)  # the findings report it
            sources = prepare_corpora(sources, **text)
    _check(list(sources.values()))
    train_keys = sentence_keys(sources.pop(_TRAIN)) if train is not None else None
    all_surfaces = surfaces(list(sources.values()))
    others = [name for name in sources if name != REAL]
    findings = _own_findings(all_surfaces[0], REAL)
    if train_keys is not None:
        memorised = copy_checks.real_in_train(all_surfaces[0], train_keys)
        findings += [] if memorised is None else [memorised]
    findings = _warnings_first(findings)
    for number, name in enumerate(others, start=1):
        pair = Pair(all_surfaces[number], all_surfaces[0], name)
        findings += _compare(pair, train_keys)
    return Findings(findings)


def inspect_pair(real: Corpus, generated: Corpus, *, name: str) -> list[Finding]:
    """Return the differences between `generated`, the text of `name`, and `real`; warnings first."""
    _check([real, generated])
    all_surfaces = surfaces([generated, real])
    return _compare(Pair(all_surfaces[0], all_surfaces[1], name), None)


def inspect_corpus(corpus: Corpus, *, name: str) -> list[Finding]:
    """Return the problems of one corpus by itself; warnings first. A `name` in parentheses means real text."""
    _check([corpus])
    return _warnings_first(_own_findings(surfaces([corpus])[0], name))


def _check(corpora: Sequence[Corpus]) -> None:
    for corpus in corpora:
        if not len(corpus):
            raise EmptyCorpusError("a corpus to inspect needs at least one text, got 0")
        if corpus.vocabulary is not corpora[0].vocabulary:
            raise InputError("corpora to compare must share one vocabulary: build them with one corpora_from_texts")


def _own_findings(side: Surface, name: str) -> list[Finding]:
    """Return the problems of one side by itself."""
    few = size_checks.few_sentences(side.corpus, name)
    unspaced = spacing_checks.unspaced_text(side, name)
    findings = [one for one in (few, unspaced) if one is not None]
    filled = side.filled
    filled_keys = side.keys[filled]
    repeats = np.zeros(len(side), dtype=np.bool_)
    repeats[filled] = occurs_elsewhere(filled_keys)
    n_repeats = len(filled_keys) - n_distinct(filled_keys)
    if (~filled).any():
        findings.append(_own_share("empty-sentences", "are empty", side, name, ~filled))
    if n_repeats >= _OWN_SHARE * len(side):
        findings.append(_own_share("repeated-sentences", "repeat an earlier one", side, name, repeats, count=n_repeats))
    if side.words is not side.corpus:
        spaced = size_checks.spaced(side.corpus)
        if spaced.sum() >= _OWN_SHARE * len(side):
            findings.append(_own_share("whitespace", "have a space at an end or two in a row", side, name, spaced))
    special = side.shows(Trait.SPECIAL)
    if special.sum() >= _OWN_SHARE * len(side) and special.any():
        findings.append(_own_share("special-tokens", "have a special token left in", side, name, special))
    return findings


def _own_share(kind: str, what: str, side: Surface, name: str, shown: Mask, *, count: int | None = None) -> Finding:
    n_shown = int(shown.sum()) if count is None else count
    message = f"{n_shown} of {len(side)} texts ({100 * n_shown / len(side):.1f} %) {what}."
    example = side.example(shown & side.filled, Trait.SPECIAL)
    return own_finding(kind, "note", name, message, n_shown, len(side), example, _OWN_REMEDIES[kind])


def _compare(pair: Pair, train: Keys | None) -> list[Finding]:
    same = copy_checks.same_text(pair)
    if same is not None:
        return [same]
    cut = size_checks.cut_length(pair)
    findings = [
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
        findings.append(copy_checks.memorised(pair, train))
    return _warnings_first([one for one in findings if one is not None])


def _warnings_first(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda one: one.severity != "warning")
