"""Columns of answers beside their prompts: shared words, associations of words, and other answers to the same prompt.

Three things tell a model's answer that its words alone do not. *Overlap*: how much of the prompt an answer takes up.
*Association*: which words of an answer go with which words of a prompt, by a lexical translation model of each side
(`Association`). *Other answers*: how likely an answer is under the other real and the other generated answers to the
same prompt, which are shown with their labels.

A judge may be shown other answers, since they are drawn independently of the one that it judges: what it finds is still
at most the total variation. For that, answers of both sides must see equally many others of each side, so that one
answer of the other side, drawn at random, is hidden from each (`Prompted.hidden`): with m real and n generated ones,
everybody sees m - 1 and n - 1.

Sources: Brown et al., "The Mathematics of Statistical Machine Translation", Computational Linguistics 19, 1993 (model 1
and its EM algorithm); Zhai and Lafferty, "A Study of Smoothing Methods for Language Models", TOIS 22, 2004 (Dirichlet
smoothing of the other answers). Departs from them: word probabilities of model 1 shrink to those of all answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from textassay.corpus import Corpus
from textassay.errors import InputError, TooFewSentencesError
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

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of `values`, one an entry, over each text, shape (n_texts,)."""
        return _sums(self.text, values, self.n_texts)

    @cached_property
    def lengths(self) -> FloatArray:
        """Tokens of each text, shape (n_texts,)."""
        return self.sums(self.count)


