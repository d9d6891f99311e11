"""Checks of copies: the same text on both sides, repeated sentences, sentences shared with real or training text.

Short and common sentences occur in any text of a kind, so a count alone says little. What is natural is measured on the
real text itself: how many of its sentences stand elsewhere in it, or in the training text.
"""

import numpy as np

from textassay.inspection.finding import REAL, Finding, own_finding
from textassay.inspection.sentence_keys import Keys, expected_repeats, n_distinct, occurs_elsewhere, occurs_in
from textassay.inspection.surface import Mask, Pair, Surface, gap, severity

_REPEATED_NOTE, _REPEATED_WARNING = 0.02, 0.1
_SHARED_NOTE, _SHARED_WARNING = 0.01, 0.1
_OWN_SHARE = 0.01


def same_text(pair: Pair) -> Finding | None:
    """Return a finding where both sides are the same sentences, in whatever order."""
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
        f"The generated and the real text are the same {n_sentences} sentences{order}.",
        sizes,
        sizes,
        (pair.generated.example(everything), pair.real.example(everything)),
        "Check the file names: a text compared with itself scores as perfect on every overlap metric, and its dd means "
        "nothing.",
    )


def repeated(pair: Pair) -> Finding | None:
    """Return a finding where generated sentences repeat one another; a note where real ones do so as often."""
    filled = pair.generated.filled, pair.real.filled
    generated, real = pair.generated.keys[filled[0]], pair.real.keys[filled[1]]
    n_drawn = min(len(generated), len(real))
    if not n_drawn:
        return None
    shares = expected_repeats(generated, n_drawn), expected_repeats(real, n_drawn)
    difference = gap(round(shares[0] * n_drawn), n_drawn, round(shares[1] * n_drawn), n_drawn)
    how_bad = severity(difference, note=_REPEATED_NOTE, warning=_REPEATED_WARNING)
    if how_bad is None and shares[0] < _OWN_SHARE:
        return None
    n_repeats = len(generated) - n_distinct(generated), len(real) - n_distinct(real)
    if difference == 0:
        remedy = "Nothing to repair: real text repeats itself about as often."
    elif difference < 0:
        how_bad = "note"
        remedy = "Check whether repeats were removed from the generated text: equal sentences are legitimate draws."
    else:
        remedy = (
            "Nothing to repair: repetition counts against the generator; the details of dd give the value over "
            "distinct sentences, which shows what else differs."
        )
    at_size = f"; among {n_drawn} of each it is" if len(generated) != len(real) else ":"
    return pair.plain_finding(
        "repeated-sentences",
        how_bad or "note",
        f"Repeated sentences: {n_repeats[0]} of {len(generated)} generated and {n_repeats[1]} of {len(real)} real ones "
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
    """Return a finding where more generated sentences stand in the real text than real ones stand elsewhere in it."""
    masks = occurs_in(pair.generated.keys, pair.real.keys), occurs_elsewhere(pair.real.keys)
    return _copied(
        pair,
        masks,
        "shared-sentences",
        "also stand in the real text (elsewhere in it, for real ones)",
        "Copies of the text to compare with read as quality by overlap, and give themselves away to dd's classifiers: "
        "give real text that the generator has never seen.",
    )


def memorised(pair: Pair, train: Keys) -> Finding | None:
    """Return a finding where more generated than real sentences stand in the training text."""
    masks = occurs_in(pair.generated.keys, train), occurs_in(pair.real.keys, train)
    return _copied(
        pair,
        masks,
        "memorised-sentences",
        "also stand in the training text",
        "The generator repeats what it was trained on: judge it against real text that is not in the training text.",
    )


def real_in_train(real: Surface, train: Keys) -> Finding | None:
    """Return a finding where real sentences stand in the training text more often than training ones repeat."""
    keys = real.keys
    mask = occurs_in(keys, train)
    natural = occurs_elsewhere(train)
    n_seen = int(np.count_nonzero(mask))
    difference = gap(n_seen, len(keys), int(np.count_nonzero(natural)), len(train))
    how_bad = severity(difference, note=_SHARED_NOTE, warning=_SHARED_WARNING)
    if how_bad is None or difference < 0:
        return None
    return own_finding(
        "memorised-sentences",
        how_bad,
        REAL,
        f"{n_seen} of {len(keys)} real sentences ({100 * n_seen / len(keys):.1f} %) stand in the training text, where "
        f"{100 * np.count_nonzero(natural) / len(train):.1f} % of sentences occur more than once.",
        n_seen,
        len(keys),
        real.example(mask),
        "Give real text that the generator was not trained on, or memorising reads as quality.",
    )


def _copied(pair: Pair, masks: tuple[Mask, Mask], kind: str, what: str, remedy: str) -> Finding | None:
    contrast = pair.contrast(masks)
    how_bad = severity(contrast.gap, note=_SHARED_NOTE, warning=_SHARED_WARNING)
    if how_bad is None or contrast.gap < 0:
        return None
    return pair.finding(kind, how_bad, f"{contrast} {what}.", contrast, remedy)


def _most_frequent(side: Surface, keys: Keys, filled: Mask) -> str | None:
    """Return the sentence that occurs most often, with its count, or none; `keys` are those of the `filled` ones."""
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    best = int(np.argmax(counts))
    if counts[best] < 2:
        return None
    one = np.zeros(len(side), dtype=np.bool_)
    one[np.flatnonzero(filled)[first[best]]] = True
    return f"{side.example(one)} ({counts[best]} times)"
