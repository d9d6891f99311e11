"""Inspection: trivial differences between two corpora that metrics would mistake for a difference in quality.

Checks see the tokens that metrics see, so differences that a tokeniser or --lowercase removed are not reported. Every
comparison of shares allows four standard errors for chance; `docs/inspection.md` lists the thresholds.
"""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import numpy as np

from textassay.corpus.corpus import Corpus, TextOptions, Texts, corpora_from_texts
from textassay.corpus.named_texts import named_texts
from textassay.corpus.text_file import TextFile
from textassay.corpus.texts import as_texts
from textassay.corpus.tokenizer import SpacingWarning
from textassay.errors import EmptyCorpusError
from textassay.inspection import checks
from textassay.inspection.character_checks import character_checks, own_returns, sees_space
from textassay.inspection.dependence import Independence
from textassay.inspection.finding import HELDOUT, OWN_SHARE, REAL, Finding, Findings, own_finding
from textassay.inspection.markers import marker_findings, own_markers, token_ids
from textassay.inspection.sentence_keys import Keys, n_distinct, occurs_elsewhere, sentence_keys
from textassay.inspection.surface import Mask, Pair, Surface, Trait, surfaces

_TRAIN = "(train)"
_FIT_REAL = "(fit-real)"
_OWN_REMEDIES = {
    "empty-sentences": "Remove them if they are stray blank lines: every empty line counts as a text.",
    "repeated-sentences": "Nothing to repair if they are genuine: a generator should repeat itself equally often.",
    "whitespace": "Use --normalize, which leaves single spaces on both sides.",
    "special-tokens": "Remove special tokens: they are not part of the text.",
}


def inspect(
    generated: Texts | Mapping[str, Texts],
    real: Texts,
    *,
    by: str | None = None,
    train: Texts = None,
    heldout: Texts = None,
    fit_real: Texts = None,
    independent: bool = False,
    **text: Unpack[TextOptions],
) -> Findings:
    """Return the problems of the real text, the held-out real text and each generator's text.

    Parameters
    ----------
    generated
        Texts, name to texts, or a table with `by`, as in `compare`.
    real
        At least one real text.
    by
        The column of the table that names the generator of each text.
    train
        Training text of the generators.
    heldout
        More real text, checked like a generator's, named ``(real-heldout)``.
    fit_real
        Real text that classifiers learn from and are not tested on; checked for texts of `real`.
    independent
        Whether texts are taken for independent draws, and not examined.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Findings
        A list that prints as the command does: texts that depend on each other, then findings about the real text,
        the held-out text, and each generator in the order given; warnings first in each.

    Raises
    ------
    EmptyCorpusError
        If a corpus has no text.
    """
    generated, real = named_texts(generated, real, by=by, may_be_none=True)
    sources = {REAL: real, HELDOUT: heldout, _TRAIN: train, **generated, _FIT_REAL: fit_real}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpacingWarning)  # the findings report it
        files = {name: each if isinstance(each, Corpus) else as_texts(each, name) for name, each in sources.items()
                 if each is not None}  # fmt: skip
        corpora = corpora_from_texts(files, **text)
    _check_filled(corpora.values())
    train_keys = sentence_keys(corpora.pop(_TRAIN)) if train is not None else None
    fit_keys = sentence_keys(corpora.pop(_FIT_REAL)) if fit_real is not None else None
    all_surfaces = surfaces(list(corpora.values()))
    others = [name for name in corpora if name != REAL]
    dependent = []
    if not independent:
        dependent = Independence.of(corpora[REAL], {name: corpora[name] for name in others}).findings(others)
    findings = _own_findings(all_surfaces[0], REAL)
    if train_keys is not None:
        memorised = checks.real_in_train(all_surfaces[0], train_keys)
        findings += [] if memorised is None else [memorised]
    if fit_keys is not None:
        tested = checks.real_in_fit(all_surfaces[0], fit_keys)
        findings += [] if tested is None else [tested]
    findings = _warnings_first(findings)
    for number, name in enumerate(others, start=1):
        pair = Pair(all_surfaces[number], all_surfaces[0], name)
        findings += _compare(pair, train_keys)
    same = {one.generator for one in findings if one.kind == "same-text"}  # which says it all
    return Findings([*reading_findings(files), *(one for one in dependent if one.generator not in same), *findings])


