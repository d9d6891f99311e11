"""Columns of answers beside their prompts: shared words, associations of words, and other answers to the same prompt.

Five things tell a model's answer that its words alone do not. *Overlap*: how much of the prompt an answer takes up.
*Association*: which words of an answer go with which words of a prompt, by a lexical translation model of each side
(`Association`). *Other answers*: how likely an answer is under the other real and the other generated answers to the
same prompt, which are shown with their labels. *Likeness*: how an answer fits prompt and other answers in a space of
style and subject (`Likeness`). *Kinds*: the same by kinds of answers, found without labels (`Kinds`).

A judge may be shown other answers, since they are drawn independently of the one that it judges: what it finds is still
at most the total variation. For that, answers of both sides must see equally many others of each side, so that one
answer of the other side, drawn at random, is hidden from each (`Prompted.hidden`): with m real and n generated ones,
everybody sees m - 1 and n - 1.

Sources: Brown et al., "The Mathematics of Statistical Machine Translation", Computational Linguistics 19, 1993 (model 1
and its EM algorithm); Zhai and Lafferty, "A Study of Smoothing Methods for Language Models", TOIS 22, 2004 (Dirichlet
smoothing of the other answers); Ioffe, "Probabilistic Linear Discriminant Analysis", ECCV 2006 (means within and
between, diagonalised together). Departs from them: word probabilities of model 1 shrink to those of all answers; the
mean of Ioffe's model depends on the prompt, and its predictive densities are columns of a classifier.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD

from textassay.corpus.corpus import Corpus
from textassay.errors import InputError, TooFewSentencesError
from textassay.ngram.model import NgramModel
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_PROMPT_WORDS = 32  # the rarest words of a prompt that associations look at
_ITERATIONS = 4  # of EM
_BACKGROUND = 0.5  # share of an answer's words that do not come from the prompt
_SHRINKAGE = 4.0  # words of a prompt's word that count as drawn from all answers
_STRENGTHS = (10.0, 100.0)  # of the Dirichlet smoothing of other answers, in words
_HALF = 0.5  # added to counts of words

LIKENESS_COLUMNS = (
    "fits the prompt, real over generated", "fits prompt and other answers, real over generated",
    "fits the other answers, both sides together",
)  # fmt: skip
_N_SUBJECTS = 32
_RIDGE = 10.0  # prompts that say nothing, by which the linear function is held back
_FLOOR = 1e-3  # of variances, relative to the mean one
_MOST = 20.0  # nats, of one answer

KIND_COLUMNS = (
    "of the kind of other answers, real over generated", "of the kind of prompt and other answers, real over generated",
)  # fmt: skip
_N_KINDS = 4
_N_DIRECTIONS = 8  # of the vectors, those in which prompts differ most
_ORDER = 2  # of the language models
_STARTS = 3  # of the clustering
_MOVES = 2  # of one half of the prompts each, by models of the other half
_EVIDENCE = 0.5  # words of a text are less independent than a model of pairs takes them to be


@dataclass(frozen=True, eq=False)
class Words:
    """Which words texts have: one entry for each text and word, in order of texts."""

    text: IntArray
    word: IntArray
    count: FloatArray
    n_texts: int

    @classmethod
    def of(cls, corpora: Sequence[Corpus]) -> "Words":
        """Return the words of the texts of all corpora, numbered one corpus after another."""
        n_words = len(corpora[0].vocabulary)
        lengths = np.concatenate([corpus.lengths for corpus in corpora])
        tokens = np.concatenate([corpus.tokens for corpus in corpora]).astype(np.int64)
        keys, counts = np.unique(np.repeat(np.arange(len(lengths)), lengths) * n_words + tokens, return_counts=True)
        return cls(keys // n_words, keys % n_words, counts.astype(np.float64), len(lengths))

    def take(self, texts: IntArray) -> "Words":
        """Return the words of some texts, in rising order, numbered anew."""
        entries = _entries(self.text, texts, self.n_texts)
        text = np.searchsorted(texts, self.text[entries])
        return Words(text, self.word[entries], self.count[entries], len(texts))

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of `values`, one an entry, over each text, shape (n_texts,)."""
        return _sums(self.text, values, self.n_texts)

    @cached_property
    def lengths(self) -> FloatArray:
        """Tokens of each text, shape (n_texts,)."""
        return self.sums(self.count)


