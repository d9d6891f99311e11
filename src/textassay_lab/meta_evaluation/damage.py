"""Known damage: real text made worse in one stated way, as much as asked for.

A damage of strength s changes a share s of its units: words, pairs of neighbouring words, or sentences, rounded to a
whole number. Damage at one strength is included in the damage at every greater one, with the same random numbers, so
that curves over strength are smooth.

Source of the idea: He et al., "On the Blind Spots of Model-Based Evaluation Metrics for Text Generation", ACL 2023.
Departs from it: damages are of a whole corpus, so that variety can be damaged, too, and each has a strength.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import UNK, Vocabulary
from textassay.corpus.tokenizer import join_tokens
from textassay.errors import OptionError, TooFewSentencesError, check_range, unknown_name
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_Change = Callable[[Corpus, Corpus, float, np.random.Generator], Corpus]

N_FEW = 10  # different sentences of a collapsed generator
CONTROL = "nothing"
SOURCES = ("train", "other", "reference", "spare")  # what a damage may take sentences from
_WINDOW = 3
_TILT = 1.5  # the power of the frequency of words
_FRAGMENT = 4  # words of a fragment, of a phrase that is said again
_FULL_STOP = "."
_OF_TWO_WORDS = ("drop-words", "swap-neighbours", "shuffle-nearby", "shuffle-words", "truncate")


@dataclass(frozen=True)
class Damage:
    """One way to damage text."""

    name: str
    summary: str  # A sentence on what happens to the share s
    # Unit of the share s: "words", "pairs" (of neighbouring words, each word in at most one pair) or "sentences"
    unit: str
    source: str | None  # Text that it takes sentences from, one of `SOURCES`, if any
    change: _Change


def damage(corpus: Corpus, name: str, strength: float, *, source: Corpus | None = None, seed: int = 0) -> Corpus:
    """Return `corpus` with one kind of damage.

    `corpus`: real text, at least one sentence; for ``lowercase`` and ``glue-full-stop`` from `prepare_corpora`.
    """
    if name not in DAMAGES:
        raise unknown_name("damage", name, DAMAGES)
    check_range("strength", strength, 0, 1)
    plain = replace(corpus, groups=None, columns={})
    if strength == 0:
        return plain
    chosen = DAMAGES[name]
    if chosen.source is not None and (source is None or source.vocabulary is not corpus.vocabulary):
        problem = "is missing" if source is None else "has another vocabulary; make all with corpora_from_texts"
        raise OptionError(f"{name} takes sentences from the text '{chosen.source}', which {problem}")
    reason = obstacle(corpus, name, strength, source=source)
    if reason is not None:
        raise TooFewSentencesError(f"{name}: {reason}")
    material = plain if source is None else replace(source, groups=None, columns={})
    return chosen.change(plain, material, strength, stream(seed, "damage", name))


def obstacle(corpus: Corpus, name: str, strength: float, *, source: Corpus | None = None) -> str | None:
    """Return why `corpus` cannot be damaged in this way up to `strength`, or None where it can."""
    if name == "lowercase" and not _has_capitals(corpus).any():
        return "the text has no upper case"
    if name == "glue-full-stop" and not _ends_in_full_stop(corpus).any():
        return "no sentence ends in a full stop that is a token of its own"
    if name in _OF_TWO_WORDS and not (corpus.lengths > 1).any():
        return "no sentence has two words"
    if len(corpus.tokens) == 0:
        return "the text has no word"
    if name == "looped-phrases" and not (corpus.lengths > _FRAGMENT).any():
        return f"no sentence has more than {_FRAGMENT} words"
    if name == "collapse" and len(corpus) <= N_FEW:
        return f"it needs more than {N_FEW} sentences, got {len(corpus)}"
    if name == "duplicate" and len(corpus) < 2:
        return f"it needs at least 2 sentences, got {len(corpus)}"
    if DAMAGES[name].source is None or source is None:
        return None
    needed = N_FEW if name == "copy-few" else _count(strength, len(corpus))
    if len(source) >= needed:
        return None
    return f"it needs {needed} different sentences of the text '{DAMAGES[name].source}', got {len(source)}"


def prepare_corpora(corpora: Mapping[str, Corpus]) -> dict[str, Corpus]:
    """Return corpora that allow every damage: with a larger vocabulary, and texts rebuilt from the tokens."""
    known = next(iter(corpora.values())).vocabulary
    glued: dict[str, None] = {}
    for corpus in corpora.values():
        ends = corpus.offsets[1:][_ends_in_full_stop(corpus)]
        glued.update(dict.fromkeys(token + _FULL_STOP for token in known.decode(np.unique(corpus.tokens[ends - 2]))))
    wide = Vocabulary([*known.tokens, *(token.lower() for token in known.tokens), *glued])
    prepared = {}
    for name, corpus in corpora.items():
        same = replace(corpus.with_vocabulary(wide), groups=None, columns={})
        prepared[name] = replace(same, texts=_joined(same, np.arange(len(same))))
    return prepared


def _count(share: float, n: int) -> int:
    """Return the share of `n` units, rounded, halves up."""
    return math.floor(share * n + 0.5)


def _some(share: float, able: BoolArray, rng: np.random.Generator) -> BoolArray:
    """Return a random mask of the share of the `able` units; a smaller share is part of a larger one."""
    places = rng.permutation(np.flatnonzero(able))
    mask = np.zeros(len(able), dtype=np.bool_)
    mask[places[: _count(share, len(places))]] = True
    return mask


def _positions(corpus: Corpus) -> tuple[IntArray, IntArray]:
    """Return the sentence number of each token and its position there, shapes (T,)."""
    sentence = np.repeat(np.arange(len(corpus)), corpus.lengths)
    return sentence, np.arange(len(corpus.tokens)) - corpus.offsets[:-1][sentence]


def _joined(corpus: Corpus, sentences: IntArray) -> tuple[str, ...]:
    """Return the texts of some sentences, rebuilt from their tokens."""
    part = corpus if len(sentences) == len(corpus) else corpus.take(sentences)
    words = part.vocabulary.decode(part.tokens)
    return tuple(join_tokens(part.tokenizer, words[a:b]) for a, b in pairwise(part.offsets.tolist()))


def _rebuilt(corpus: Corpus, tokens: npt.NDArray[np.int32], lengths: IntArray, changed: BoolArray) -> Corpus:
    """Return a corpus with new tokens; sentences that are not `changed`, shape (N,), keep their texts."""
    texts = list(corpus.texts)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    rebuilt = Corpus(tokens, offsets, corpus.vocabulary, texts, tokenizer=corpus.tokenizer)
    places = np.flatnonzero(changed)
    for place, text in zip(places.tolist(), _joined(rebuilt, places), strict=True):
        texts[place] = text
    return replace(rebuilt, texts=tuple(texts))


def _with_tokens(corpus: Corpus, tokens: npt.NDArray[np.int32]) -> Corpus:
    """Return the corpus with new tokens, as many in each sentence."""
    changed = np.zeros(len(corpus), dtype=np.bool_)
    changed[_positions(corpus)[0][tokens != corpus.tokens]] = True
    return _rebuilt(corpus, tokens, corpus.lengths, changed)


def _with_texts(corpus: Corpus, source: Corpus, places: IntArray, numbers: IntArray) -> Corpus:
    """Return the corpus with the sentences at `places` replaced by those of `source` with these `numbers`."""
    taken = np.arange(len(corpus))
    taken[places] = len(corpus) + numbers
    return Corpus.concatenate([corpus, source]).take(taken)


def _drop_words(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    sentence, _place = _positions(corpus)
    order = rng.permutation(len(sentence))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    last = np.full(len(corpus), -1)
    np.maximum.at(last, sentence, rank)  # the last remaining word of each sentence stays
    going = order[rank[order] != last[sentence[order]]][: _count(share, len(order))]
    kept = np.ones(len(order), dtype=np.bool_)
    kept[going] = False
    lengths = np.bincount(sentence[kept], minlength=len(corpus))
    return _rebuilt(corpus, corpus.tokens[kept], lengths, lengths != corpus.lengths)


def _repeat_words(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    sentence, _place = _positions(corpus)
    times = 1 + _some(share, np.ones(len(sentence), dtype=np.bool_), rng)
    lengths = np.bincount(sentence, weights=times, minlength=len(corpus)).astype(np.int64)
    return _rebuilt(corpus, np.repeat(corpus.tokens, times), lengths, lengths != corpus.lengths)


def _shuffle(corpus: Corpus, share: float, rng: np.random.Generator, window: int | None) -> Corpus:
    """Put words of some sentences in random order: within runs of `window` neighbours, or within the sentence."""
    sentence, place = _positions(corpus)
    chosen = _some(share, corpus.lengths > 1, rng)[sentence]
    start = rng.integers(1 << 30, size=len(corpus))[sentence]
    run = np.zeros(len(place), dtype=np.int64) if window is None else (place + start % window) // window
    order = np.lexsort((rng.random(len(place)), run, sentence))
    return _with_tokens(corpus, np.where(chosen, corpus.tokens[order], corpus.tokens))


def _shuffle_words(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    return _shuffle(corpus, share, rng, None)


def _shuffle_nearby(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    return _shuffle(corpus, share, rng, _WINDOW)


def _swap_neighbours(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    sentence, place = _positions(corpus)
    lengths = corpus.lengths[sentence]
    first = rng.integers(2, size=len(corpus))[sentence] * (lengths > 2)
    pairs = (place >= first) & ((place - first) % 2 == 0) & (place + 1 < lengths)
    swapped = np.flatnonzero(_some(share, pairs, rng))
    tokens = corpus.tokens.copy()
    tokens[swapped], tokens[swapped + 1] = corpus.tokens[swapped + 1], corpus.tokens[swapped]
    return _with_tokens(corpus, tokens)


def _truncate(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    sentence, place = _positions(corpus)
    chosen = _some(share, corpus.lengths > 1, rng)
    cut = 1 + np.floor(rng.random(len(corpus)) * (corpus.lengths - 1)).astype(np.int64)
    lengths = np.where(chosen, cut, corpus.lengths)
    return _rebuilt(corpus, corpus.tokens[place < lengths[sentence]], lengths, chosen)


def _unknown_words(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    chosen = _some(share, np.ones(len(corpus.tokens), dtype=np.bool_), rng)
    return _with_tokens(corpus, np.where(chosen, np.int32(UNK), corpus.tokens))


def _random_words(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    chosen = _some(share, np.ones(len(corpus.tokens), dtype=np.bool_), rng)
    drawn = corpus.tokens[rng.integers(len(corpus.tokens), size=len(corpus.tokens))]
    return _with_tokens(corpus, np.where(chosen, drawn, corpus.tokens))


def _tilted_words(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    """Draw each word of some sentences by itself, frequent words more often than real text has them."""
    counts = np.bincount(corpus.tokens).astype(np.float64) ** _TILT
    drawn = rng.choice(len(counts), size=len(corpus.tokens), p=counts / counts.sum()).astype(np.int32)
    chosen = _some(share, np.ones(len(corpus), dtype=np.bool_), rng)[_positions(corpus)[0]]
    return _with_tokens(corpus, np.where(chosen, drawn, corpus.tokens))


def _spliced_fragments(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    """Let each run of a few words of some sentences be one of another place of the text."""
    sentence, place = _positions(corpus)
    starts = rng.integers(max(1, len(sentence) - _FRAGMENT + 1), size=len(sentence))  # of the run that begins there
    first = np.arange(len(sentence)) - place % _FRAGMENT
    spliced = corpus.tokens[np.minimum(starts[first] + place % _FRAGMENT, len(sentence) - 1)]
    chosen = _some(share, np.ones(len(corpus), dtype=np.bool_), rng)[sentence]
    return _with_tokens(corpus, np.where(chosen, spliced, corpus.tokens))


def _looped_phrases(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    """Let some sentences say their first words again and again."""
    sentence, place = _positions(corpus)
    looped = corpus.tokens[corpus.offsets[:-1][sentence] + place % _FRAGMENT]
    chosen = _some(share, corpus.lengths > _FRAGMENT, rng)[sentence]
    return _with_tokens(corpus, np.where(chosen, looped, corpus.tokens))


def _lowercase(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    chosen = _some(share, _has_capitals(corpus), rng)[_positions(corpus)[0]]
    return _with_tokens(corpus, np.where(chosen, _lower(corpus)[corpus.tokens], corpus.tokens))


def _glue_full_stop(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    chosen = _some(share, _ends_in_full_stop(corpus), rng)
    ends = corpus.offsets[1:][chosen]
    types, which = np.unique(corpus.tokens[ends - 2], return_inverse=True)
    tokens = corpus.tokens.copy()
    glued = [token + _FULL_STOP for token in corpus.vocabulary.decode(types)]
    if not all(token in corpus.vocabulary for token in glued):
        raise OptionError("glue-full-stop needs a corpus from prepare_corpora")
    tokens[ends - 2] = corpus.vocabulary.encode(glued)[which.reshape(-1)]
    return _rebuilt(corpus, np.delete(tokens, ends - 1), corpus.lengths - chosen, chosen)


def _collapse(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    order = rng.permutation(len(corpus))
    replaced, few = order[: min(_count(share, len(order)), len(order) - N_FEW)], order[-N_FEW:]
    return _with_texts(corpus, corpus, replaced, few[np.arange(len(replaced)) % N_FEW])


def _duplicate(corpus: Corpus, _: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    order = rng.permutation(len(corpus))
    n = min(_count(share, len(order)), len(order) - 1)
    return _with_texts(corpus, corpus, order[:n], order[n:][np.arange(n) % (len(order) - n)])


def _from_source(corpus: Corpus, source: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    places = rng.permutation(len(corpus))[: _count(share, len(corpus))]
    return _with_texts(corpus, source, places, rng.permutation(len(source))[: len(places)])


def _copy_few(corpus: Corpus, source: Corpus, share: float, rng: np.random.Generator) -> Corpus:
    places = rng.permutation(len(corpus))[: _count(share, len(corpus))]
    few = rng.permutation(len(source))[:N_FEW]
    return _with_texts(corpus, source, places, few[np.arange(len(places)) % N_FEW])


def _has_capitals(corpus: Corpus) -> BoolArray:
    """Return which sentences have a token that lower case changes, shape (N,)."""
    tokens = np.unique(corpus.tokens)
    upper = np.zeros(len(corpus.vocabulary), dtype=np.bool_)
    upper[tokens] = [token != token.lower() for token in corpus.vocabulary.decode(tokens)]
    capitals: BoolArray = np.bincount(_positions(corpus)[0][upper[corpus.tokens]], minlength=len(corpus)) > 0
    return capitals


def _lower(corpus: Corpus) -> npt.NDArray[np.int32]:
    """Return the id of the lower case of each token of the corpus, shape (V,); other tokens stay."""
    used = np.unique(corpus.tokens)
    lower = [token.lower() for token in corpus.vocabulary.decode(used)]
    if not all(token in corpus.vocabulary for token in lower):
        raise OptionError("lowercase needs a corpus from prepare_corpora")
    table = np.arange(len(corpus.vocabulary), dtype=np.int32)
    table[used] = corpus.vocabulary.encode(lower)
    return table


def _ends_in_full_stop(corpus: Corpus) -> BoolArray:
    """Return which sentences end in a word and a full stop that is a token of its own, shape (N,)."""
    mask = np.zeros(len(corpus), dtype=np.bool_)
    if _FULL_STOP in corpus.vocabulary and corpus.separator == " ":
        long = np.flatnonzero(corpus.lengths > 1)
        mask[long] = corpus.tokens[corpus.offsets[1:][long] - 1] == corpus.vocabulary.encode([_FULL_STOP])[0]
    return mask


def _all(*damages: tuple[str, str, str, str | None, _Change]) -> Mapping[str, Damage]:
    return {entry[0]: Damage(*entry) for entry in damages}


DAMAGES: Mapping[str, Damage] = _all(
    (
        CONTROL,
        "Sentences are replaced by other real ones: no damage, and no metric should see any.",
        "sentences",
        "spare",
        _from_source,
    ),
    ("drop-words", "Words are left out.", "words", None, _drop_words),
    ("repeat-words", "Words are written twice in a row.", "words", None, _repeat_words),
    ("random-words", "Words are replaced by random words of the text.", "words", None, _random_words),
    (
        "tilted-words",
        "Sentences are words drawn by themselves, frequent ones too often.",
        "sentences",
        None,
        _tilted_words,
    ),
    (
        "spliced-fragments",
        f"Sentences are fragments of {_FRAGMENT} words of other places.",
        "sentences",
        None,
        _spliced_fragments,
    ),
    (
        "looped-phrases",
        f"Sentences say their first {_FRAGMENT} words again and again.",
        "sentences",
        None,
        _looped_phrases,
    ),
    ("unknown-words", "Words are replaced by <unk>.", "words", None, _unknown_words),
    ("swap-neighbours", "Neighbouring words change places.", "pairs", None, _swap_neighbours),
    ("shuffle-nearby", "Sentences have each run of three words in random order.", "sentences", None, _shuffle_nearby),
    ("shuffle-words", "Sentences have all words in random order.", "sentences", None, _shuffle_words),
    ("truncate", "Sentences are cut off at a random place.", "sentences", None, _truncate),
    ("lowercase", "Sentences with upper case lose it.", "sentences", None, _lowercase),
    ("glue-full-stop", "Sentences have the full stop glued to the last word.", "sentences", None, _glue_full_stop),
    ("collapse", f"Sentences are replaced by {N_FEW} of the same text.", "sentences", None, _collapse),
    ("duplicate", "Sentences are replaced by copies of the others.", "sentences", None, _duplicate),
    ("copy-few", f"Sentences are replaced by {N_FEW} training sentences.", "sentences", "train", _copy_few),
    ("copy-train", "Sentences are replaced by different training sentences.", "sentences", "train", _from_source),
    ("copy-reference", "Sentences are copied from the reference.", "sentences", "reference", _from_source),
    ("other-text", "Sentences are replaced by those of another text.", "sentences", "other", _from_source),
)