class Prompted:
    """Answers of both sides to the same prompts, real ones first, and what is computed of them once."""

    def __init__(self, prompts: Corpus, real: Corpus, generated: Corpus, *, seed: int) -> None:
        """Take prompts and answers whose group numbers say which prompt they answer; answers to others are left out.

        `prompts`: each once, with its group number. All share a vocabulary.
        """
        if prompts.groups is None or real.groups is None or generated.groups is None:
            raise InputError("prompts and answers must have group numbers, which say what answers which prompt")
        groups = real.groups, generated.groups
        shared = np.intersect1d(np.intersect1d(*groups), prompts.groups)
        if not len(shared):
            raise TooFewSentencesError(
                "no prompt has answers on both sides: real and generated text must share prompts"
            )
        self.rows = tuple(np.flatnonzero(np.isin(of_side, shared)) for of_side in groups)
        self.sides = tuple(
            side if len(rows) == len(side) else side.take(rows)
            for side, rows in zip((real, generated), self.rows, strict=True)
        )
        self.ids = shared
        self.prompts = prompts.take(_places(prompts.groups, shared))
        self.prompt = np.concatenate(
            [np.searchsorted(shared, of_side[rows]) for of_side, rows in zip(groups, self.rows, strict=True)]
        )
        self.is_real = np.repeat([True, False], [len(side) for side in self.sides])
        self.words = Words.of(self.sides)
        self.prompt_words = Words.of([self.prompts])
        self.hidden = self._hidden(seed)

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

    def _hidden(self, seed: int) -> IntArray:
        """Return for each answer one of the other side to the same prompt, drawn at random."""
        hidden = np.empty(len(self), dtype=np.int64)
        for side, rng in ((True, stream(seed, "hidden", "real")), (False, stream(seed, "hidden", "generated"))):
            own, others = np.flatnonzero(self.is_real == side), np.flatnonzero(self.is_real != side)
            others = others[np.argsort(self.prompt[others], kind="stable")]
            n_others = self.sizes[1 if side else 0]
            starts = np.cumsum(n_others) - n_others
            places = self.prompt[own]
            hidden[own] = others[starts[places] + rng.integers(n_others[places])]
        return hidden

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
    def _seen_tokens(self) -> tuple[FloatArray, FloatArray]:
        """How many tokens the other real and the other generated answers have, that each answer sees."""
        lengths = self.words.lengths
        seen = []
        for side in (True, False):
            total = _sums(self.prompt, lengths * (self.is_real == side), self.n_prompts)
            seen.append(total[self.prompt] - np.where(self.is_real == side, lengths, lengths[self.hidden]))
        return seen[0], seen[1]

    @cached_property
    def _n_seen(self) -> tuple[IntArray, IntArray]:
        return self.sizes[0][self.prompt] - 1, self.sizes[1][self.prompt] - 1

    @cached_property
    def in_prompt(self) -> Mask:
        """Whether each word of an answer stands in its prompt, one an entry of `words`."""
        n_words = len(self.prompts.vocabulary)
        of_prompts = self.prompt_words.text * n_words + self.prompt_words.word
        return np.isin(self.prompt[self.words.text] * n_words + self.words.word, of_prompts)

    @cached_property
    def associations(self) -> "_Pairs":
        """Pairs of a prompt's and an answer's word."""
        return _Pairs.of(self)

    def columns(self, train: Mask, association: "Association") -> FloatArray:
        """Return the columns of all answers, shape (n, n_columns); `train`: the answers that are learnt from."""
        background = Background.of(self, train)
        return np.column_stack(
            [
                *self._overlap(background),
                self._continued(train, background),
                *association.columns(),
                *self._others(background),
                *self._vectors(background),
            ]
        )

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

    def _continued(self, train: Mask, background: "Background") -> FloatArray:
        """Return how much likelier the first word of an answer is after the last word of its prompt than anywhere."""
        n_words = len(background.share)
        _, last = _edge_words(self.prompts)
        first = np.concatenate([_edge_words(side)[0] for side in self.sides])
        learnt = np.split(train, [len(self.sides[0])])
        asked = np.zeros(self.n_prompts, dtype=np.bool_)
        asked[self.prompt[train]] = True
        bigrams = np.concatenate(
            [_bigrams(side, mask) for side, mask in zip((*self.sides, self.prompts), (*learnt, asked), strict=True)]
        )
        keys, counts = np.unique(bigrams, return_counts=True)
        befores = np.bincount(bigrams // n_words, minlength=n_words)
        known = (first >= 0) & (last[self.prompt] >= 0)
        before = last[self.prompt][known]
        wanted = before * n_words + first[known]
        places = np.searchsorted(keys, wanted).clip(max=max(len(keys) - 1, 0))
        together = np.where(keys[places] == wanted, counts[places], 0) if len(keys) else np.zeros(len(wanted))
        share = background.share[first[known]]
        result = np.zeros(len(self))
        result[known] = np.log((together + _SHRINKAGE * share) / (befores[before] + _SHRINKAGE) / share)
        return result

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
        for tokens, n in zip(self._seen_tokens, self._n_seen, strict=True):
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
        for side, n in zip((True, False), self._n_seen, strict=True):
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
    "begins with the prompt's last word", "goes on from the prompt's last word", "association, real over generated",
    "association, per word", "association of both, per word", "other answers, real over generated (10)",
    "the same per word (10)", "other answers, real over generated (100)", "the same per word (100)",
    "share of its words in other real answers", "share of its words in other generated answers",
    "length unlike other real answers", "length unlike other generated answers", "cosine with other real answers",
    "cosine with other generated answers", "difference of cosines",
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
class _Pairs:
    """Entries for each answer, word of it, and word of its prompt."""

    texts: Prompted
    entry: IntArray  # of `Prompted.words`
    key: IntArray  # number of the pair of words
    prompt_word: IntArray  # of the pair, shape (n_keys,)
    answer_word: IntArray
    n_prompt_words: IntArray  # words of each prompt, shape (n_prompts,)
    words: IntArray  # of each prompt, one prompt after another
    starts: IntArray

    @classmethod
    def of(cls, texts: Prompted) -> "_Pairs":
        n_words = len(texts.prompts.vocabulary)
        words, of_prompts = texts.words, texts.prompt_words
        # A word that stands in one prompt, or in answers to one, cannot have been learnt from another.
        n_prompts_with = np.bincount(of_prompts.word, minlength=n_words)
        in_prompts = np.unique(texts.prompt[words.text] * n_words + words.word)
        n_answered_with = np.bincount(in_prompts % n_words, minlength=n_words)
        kept = np.flatnonzero(n_prompts_with[of_prompts.word] > 1)
        order = kept[np.lexsort((n_prompts_with[of_prompts.word[kept]], of_prompts.text[kept]))]
        prompt = of_prompts.text[order]
        rank = np.arange(len(order)) - np.searchsorted(prompt, prompt)
        order = order[rank < MOST_PROMPT_WORDS]
        prompt = of_prompts.text[order]
        starts = np.searchsorted(prompt, np.arange(texts.n_prompts + 1))
        sizes = np.diff(starts)
        entries = np.flatnonzero(n_answered_with[words.word] > 1)
        of_entry = texts.prompt[words.text[entries]]
        n_each = sizes[of_entry]
        ends = np.cumsum(n_each)
        places = np.repeat(starts[of_entry] - ends + n_each, n_each) + np.arange(int(n_each.sum()))
        entry = np.repeat(entries, n_each)
        prompt_word = of_prompts.word[order][places]
        keys, key = np.unique(prompt_word * n_words + words.word[entry], return_inverse=True)
        chosen = of_prompts.word[order]
        return cls(texts, entry, key, keys // n_words, keys % n_words, sizes, chosen, starts)


class Association:
    """Model 1 of both sides: how likely words of an answer are, given the words of its prompt."""

    def __init__(self, texts: Prompted, train: Mask) -> None:
        """Learn from the answers that `train` says, shape (n,)."""
        self._texts, self._pairs = texts, texts.associations
        self._share = Background.of(texts, train).share
        self._counts = [self._learn(train & side) for side in (texts.is_real, ~texts.is_real)]

    def _learn(self, train: Mask) -> tuple[FloatArray, FloatArray]:
        """Return how often each pair of words goes together, and the total of each prompt's word."""
        pairs, words = self._pairs, self._texts.words
        used = train[words.text[pairs.entry]]
        entry, key = pairs.entry[used], pairs.key[used]
        n_words = len(self._share)
        together = _sums(key, words.count[entry], len(pairs.prompt_word))
        totals = _sums(pairs.prompt_word, together, n_words)
        for _ in range(_ITERATIONS):
            own = self._given_word(together, totals)[key]
            n_beside = pairs.n_prompt_words[self._texts.prompt[words.text[entry]]]
            from_prompt = np.bincount(entry, weights=own / n_beside, minlength=len(words.text))[entry]
            share = self._share[words.word[entry]]
            likely = (1 - _BACKGROUND) * from_prompt + _BACKGROUND * share
            part = words.count[entry] * (1 - _BACKGROUND) * own / n_beside / likely
            together = _sums(key, part, len(pairs.prompt_word))
            totals = _sums(pairs.prompt_word, together, n_words)
        return together, totals

    def _given_word(self, together: FloatArray, totals: FloatArray) -> FloatArray:
        """Return the probability of an answer's word given a prompt's, one a pair."""
        pairs = self._pairs
        share = self._share[pairs.answer_word]
        return np.asarray((together + _SHRINKAGE * share) / (totals[pairs.prompt_word] + _SHRINKAGE))

    def _log_probs(self, together: FloatArray, totals: FloatArray) -> FloatArray:
        """Return the log-probability of each word of an answer given its prompt, one an entry of `Prompted.words`."""
        pairs, words = self._pairs, self._texts.words
        n_beside = np.maximum(pairs.n_prompt_words, 1)
        known = (together / (totals[pairs.prompt_word] + _SHRINKAGE))[pairs.key]
        from_words = np.bincount(pairs.entry, weights=known, minlength=len(words.text))
        rest = _SHRINKAGE / (totals[pairs.words] + _SHRINKAGE)
        rests = np.concatenate([[0.0], np.cumsum(rest)])
        of_prompt = np.where(
            pairs.n_prompt_words > 0, (rests[pairs.starts[1:]] - rests[pairs.starts[:-1]]) / n_beside, 1.0
        )
        prompt = self._texts.prompt[words.text]
        share = self._share[words.word]
        given = from_words / n_beside[prompt] + share * of_prompt[prompt]
        return np.asarray(np.log((1 - _BACKGROUND) * given + _BACKGROUND * share))

    def columns(self) -> list[FloatArray]:
        """Return how much likelier the answers are by the model of real ones, in all and per word, and by both."""
        words = self._texts.words
        length = np.maximum(words.lengths, 1)
        logs = [self._log_probs(*counts) for counts in self._counts]
        both = self._log_probs(*(sum(parts) for parts in zip(*self._counts, strict=True)))
        ratio = words.sums(words.count * (logs[0] - logs[1]))
        gain = words.sums(words.count * (both - np.log(self._share[words.word])))
        return [ratio, ratio / length, gain / length]


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
