"""Checks of copies: the same texts on both sides, repeated texts, texts shared with the real or training text.

Short and common sentences occur in any corpus of a kind, so a count alone says little. The baseline is the real text
itself: how many of its texts occur again in it, or in the training text.
"""

import numpy as np

from textassay.inspection.finding import REAL, Finding, own_finding
from textassay.inspection.sentence_keys import Keys, expected_repeats, n_distinct, occurs_elsewhere, occurs_in
from textassay.inspection.surface import Mask, Pair, Surface, gap, severity_of

_REPEATED_NOTE, _REPEATED_WARNING = 0.02, 0.1
_SHARED_NOTE, _SHARED_WARNING = 0.01, 0.1
_OWN_SHARE = 0.01


def same_text(pair: Pair) -> Finding | None:
    """Return a finding if both sides are the same texts, in any order."""
    generated, real = pair.generated.keys, pair.real.keys
    if len(generated) != len(real) or not np.array_equal(np.sort(generated), np.sort(real)):
        return None
    n_sentences = len(real)
    everything = np.ones(n_sentences, dtype=np.bool_)
    order = "" if np.array_equal(generated, real) else ", in another order"
    sizes = n_sentences, n_sentences
    return pair.plain_finding(
        "same-text",
        "warning",
        f"The generated and the real side are the same {n_sentences} texts{order}.",
        sizes,
        sizes,
        (pair.generated.example(everything), pair.real.example(everything)),
        "Check the file names: a text compared with itself scores as perfect on every overlap metric, and its dd is "
        "meaningless.",
    )


def repeated(pair: Pair) -> Finding | None:
    """Return a finding if generated texts repeat one another; a note if real ones do so as often."""
    filled = pair.generated.filled, pair.real.filled
    generated, real = pair.generated.keys[filled[0]], pair.real.keys[filled[1]]
    n_drawn = min(len(generated), len(real))
    if not n_drawn:
        return None
    shares = expected_repeats(generated, n_drawn), expected_repeats(real, n_drawn)
    difference = gap(round(shares[0] * n_drawn), n_drawn, round(shares[1] * n_drawn), n_drawn)
    severity = severity_of(difference, note=_REPEATED_NOTE, warning=_REPEATED_WARNING)
    if severity is None and shares[0] < _OWN_SHARE:
        return None
    n_repeats = len(generated) - n_distinct(generated), len(real) - n_distinct(real)
    if difference == 0:
        remedy = "Nothing to repair: real text repeats itself about as often."
    elif difference < 0:
        severity = "note"
        remedy = "Check whether repeats were removed from the generated side: equal texts are legitimate samples."
    else:
        remedy = (
            "Nothing to repair: repetition counts against the generator; the details of dd hold the value over "
            "distinct texts, which shows what else differs."
        )
    at_size = f"; among {n_drawn} of each:" if len(generated) != len(real) else ":"
    return pair.plain_finding(
        "repeated-sentences",
        severity or "note",
        f"Repeated texts: {n_repeats[0]} of {len(generated)} generated and {n_repeats[1]} of {len(real)} real ones "
        f"repeat an earlier one{at_size} {100 * shares[0]:.1f} % and {100 * shares[1]:.1f} %.",
        n_repeats,
        (len(generated), len(real)),
        (
            _most_frequent(pair.generated, generated, filled[0]),
            _most_frequent(pair.real, real, filled[1]),
        ),
        remedy,
    )


def shared(pair: Pair) -> Finding | None:
    """Return a finding if more generated texts occur in the real text than real ones occur twice in it."""
    masks = occurs_in(pair.generated.keys, pair.real.keys), occurs_elsewhere(pair.real.keys)
    return _copied(
        pair,
        masks,
        "shared-sentences",
        "also occur in the real text (a second time, for real ones)",
        "Overlap metrics take copies of the real text for quality, and dd's classifiers recognise them: give real text "
        "that the generator has never seen.",
    )


def memorised(pair: Pair, train: Keys) -> Finding | None:
    """Return a finding if more generated than real texts occur in the training text."""
    masks = occurs_in(pair.generated.keys, train), occurs_in(pair.real.keys, train)
    return _copied(
        pair,
        masks,
        "memorised-sentences",
        "also occur in the training text",
        "The generator repeats what it was trained on: compare it with real text that is not in the training text.",
    )


def real_in_train(real: Surface, train: Keys) -> Finding | None:
    """Return a finding if real texts occur in the training text more often than training texts repeat."""
    keys = real.keys
    mask = occurs_in(keys, train)
    repeats = occurs_elsewhere(train)
    n_seen = int(np.count_nonzero(mask))
    difference = gap(n_seen, len(keys), int(np.count_nonzero(repeats)), len(train))
    severity = severity_of(difference, note=_SHARED_NOTE, warning=_SHARED_WARNING)
    if severity is None or difference < 0:
        return None
    return own_finding(
        "memorised-sentences",
        severity,
        REAL,
        f"{n_seen} of {len(keys)} real texts ({100 * n_seen / len(keys):.1f} %) occur in the training text, where "
        f"{100 * np.count_nonzero(repeats) / len(train):.1f} % of the texts occur more than once.",
        n_seen,
        len(keys),
        real.example(mask),
        "Give real text that the generator was not trained on; otherwise metrics take memorising for quality.",
    )


def _copied(pair: Pair, masks: tuple[Mask, Mask], kind: str, what: str, remedy: str) -> Finding | None:
    contrast = pair.contrast(masks)
    severity = severity_of(contrast.gap, note=_SHARED_NOTE, warning=_SHARED_WARNING)
    if severity is None or contrast.gap < 0:
        return None
    return pair.finding(kind, severity, f"{contrast} {what}.", contrast, remedy)


def _most_frequent(side: Surface, keys: Keys, filled: Mask) -> str | None:
    """Return the most frequent text with its count, or None; `keys` are those of the `filled` texts."""
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    best = int(np.argmax(counts))
    if counts[best] < 2:
        return None
    one = np.zeros(len(side), dtype=np.bool_)
    one[np.flatnonzero(filled)[first[best]]] = True
    return f"{side.example(one)} ({counts[best]} times)"