@dataclass(frozen=True, eq=False)
class Prompted:
    """Answers of both sides to the same prompts, real ones first, and what is computed of them once."""

    ids: IntArray  # group numbers of the prompts, shape (n_prompts,)
    prompts: Corpus
    sides: tuple[Corpus, Corpus]  # real and generated
    prompt: IntArray  # number of each answer's prompt, shape (n,)
    hidden: IntArray  # for each answer one of the other side to the same prompt, drawn at random
    words: Words
    prompt_words: Words
    pairs: "Pairs"  # of a prompt's and an answer's word

    @classmethod
    def of(cls, prompts: Corpus, real: Corpus, generated: Corpus, *, seed: int) -> "Prompted":
        """Take prompts and answers whose group numbers say which prompt they answer; answers to others are left out.

        `prompts`: each once, with its group number. All share a vocabulary.
        """
        if prompts.groups is None or real.groups is None or generated.groups is None:
            raise InputError("prompts and answers must have group numbers, which assign each answer to its prompt")
        groups = real.groups, generated.groups
        shared = np.intersect1d(np.intersect1d(*groups), prompts.groups)
        if not len(shared):
            raise TooFewSentencesError(
                "no prompt has answers on both sides: real and generated text must answer the same prompts"
            )
        rows = [np.flatnonzero(np.isin(of_side, shared)) for of_side in groups]
        sides = [
            side if len(kept) == len(side) else side.take(kept)
            for side, kept in zip((real, generated), rows, strict=True)
        ]
        asked = prompts.take(_places(prompts.groups, shared))
        of_sides = [np.searchsorted(shared, of_side[kept]) for of_side, kept in zip(groups, rows, strict=True)]
        prompt, words, prompt_words = np.concatenate(of_sides), Words.of(sides), Words.of([asked])
        pairs = Pairs.of(words, prompt_words, prompt, len(prompts.vocabulary))
        hidden = _hidden(of_sides[0], of_sides[1], len(shared), seed)
        return cls(shared, asked, (sides[0], sides[1]), prompt, hidden, words, prompt_words, pairs)

    def part(self, prompts: IntArray) -> "Prompted":
        """Return some prompts, in rising order, with all answers to them."""
        rows = np.flatnonzero(np.isin(self.prompt, prompts))
        n_real = len(self.sides[0])
        real = rows[rows < n_real]
        entries = _entries(self.words.text, rows, len(self))
        return Prompted(
            self.ids[prompts],
            self.prompts.take(prompts),
            (self.sides[0].take(real), self.sides[1].take(rows[len(real) :] - n_real)),
            np.searchsorted(prompts, self.prompt[rows]),
            np.searchsorted(rows, self.hidden[rows]),
            self.words.take(rows),
            self.prompt_words.take(prompts),
            self.pairs.take(entries, len(self.words.text), prompts),
        )

    @cached_property
    def is_real(self) -> Mask:
        return np.repeat([True, False], [len(side) for side in self.sides])

    def __len__(self) -> int:
        return len(self.prompt)

    @property
    def n_prompts(self) -> int:
        """How many prompts have answers on both sides."""
        return len(self.ids)

    @cached_property
    def sizes(self) -> tuple[IntArray, IntArray]:
        """Real and generated answers of each prompt, shapes (n_prompts,)."""
        real, generated = (np.bincount(self.prompt[self.is_real == side], minlength=self.n_prompts) for side in (1, 0))
        return real, generated

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the answers by which each prompt and side weighs the same, mean 1."""
        own = np.where(self.is_real, self.sizes[0][self.prompt], self.sizes[1][self.prompt])
        return np.asarray(len(self) / (2 * self.n_prompts * own), dtype=np.float64)

    @cached_property
    def _seen(self) -> tuple[FloatArray, FloatArray]:
        """How often other real and other generated answers to the prompt have each word of an answer."""
        words, n_words = self.words, len(self.prompts.vocabulary)
        in_prompt = self.prompt[words.text] * n_words + words.word
        keys, where = np.unique(in_prompt, return_inverse=True)
        real = self.is_real[words.text]
        totals = [_sums(where, words.count * (real == side), len(keys)) for side in (True, False)]
        of_texts = words.text * n_words + words.word
        wanted = self.hidden[words.text] * n_words + words.word
        places = np.searchsorted(of_texts, wanted).clip(max=len(of_texts) - 1)
        of_hidden = np.where(of_texts[places] == wanted, words.count[places], 0.0)
        lost = np.where(real, words.count, of_hidden), np.where(real, of_hidden, words.count)
        return totals[0][where] - lost[0], totals[1][where] - lost[1]

    @cached_property
    def n_seen(self) -> tuple[IntArray, IntArray]:
        """How many other real and other generated answers to its prompt an answer sees, shapes (n,)."""
        return self.sizes[0][self.prompt] - 1, self.sizes[1][self.prompt] - 1

    def sums_seen(self, values: FloatArray, side: bool) -> FloatArray:
        """Return the sum of `values` (n, d) over the other answers of a side that each answer sees, shape (n, d)."""
        mine = self.is_real == side
        own = np.where(mine[:, None], values, values[self.hidden])
        return row_sums(self.prompt[mine], values[mine], self.n_prompts)[self.prompt] - own

    @cached_property
    def unit(self) -> IntArray:
        """A number for each prompt and side, shape (n,)."""
        return np.asarray(2 * self.prompt + self.is_real)

    @cached_property
    def _seen_tokens(self) -> tuple[FloatArray, FloatArray]:
        lengths = self.words.lengths[:, None]
        return self.sums_seen(lengths, True)[:, 0], self.sums_seen(lengths, False)[:, 0]

    @cached_property
    def in_prompt(self) -> Mask:
        """Whether each word of an answer stands in its prompt, one an entry of `words`."""
        n_words = len(self.prompts.vocabulary)
        of_prompts = self.prompt_words.text * n_words + self.prompt_words.word
        return np.isin(self.prompt[self.words.text] * n_words + self.words.word, of_prompts)

    @cached_property
    def marks(self) -> FloatArray:
        """Length of each word of the vocabulary, whether it has no letter, and whether it begins with a capital."""
        words = self.prompts.vocabulary.tokens
        marks = [(len(word), not any(map(str.isalpha, word)), word[:1].isupper()) for word in words]
        return np.array(marks, dtype=np.float64).reshape(len(words), 3)

    def differences(self, called_real: Mask) -> FloatArray:
        """Return of each prompt the share of real answers that are called real, less that of generated ones."""
        shares = [
            _sums(self.prompt, called_real * (self.is_real == side), self.n_prompts) / size
            for side, size in zip((True, False), self.sizes, strict=True)
        ]
        return np.asarray(shares[0] - shares[1])

    def columns(self, background: "Background") -> list[FloatArray]:
        """Return the columns of all answers that need no more than how frequent words are."""
        return [*self._overlap(background), *self._others(background), *self._vectors(background)]

    def _overlap(self, background: "Background") -> list[FloatArray]:
        words, rarity = self.words, background.rarity
        shared = words.count * self.in_prompt
        length, prompt_length = words.lengths, self.prompt_words.lengths[self.prompt]
        weight = words.count * rarity[words.word]
        of_prompt = self.prompt_words.sums(rarity[self.prompt_words.word])[self.prompt]
        taken = words.sums(rarity[words.word] * self.in_prompt)
        return [
            words.sums(shared) / np.maximum(length, 1),
            words.sums(weight * self.in_prompt) / np.maximum(words.sums(weight), 1e-9),
            taken / np.maximum(of_prompt, 1e-9),
            np.log1p(length),
            np.log1p(length) - np.log1p(prompt_length),
            *self._edges(),
        ]

    def _edges(self) -> list[FloatArray]:
        """Return whether an answer begins with the first or the last word of its prompt."""
        first, last = _edge_words(self.prompts)
        opening = np.concatenate([_edge_words(side)[0] for side in self.sides])
        return [(opening == edge[self.prompt]) & (opening >= 0) for edge in (first, last)]

    def _others(self, background: "Background") -> list[FloatArray]:
        """Return how much likelier an answer is under other real answers than under other generated ones."""
        words, share, columns = self.words, background.share[self.words.word], []
        length = np.maximum(words.lengths, 1)
        for strength in _STRENGTHS:
            logs = [
                np.log((seen + strength * share) / (tokens[words.text] + strength))
                for seen, tokens in zip(self._seen, self._seen_tokens, strict=True)
            ]
            ratio = words.sums(words.count * (logs[0] - logs[1]))
            columns += [ratio, ratio / length]
        for seen in self._seen:
            columns.append(words.sums(words.count * (seen > 0)) / length)
        for tokens, n in zip(self._seen_tokens, self.n_seen, strict=True):
            usual = np.where(n > 0, tokens / np.maximum(n, 1), length)
            columns.append(np.abs(np.log1p(length) - np.log1p(usual)))
        return columns

    def _vectors(self, background: "Background") -> list[FloatArray]:
        """Return the mean cosine with the other real and the other generated answers, and their difference."""
        words = self.words
        values = (1 + np.log(words.count)) * background.rarity[words.word]
        norms = np.sqrt(words.sums(values**2))
        values = values / np.maximum(norms, 1e-9)[words.text]
        shape = len(self), len(background.rarity)
        starts = np.searchsorted(words.text, np.arange(len(self) + 1))
        rows = csr_matrix((values, words.word, starts), shape=shape)
        with_hidden = np.asarray(rows.multiply(rows[self.hidden]).sum(axis=1)).ravel()
        with_self = (norms > 0).astype(np.float64)
        means = []
        for side, n in zip((True, False), self.n_seen, strict=True):
            mine = np.flatnonzero(self.is_real == side)
            ones = np.ones(len(mine)), (self.prompt[mine], np.arange(len(mine)))
            sums = csr_matrix(ones, shape=(self.n_prompts, len(mine))) @ rows[mine]
            dots = np.asarray(rows.multiply(sums[self.prompt]).sum(axis=1)).ravel()
            seen = dots - np.where(self.is_real == side, with_self, with_hidden)
            means.append(np.where(n > 0, seen / np.maximum(n, 1), 0.0))
        return [*means, means[0] - means[1]]


PROMPT_COLUMNS = (
    "share of its words in the prompt", "share of its rare words in the prompt", "share of the prompt's words taken up",
    "log length", "log length over the prompt's", "begins with the prompt's first word",
    "begins with the prompt's last word", "other answers, real over generated (10)", "the same per word (10)",
    "other answers, real over generated (100)", "the same per word (100)", "share of its words in other real answers",
    "share of its words in other generated answers", "length unlike other real answers",
    "length unlike other generated answers", "cosine with other real answers", "cosine with other generated answers",
    "difference of cosines", "goes on from the prompt's last word", "association, real over generated",
    "association, per word", "association of both, per word",
)  # fmt: skip


@dataclass(frozen=True)
class Background:
    """How frequent words are in the answers and prompts that are learnt from."""

    share: FloatArray  # of each word among the tokens of answers, above 0
    rarity: FloatArray  # log of the inverse share of texts that have it, at least 0

    @classmethod
    def of(cls, texts: Prompted, train: Mask) -> "Background":
        """Return those of the training answers; each side weighs as its tokens."""
        words, n_words = texts.words, len(texts.prompts.vocabulary)
        learnt = train[words.text]
        counts = np.bincount(words.word, weights=words.count * learnt, minlength=n_words)
        n_types = int(np.count_nonzero(counts))
        share = (counts + _HALF) / (counts.sum() + _HALF * (n_types + 1))
        documents = np.bincount(words.word, weights=learnt.astype(np.float64), minlength=n_words)
        rarity = np.log((1 + np.count_nonzero(train)) / (1 + documents))
        return cls(share, np.maximum(rarity, 0.0))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Entries for each answer, word of it, and word of its prompt."""

    entry: IntArray  # of `Prompted.words`
    key: IntArray  # number of the pair of words
    prompt_word: IntArray  # of the pair, shape (n_keys,)
    answer_word: IntArray
    words: IntArray  # of each prompt, one prompt after another
    starts: IntArray  # shape (n_prompts + 1,)

    @classmethod
    def of(cls, words: Words, of_prompts: Words, prompt: IntArray, n_words: int) -> "Pairs":
        """Return those of all answers. A word that stands in one prompt, or in answers to one, is in none of them.

        What such a word goes with cannot have been learnt from another prompt.
        """
        n_prompts_with = np.bincount(of_prompts.word, minlength=n_words)
        in_prompts = np.unique(prompt[words.text] * n_words + words.word)
        n_answered_with = np.bincount(in_prompts % n_words, minlength=n_words)
        kept = np.flatnonzero(n_prompts_with[of_prompts.word] > 1)
        order = kept[np.lexsort((n_prompts_with[of_prompts.word[kept]], of_prompts.text[kept]))]
        rank = np.arange(len(order)) - np.searchsorted(of_prompts.text[order], of_prompts.text[order])
        order = order[rank < MOST_PROMPT_WORDS]
        chosen = of_prompts.word[order]
        starts = np.searchsorted(of_prompts.text[order], np.arange(of_prompts.n_texts + 1))
        entries = np.flatnonzero(n_answered_with[words.word] > 1)
        of_entry = prompt[words.text[entries]]
        n_each = np.diff(starts)[of_entry]
        places = np.repeat(starts[of_entry] - np.cumsum(n_each) + n_each, n_each) + np.arange(int(n_each.sum()))
        entry = np.repeat(entries, n_each)
        keys, key = np.unique(chosen[places] * n_words + words.word[entry], return_inverse=True)
        return cls(entry, key, keys // n_words, keys % n_words, chosen, starts)

    def take(self, entries: IntArray, n_entries: int, prompts: IntArray) -> "Pairs":
        """Return those of some of `n_entries` entries and of some prompts, numbered anew; pairs keep their numbers."""
        mine = _entries(self.entry, entries, n_entries)
        sizes = np.diff(self.starts)
        words = self.words[np.isin(np.repeat(np.arange(len(sizes)), sizes), prompts)]
        starts = np.concatenate([[0], np.cumsum(sizes[prompts])])
        entry = np.searchsorted(entries, self.entry[mine])
        return Pairs(entry, self.key[mine], self.prompt_word, self.answer_word, words, starts)


class Association:
    """Which words go with which: model 1 of both sides, and the words that follow one another in any text."""

    def __init__(self, texts: Prompted, train: Mask, background: Background) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        self._share = background.share
        self._counts = [self._learn(texts, train & side) for side in (texts.is_real, ~texts.is_real)]
        asked = np.zeros(texts.n_prompts, dtype=np.bool_)
        asked[texts.prompt[train]] = True
        masks = *np.split(train, [len(texts.sides[0])]), asked
        follows = [_bigrams(corpus, mask) for corpus, mask in zip((*texts.sides, texts.prompts), masks, strict=True)]
        self._bigrams, self._n_bigrams = np.unique(np.concatenate(follows), return_counts=True)
        self._n_befores = np.bincount(np.concatenate(follows) // len(self._share), minlength=len(self._share))

    def _learn(self, texts: Prompted, train: Mask) -> tuple[FloatArray, FloatArray]:
        """Return how often each pair of words goes together, and the total of each prompt's word."""
        pairs, words = texts.pairs, texts.words
        used = train[words.text[pairs.entry]]
        key = pairs.key[used]
        starts = np.flatnonzero(np.diff(pairs.entry[used], prepend=-1))  # of the pairs of an entry
        n_pairs = np.diff(starts, append=len(key))
        entry = pairs.entry[used][starts]
        share, count = self._share[words.word[entry]], words.count[entry]
        n_beside = np.diff(pairs.starts)[texts.prompt[words.text[entry]]]
        weight = (1 - _BACKGROUND) / n_beside
        together = _sums(key, np.repeat(count, n_pairs), len(pairs.prompt_word))
        for _ in range(_ITERATIONS):
            own = self._given_word(pairs, together)[key]
            likely = weight * np.add.reduceat(own, starts) + _BACKGROUND * share if len(own) else own
            together = _sums(key, own * np.repeat(count * weight / likely, n_pairs), len(pairs.prompt_word))
        return together, _sums(pairs.prompt_word, together, len(self._share))

    def _given_word(self, pairs: Pairs, together: FloatArray) -> FloatArray:
        """Return the probability of an answer's word given a prompt's, one a pair."""
        totals = _sums(pairs.prompt_word, together, len(self._share))
        share = self._share[pairs.answer_word]
        return np.asarray((together + _SHRINKAGE * share) / (totals[pairs.prompt_word] + _SHRINKAGE))

    def _log_probs(self, texts: Prompted, together: FloatArray, totals: FloatArray) -> FloatArray:
        """Return the log-probability of each word of an answer given its prompt, one an entry of `Prompted.words`."""
        pairs, words = texts.pairs, texts.words
        n_words = np.diff(pairs.starts)
        n_beside = np.maximum(n_words, 1)
        known = together[pairs.key] / (totals[pairs.prompt_word[pairs.key]] + _SHRINKAGE)
        from_words = np.bincount(pairs.entry, weights=known, minlength=len(words.text))
        rests = np.concatenate([[0.0], np.cumsum(_SHRINKAGE / (totals[pairs.words] + _SHRINKAGE))])
        of_prompt = np.where(n_words > 0, np.diff(rests[pairs.starts]) / n_beside, 1.0)
        prompt = texts.prompt[words.text]
        share = self._share[words.word]
        given = from_words / n_beside[prompt] + share * of_prompt[prompt]
        return np.asarray(np.log((1 - _BACKGROUND) * given + _BACKGROUND * share))

    def columns(self, texts: Prompted) -> list[FloatArray]:
        """Return the columns of answers: how they go on, and how much likelier they are by the model of real ones."""
        words = texts.words
        length = np.maximum(words.lengths, 1)
        logs = [self._log_probs(texts, *counts) for counts in self._counts]
        both = self._log_probs(texts, *(sum(parts) for parts in zip(*self._counts, strict=True)))
        ratio = words.sums(words.count * (logs[0] - logs[1]))
        gain = words.sums(words.count * (both - np.log(self._share[words.word])))
        return [self._goes_on(texts), ratio, ratio / length, gain / length]

    def _goes_on(self, texts: Prompted) -> FloatArray:
        """Return how much likelier the first word of an answer is after the last word of its prompt than anywhere."""
        last = _edge_words(texts.prompts)[1][texts.prompt]
        first = np.concatenate([_edge_words(side)[0] for side in texts.sides])
        known = (first >= 0) & (last >= 0)
        before, first = last[known], first[known]
        result = np.zeros(len(texts))
        if len(self._bigrams):
            wanted = before * len(self._share) + first
            places = np.searchsorted(self._bigrams, wanted).clip(max=len(self._bigrams) - 1)
            together = np.where(self._bigrams[places] == wanted, self._n_bigrams[places], 0)
            share = self._share[first]
            result[known] = np.log((together + _SHRINKAGE * share) / (self._n_befores[before] + _SHRINKAGE) / share)
        return result


def _hidden(real: IntArray, generated: IntArray, n_prompts: int, seed: int) -> IntArray:
    """Return for each answer one of the other side to the same prompt, from the prompts of both sides' answers."""
    hidden = []
    for name, own, others, begin in (("real", real, generated, len(real)), ("generated", generated, real, 0)):
        n_others = np.bincount(others, minlength=n_prompts)
        starts = np.cumsum(n_others) - n_others
        chosen = starts[own] + stream(seed, "hidden", name).integers(n_others[own])
        hidden.append(begin + np.argsort(others, kind="stable")[chosen])
    return np.concatenate(hidden)


def _entries(texts: IntArray, chosen: IntArray, n_texts: int) -> IntArray:
    """Return the places in `texts` of those that are chosen."""
    is_chosen = np.zeros(n_texts, dtype=np.bool_)
    is_chosen[chosen] = True
    return np.flatnonzero(is_chosen[texts])


def row_sums(places: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Return the sum of the rows of `values`, shape (m, d), at each of `n` places, shape (n, d)."""
    return np.stack([_sums(places, column, n) for column in values.T], axis=1)


def _sums(places: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Return the sum of the values at each of `n` places."""
    return np.asarray(np.bincount(places, weights=values, minlength=n), dtype=np.float64)


def _places(ids: IntArray, wanted: IntArray) -> IntArray:
    """Return where each of `wanted` stands in `ids`."""
    order = np.argsort(ids, kind="stable")
    return order[np.searchsorted(ids[order], wanted)]


def _bigrams(corpus: Corpus, chosen: Mask) -> IntArray:
    """Return the pairs of neighbouring words of the chosen texts, as one number each."""
    tokens = corpus.tokens.astype(np.int64)
    inside = np.repeat(chosen, corpus.lengths)
    follows = np.ones(len(tokens), dtype=np.bool_)
    follows[corpus.offsets[:-1][corpus.lengths > 0]] = False
    ends = np.flatnonzero(follows & inside)
    return tokens[ends - 1] * len(corpus.vocabulary) + tokens[ends]


def _edge_words(corpus: Corpus) -> tuple[IntArray, IntArray]:
    """Return the first and the last word of each text; -1 for those without any."""
    tokens = np.append(corpus.tokens.astype(np.int64), -1)
    filled = corpus.lengths > 0
    return np.where(filled, tokens[corpus.offsets[:-1]], -1), np.where(filled, tokens[corpus.offsets[1:] - 1], -1)


class Space:
    """Vectors of answers and prompts, learnt from the text of some, without their labels.

    Style (length, how frequent its words are, punctuation, ...) and subject (latent semantic analysis of its words).
    """

    def __init__(self, texts: Prompted, train: Mask, background: Background) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        self._background = background
        rows = self._weighted(texts.words)
        self._svd = None
        n_subjects = min(_N_SUBJECTS, rows.shape[1] - 1, int(np.count_nonzero(train)) - 1)
        if n_subjects > 0 and rows[train].count_nonzero():  # none where all texts have the same words
            self._svd = TruncatedSVD(n_subjects, n_iter=2, random_state=0).fit(rows[train])
        self._marks = texts.marks
        self.answers = self._vectors(texts.words, rows)
        self.prompts = self._vectors(texts.prompt_words, self._weighted(texts.prompt_words))
        mean, scale = self.answers[train].mean(axis=0), self.answers[train].std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        self.answers = (self.answers - mean) / scale
        self.prompts = (self.prompts - mean) / scale

    def _weighted(self, words: Words) -> csr_matrix:
        rarity = self._background.rarity
        values = (1 + np.log(words.count)) * rarity[words.word]
        norms = np.sqrt(words.sums(values**2))
        starts = np.searchsorted(words.text, np.arange(words.n_texts + 1))
        shape = words.n_texts, len(rarity)
        return csr_matrix((values / np.maximum(norms, 1e-9)[words.text], words.word, starts), shape=shape)

    def _vectors(self, words: Words, rows: csr_matrix) -> FloatArray:
        length = np.maximum(words.lengths, 1)
        logs = np.log(self._background.share)[words.word]
        mean_log = words.sums(words.count * logs) / length
        spread = np.sqrt(np.maximum(words.sums(words.count * logs**2) / length - mean_log**2, 0.0))
        marks = [words.sums(words.count * mark[words.word]) / length for mark in self._marks.T]
        distinct = words.sums(np.ones(len(words.word))) / length
        subjects = [] if self._svd is None else list(self._svd.transform(rows).T)
        return np.column_stack([np.log1p(words.lengths), mean_log, spread, distinct, *marks, *subjects])


class Likeness:
    """Normal models of both sides, learnt from some answers.

    Vectors of one side's answers to a prompt are taken as normal around a mean of the prompt, and these means as normal
    around a linear function of the prompt's own vector. So how likely an answer's vector is as one more of the real
    answers, and as one more of the generated ones, follows in closed form from the prompt and from the other answers of
    both sides; the columns are log-ratios of these.
    """

    def __init__(self, space: Space, texts: Prompted, train: Mask) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        self._space = space
        self._functions = [self._function(texts, train & side) for side in (texts.is_real, ~texts.is_real)]
        rows = np.flatnonzero(train)
        expected = self._expected(space.prompts)
        rest = space.answers[rows] - np.where(
            texts.is_real[rows, None], expected[0][texts.prompt[rows]], expected[1][texts.prompt[rows]]
        )
        self._scales, self._turn = spreads(rest, texts.unit[rows])

    def _function(self, texts: Prompted, mine: Mask) -> FloatArray:
        """Return the linear function from a prompt's vector to that of a side's answers."""
        given = _with_one(self._space.prompts[texts.prompt[mine]])
        weights = texts.weights[mine][:, None]
        held = np.full(given.shape[1], _RIDGE)
        held[-1] = 1e-6
        square = (given * weights).T @ given + np.diag(held)
        return np.asarray(np.linalg.solve(square, (given * weights).T @ self._space.answers[mine]))

    def _expected(self, prompts: FloatArray) -> list[FloatArray]:
        """Return what is expected of real and of generated answers to each prompt, shapes (n_prompts, d)."""
        return [_with_one(prompts) @ function for function in self._functions]

    def columns(self, texts: Prompted, answers: FloatArray, prompts: FloatArray) -> list[FloatArray]:
        """Return the columns of answers, from their vectors and those of their prompts."""
        scales = self._scales
        turned = [(answers - side[texts.prompt]) @ self._turn for side in self._expected(prompts)]
        sums = [texts.sums_seen(of_side, side) for side, of_side in zip((True, False), turned, strict=True)]
        zero = np.zeros(1)
        alone = [_log_density(of_side, zero, 1 + scales) for of_side in turned]
        beside = []
        for of_side, seen, n_seen in zip(turned, sums, texts.n_seen, strict=True):
            gain = scales / (1 + n_seen[:, None] * scales)
            beside.append(_log_density(of_side, gain * seen, 1 + gain))
        middle = (turned[0] + turned[1]) / 2
        gain = scales / (1 + (texts.n_seen[0] + texts.n_seen[1])[:, None] * scales)
        together = _log_density(middle, gain * sum(sums), 1 + gain) - _log_density(middle, zero, 1 + scales)
        return [np.clip(column, -_MOST, _MOST) for column in (alone[0] - alone[1], beside[0] - beside[1], together)]


def spreads(vectors: FloatArray, unit: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the variances of the means of units, in a basis where those within are 1 and both diagonal, and the basis.

    Zeros where too few units have several vectors.
    """
    _, unit, sizes = np.unique(unit, return_inverse=True, return_counts=True)
    d = vectors.shape[1]
    total = vectors.T @ vectors / len(vectors)
    several = sizes[unit] > 1
    freedom = int(np.count_nonzero(several)) - int(np.count_nonzero(sizes > 1))
    if freedom < 2 * d:
        within, between = total, np.zeros((d, d))
    else:
        means = row_sums(unit, vectors, len(sizes)) / sizes[:, None]
        apart = (vectors - means[unit])[several]
        within = apart.T @ apart / freedom
        between = means.T @ means / len(means) - within * float(np.mean(1 / sizes))
    within = within + np.eye(d) * (_FLOOR * float(np.trace(within)) / d + 1e-9)
    scales, turn = eigh((between + between.T) / 2, within)
    return np.maximum(scales, 0.0), turn


def _with_one(vectors: FloatArray) -> FloatArray:
    return np.column_stack([vectors, np.ones(len(vectors))])


def _log_density(values: FloatArray, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the log-density of independent normals, without its constant, shape (n,)."""
    variances = np.broadcast_to(variances, values.shape)
    return np.asarray(-((values - means) ** 2 / variances + np.log(variances)).sum(axis=1) / 2)


class Kinds:
    """A clustering of the answers that are learnt from, and a language model of each cluster.

    All answers of a side to a prompt are taken to be of one kind. Kinds are clusters of the mean vectors of such
    answers; each has a language model, and answers move to the kind whose model, learnt from other prompts, fits them
    best. The kinds of the other real and of the other generated answers to a prompt follow from how likely these are
    (Bayes); the columns are how much likelier an answer is by the first than by the second, without the prompt and with
    the prompt as one more of the real answers.
    """

    def __init__(self, space: Space, texts: Prompted, train: Mask) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        rows = np.flatnonzero(train)
        units, unit, sizes = np.unique(texts.unit[rows], return_inverse=True, return_counts=True)
        vectors = space.answers[rows]
        scales, turn = spreads(vectors, unit)
        if scales.any():
            vectors = vectors @ turn[:, -_N_DIRECTIONS:]
        means = row_sums(unit, vectors, len(sizes)) / sizes[:, None]
        kinds = KMeans(min(_N_KINDS, len(np.unique(means, axis=0))), n_init=_STARTS, random_state=0).fit_predict(means)
        answers = Corpus.concatenate(texts.sides).take(rows)
        half = units // 2 % 2
        for move in range(_MOVES):
            learnt, moved = half == move % 2, half != move % 2
            if learnt.any() and moved.any():
                found, _, models = _models(answers, np.where(learnt, kinds, -1)[unit])
                scores = _scores(models, answers.take(np.flatnonzero(moved[unit])))
                of_units = row_sums(unit[moved[unit]], scores, len(units))[moved]
                kinds[moved] = found[np.argmax(of_units, axis=1)]
        _, self._prior, self._models = _models(answers, kinds[unit])

    def columns(self, texts: Prompted) -> list[FloatArray]:
        """Return how much likelier each answer is by the kinds of the other real answers than of the generated."""
        scores = np.concatenate([_scores(self._models, side) for side in texts.sides])
        real, generated = (self._prior + texts.sums_seen(scores, side) for side in (True, False))
        likely = [
            logsumexp(kinds + scores, axis=1) - logsumexp(kinds, axis=1)
            for kinds in (real, real + _scores(self._models, texts.prompts)[texts.prompt], generated)
        ]
        return [np.clip(one - likely[2], -_MOST, _MOST) for one in likely[:2]]


def _models(answers: Corpus, kinds: IntArray) -> tuple[IntArray, FloatArray, list[NgramModel]]:
    """Return the kinds from 0 on that there are, the logarithms of their shares, and a model of each."""
    found, sizes = np.unique(kinds[kinds >= 0], return_counts=True)
    models = [NgramModel(_ORDER).fit(answers.take(np.flatnonzero(kinds == kind))) for kind in found]
    return found, np.log(sizes / sizes.sum()), models


def _scores(models: Sequence[NgramModel], texts: Corpus) -> FloatArray:
    """Return the evidence of each text for each kind, in nats, shape (n, n_kinds)."""
    return np.asarray(_EVIDENCE * np.stack([model.log_prob(texts) for model in models], axis=1))