def reading_findings(texts: Mapping[str, Any]) -> list[Finding]:
    """Return what was noted while texts were read, by name: what was left out, and what nobody asked for."""
    return [
        own_finding(
            note.kind, "warning" if note.is_warning else "note", name, note.message, note.n,
            len(file.texts), None, note.remedy,
        )
        for name, file in texts.items()
        if isinstance(file, TextFile)
        for note in file.notes
    ]  # fmt: skip


def inspect_corpus(corpus: Corpus, *, name: str) -> list[Finding]:
    """Return the problems of one corpus by itself; warnings first. A `name` in parentheses means real text."""
    _check_filled([corpus])
    (side,) = surfaces([corpus])
    return _warnings_first([*_own_findings(side, name), *own_markers(side, name)])


def _check_filled(corpora: Iterable[Corpus]) -> None:
    if not all(map(len, corpora)):
        raise EmptyCorpusError("a corpus to inspect needs at least one text, got 0")


def _own_findings(side: Surface, name: str) -> list[Finding]:
    """Return the problems of one side by itself."""
    own = checks.few_sentences(side.corpus, name), checks.unspaced_text(side, name), own_returns(side, name)
    findings = [one for one in (*own, token_ids(side, name)) if one is not None]
    filled = side.filled
    filled_keys = side.keys[filled]
    repeats = np.zeros(len(side), dtype=np.bool_)
    repeats[filled] = occurs_elsewhere(filled_keys)
    n_repeats = len(filled_keys) - n_distinct(filled_keys)
    if (~filled).any():
        findings.append(_own_share("empty-sentences", "are empty", side, name, ~filled))
    if n_repeats >= OWN_SHARE * len(side):
        findings.append(_own_share("repeated-sentences", "repeat an earlier one", side, name, repeats, count=n_repeats))
    if sees_space(side.corpus):
        spaced = checks.spaced(side.corpus)
        if spaced.sum() >= OWN_SHARE * len(side):
            findings.append(_own_share("whitespace", "have a space at an end or two in a row", side, name, spaced))
    special = side.shows(Trait.SPECIAL)
    if special.sum() >= OWN_SHARE * len(side) and special.any():
        findings.append(_own_share("special-tokens", "have a special token left in", side, name, special))
    return findings


def _own_share(kind: str, what: str, side: Surface, name: str, shown: Mask, *, count: int | None = None) -> Finding:
    n_shown = int(shown.sum()) if count is None else count
    message = f"{n_shown:,} of {len(side):,} texts ({100 * n_shown / len(side):.1f} %) {what}."
    example = side.example(shown & side.filled, Trait.SPECIAL)
    return own_finding(kind, "note", name, message, n_shown, len(side), example, _OWN_REMEDIES[kind])


def _compare(pair: Pair, train: Keys | None) -> list[Finding]:
    same = checks.same_text(pair)
    if same is not None:
        return [same]
    cut = checks.cut_length(pair)
    of_characters, explained = character_checks(pair)
    findings = [
        checks.few_sentences(pair.generated.corpus, pair.name),
        token_ids(pair.generated, pair.name),
        checks.unequal_samples(pair),
        checks.empty_sentences(pair),
        checks.word_spacing(pair),
        checks.case(pair),
        checks.glued_punctuation(pair),
        cut[0] if cut is not None else checks.length(pair),
        checks.final_punctuation(pair, None if cut is None else cut[1]),
        checks.unknown_tokens(pair),
        checks.masked_digits(pair),
        checks.digits(pair),
        checks.special_tokens(pair),
        *marker_findings(pair),
        *of_characters,
        checks.alphabet(pair, explained),
        checks.outer_space(pair),
        checks.repeated(pair),
        checks.shared(pair),
        checks.real_beginnings(pair),
        checks.error_messages(pair),
        checks.refusals(pair),
        checks.cut_off(pair),
    ]
    if train is not None:
        findings.append(checks.memorised(pair, train))
    return _warnings_first([one for one in findings if one is not None])


def _warnings_first(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda one: one.severity != "warning")
