"""The corpus: ordered texts as one flat array of token ids, with their strings and their vocabulary."""

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from textassay.corpus.array_files import GrowingArray, gather, read_only
from textassay.corpus.encoding import UNK, Vocabulary, encode
from textassay.corpus.normalization import normalize as normalize_text
from textassay.corpus.packed_texts import PackedTexts, TextPacker
from textassay.corpus.text_file import REAL_NAMES, TextFile
from textassay.corpus.texts import as_texts
from textassay.corpus.tokenizer import (
    AUTO,
    Tokenizer,
    choose_tokenizer,
    join_tokens,
    resolve_tokenizer,
    warn_of_spacing,
)
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay.execution.tasks import sent_once

_BLOCK = 1 << 16  # texts or tokens hashed at once
CUT_OFF = "cut-off"  # column of texts that a limit of length ended

Texts: TypeAlias = Any
"""Many texts: a list of str, a column (NumPy, pandas, polars, Arrow, `datasets`), a table with one column of texts, a
path or address (see `read_texts`), what `read_texts` returned, or a `Corpus`."""


class TextOptions(TypedDict, total=False):
    """How all texts are prepared before they are measured."""

    tokenizer: str | Tokenizer
    lowercase: bool
    normalize: bool
    max_tokens: int | None


@sent_once
@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """An immutable sequence of N texts.

    Attributes
    ----------
    tokens
        Token ids of all texts, one after another, shape (T,), int32, read-only.
    offsets
        Where each text starts in `tokens`, and the end of the last, shape (N + 1,), int64, read-only.
    vocabulary
        The meaning of the ids; all corpora of one comparison share one.
    texts
        The texts as they were read, N strings: a `PackedTexts`, whatever sequence it was made from.
    tokenizer
        Name of the tokeniser and of the preparation before it, as in signatures.
    groups
        Group number of each text, shape (N,), or None; texts of one group are never split.
    columns
        Numbers that come with each text, name to array, shapes (N, ...), float, read-only: ``features``, and
        ``log_probs/NAME`` and ``ratings/NAME`` for the comparison with generator NAME; ``cut-off``: 1 where a limit of
        length ended the text, else 0.
    """

    tokens: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    vocabulary: Vocabulary
    texts: Sequence[str]
    tokenizer: str = field(kw_only=True)
    groups: npt.NDArray[np.int64] | None = field(kw_only=True, default=None)
    columns: Mapping[str, npt.NDArray[np.floating[Any]]] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "texts", PackedTexts.of(self.texts))
        if len(self.offsets) != len(self.texts) + 1 or self.offsets[0] != 0 or self.offsets[-1] != len(self.tokens):
            raise InputError("offsets do not fit texts and tokens")
        if self.groups is not None and len(self.groups) != len(self.texts):
            raise InputError(f"groups must have one number per text: {len(self.texts)}, got {len(self.groups)}")
        for name, column in self.columns.items():
            if len(column) != len(self.texts):
                raise InputError(f"{name} must have one row per text: {len(self.texts)}, got {len(column)}")
        self._protect()

    def _protect(self) -> None:
        """Replace the arrays by read-only views; the caller's own arrays stay writable."""
        for name, dtype in (("tokens", np.int32), ("offsets", np.int64), ("groups", np.int64)):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, read_only(np.asarray(array, dtype=dtype)))
        object.__setattr__(self, "columns", {name: read_only(column) for name, column in self.columns.items()})

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._protect()

    @classmethod
    def from_texts(
        cls,
        texts: Any,
        *,
        tokenizer: str | Tokenizer = AUTO,
        lowercase: bool = False,
        groups: npt.NDArray[np.int64] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> "Corpus":
        """Return one corpus, with its own vocabulary unless one is given; see `corpora_from_texts` for several."""
        return corpora_from_texts(
            {"texts": texts},
            tokenizer=tokenizer,
            lowercase=lowercase,
            groups=None if groups is None else {"texts": groups},
            vocabulary=vocabulary,
        )["texts"]

    @classmethod
    def concatenate(cls, corpora: Sequence["Corpus"]) -> "Corpus":
        """Return the texts of all `corpora`, at least one, in order.

        They must share vocabulary and tokeniser. Group numbers are kept: equal numbers mean the same group. So are the
        columns that all corpora have.
        """
        if not corpora:
            raise EmptyCorpusError("no corpus to concatenate")
        first = corpora[0]
        if any(corpus.vocabulary is not first.vocabulary for corpus in corpora):
            raise OptionError("the corpora have different vocabularies; build them with one call of corpora_from_texts")
        if any(corpus.tokenizer != first.tokenizer for corpus in corpora):
            raise OptionError(f"tokenizers differ: {', '.join(sorted({corpus.tokenizer for corpus in corpora}))}")
        groups = [corpus.groups for corpus in corpora if corpus.groups is not None]
        if groups and len(groups) != len(corpora):
            raise OptionError("all or none of the corpora must have groups")
        tokens, texts = GrowingArray(np.int32), TextPacker()
        for corpus in corpora:
            tokens.append(corpus.tokens)
            for block in PackedTexts.of(corpus.texts).blocks():
                texts.add_bytes(block.data, block.lengths)
        return cls(
            tokens.array(),
            np.concatenate(([0], np.cumsum(np.concatenate([corpus.lengths for corpus in corpora])))),
            first.vocabulary,
            texts.texts(),
            tokenizer=first.tokenizer,
            groups=np.concatenate(groups) if groups else None,
            columns={
                name: np.concatenate([corpus.columns[name] for corpus in corpora])
                for name in first.columns
                if all(name in corpus.columns for corpus in corpora)
            },
        )

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __repr__(self) -> str:
        return f"Corpus({len(self)} texts, {len(self.tokens)} tokens, tokenizer={self.tokenizer!r})"

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of each text, shape (N,)."""
        return np.diff(self.offsets)

    def texts_for_models(self) -> list[str]:
        """Return the texts for a model that reads them whole: lower-cased if the tokens are."""
        is_lower = "lower" in self.tokenizer.split("+")
        return [text.lower() for text in self.texts] if is_lower else list(self.texts)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of texts, tokens, groups and tokeniser, in order: 32 hexadecimal digits, the same in every process.

        Columns, and other corpora that share the vocabulary, do not matter.
        """
        digest = hashlib.blake2b(self.tokenizer.encode(), digest_size=16)
        digest.update(self.offsets.tobytes())
        for start in range(0, len(self.tokens), _BLOCK):
            digest.update(self.vocabulary.hashes[self.tokens[start : start + _BLOCK]].tobytes())
        texts = PackedTexts.of(self.texts)
        for start in range(0, len(self), _BLOCK):
            block = texts[start : start + _BLOCK]
            digest.update(block.n_characters.tobytes())
            digest.update(block.compact().data.tobytes())
        if self.groups is not None:
            digest.update(self.groups.tobytes())
        return digest.hexdigest()

    @property
    def texts_fingerprint(self) -> str:
        """The fingerprint that the corpus has without groups."""
        return self.fingerprint if self.groups is None else replace(self, groups=None).fingerprint

    @cached_property
    def columns_fingerprint(self) -> str:
        """Hash of all columns, in order of their names; empty where there are none."""
        if not self.columns:
            return ""
        digest = hashlib.blake2b(digest_size=16)
        for name, column in sorted(self.columns.items()):
            digest.update(f"{name} {column.dtype} {column.shape} ".encode())
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()

    def without_columns(self) -> "Corpus":
        """Return the corpus without its columns."""
        if not self.columns:
            return self
        bare = replace(self, columns={})
        bare.__dict__["fingerprint"] = self.fingerprint  # columns are no part of it, and it takes time
        return bare

    @property
    def unk_rate(self) -> float:
        """Fraction of tokens that are ``<unk>``, in [0, 1]; NaN, with a warning, without tokens."""
        if len(self.tokens) == 0:
            warnings.warn("unk_rate is undefined: the corpus has no token", RuntimeWarning, stacklevel=2)
            return float("nan")
        return float(np.mean(self.tokens == UNK))

    @property
    def separator(self) -> str:
        """What separates most tokens of a text: a space, or nothing for characters, letters and subwords.

        Use `join_tokens` for text: byte tokens must be decoded after joining, and words stand beside letters.
        """
        parts = self.tokenizer.startswith(("bpe-", "hf-"))
        return "" if parts or self.tokenizer.split("+")[0] in ("chars", "mixed") else " "

    def sentence(self, index: int) -> list[str]:
        """Return the tokens of one text."""
        start, stop = self.offsets[:-1][index], self.offsets[1:][index]
        return self.vocabulary.decode(self.tokens[start:stop])

    def drawn(self, n: int, rng: np.random.Generator) -> "Corpus":
        """Return `n` random texts, in the order they have here; all of them where there are no more than `n`."""
        return self if len(self) <= n else self.take(np.sort(rng.permutation(len(self))[:n]))

    def take(self, indices: npt.NDArray[np.int64]) -> "Corpus":
        """Return the corpus of the texts at `indices`, in that order; vocabulary and strings are shared.

        Parameters
        ----------
        indices
            Integer indices of shape (M,), repeats allowed; or a mask of shape (N,), dtype bool.
        """
        if indices.dtype == np.bool_:
            if indices.shape != (len(self),):
                raise OptionError(f"a mask must have shape ({len(self)},), got {indices.shape}")
            indices = np.flatnonzero(indices)
        lengths = self.lengths[indices]
        return Corpus(
            gather(self.tokens, self.offsets[:-1][indices], lengths),
            np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths))),
            self.vocabulary,
            PackedTexts.of(self.texts).take(indices),
            tokenizer=self.tokenizer,
            groups=None if self.groups is None else self.groups[indices],
            columns={name: column[indices] for name, column in self.columns.items()},
        )

    def with_vocabulary(self, vocabulary: Vocabulary) -> "Corpus":
        """Return the corpus encoded with `vocabulary`; tokens that are not in it become ``<unk>``."""
        table = vocabulary.encode(self.vocabulary.tokens)
        return replace(self, tokens=table[self.tokens], vocabulary=vocabulary)


def _columns_of(source: Any, file: TextFile) -> Mapping[str, npt.NDArray[np.floating[Any]]]:
    """Return the columns that come with `source`, which was read into `file`."""
    if isinstance(source, Corpus):
        return source.columns
    return {} if file.cut_off is None else {CUT_OFF: file.cut_off.astype(np.float64)}


def truncate(corpus: Corpus, max_tokens: int) -> Corpus:
    """Return `corpus` with every text cut after `max_tokens` tokens.

    A cut text is its tokens, joined by `join_tokens`; the name of the tokeniser gets the suffix ``+max-tokens=N``.
    """
    if max_tokens < 1:
        raise OptionError(f"max_tokens must be at least 1, got {max_tokens}")
    lengths = np.minimum(corpus.lengths, max_tokens)
    texts = (
        join_tokens(corpus.tokenizer, corpus.sentence(index)[:max_tokens]) if n_tokens > max_tokens else text
        for index, (text, n_tokens) in enumerate(zip(corpus.texts, corpus.lengths, strict=True))
    )
    return Corpus(
        gather(corpus.tokens, corpus.offsets[:-1], lengths),
        np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths))),
        corpus.vocabulary,
        PackedTexts.of(texts),
        tokenizer=f"{corpus.tokenizer}+max-tokens={max_tokens}",
        groups=corpus.groups,
    )


def corpora_from_texts(
    texts: Mapping[str, Texts],
    *,
    tokenizer: str | Tokenizer = AUTO,
    lowercase: bool = False,
    normalize: bool = False,
    max_tokens: int | None = None,
    groups: Mapping[str, npt.NDArray[np.int64]] | None = None,
    vocabulary: Vocabulary | None = None,
) -> dict[str, Corpus]:
    """Return one corpus for each named set of texts, all prepared alike and sharing one vocabulary.

    Corpora that share one already are returned as they are where nothing is asked for.

    Parameters
    ----------
    texts
        Name to texts of any kind: see `Texts`.
    tokenizer
        Name of a tokeniser, or a callable from a text to its tokens. ``auto`` splits at white space, and also (as
        ``mixed``) into letters where words are not separated by spaces, as in Chinese or Thai. The set called
        ``(real)`` or ``real``, else the first, decides for all sets. A warning says if it was not white space, and if
        a named tokeniser splits such text at spaces.
    lowercase, normalize
        Whether to lower-case, and to `normalize`, before tokenising.
    max_tokens
        How many tokens of each text are kept; all by default.
    groups
        Name to group numbers, shape (N,), instead of those of the texts.
    vocabulary
        A fixed vocabulary: tokens that are not in it become ``<unk>`` (see `Corpus.unk_rate`). Without one, all tokens
        get ids in the order of their first appearance over the sets.

    Raises
    ------
    InputError
        If a set is not an iterable of str; the message names the set and the position.
    """
    if not (isinstance(tokenizer, str) and tokenizer == AUTO):
        resolve_tokenizer(tokenizer)
    elif not (lowercase or normalize or max_tokens is not None or groups or vocabulary):
        made = {name: source for name, source in texts.items() if isinstance(source, Corpus)}
        if made.keys() == texts.keys() and len({id(corpus.vocabulary) for corpus in made.values()}) == 1:
            return made
    groups = {} if groups is None else groups
    sources = {name: as_texts(source, name) for name, source in texts.items()}
    if normalize:
        sources = {
            name: replace(file, texts=PackedTexts.of(map(normalize_text, file.texts))) for name, file in sources.items()
        }
    if isinstance(tokenizer, str):
        real_name = next((name for name in REAL_NAMES if name in sources), next(iter(sources), None))
        real = () if real_name is None else sources[real_name].texts
        if tokenizer == AUTO:
            tokenizer = choose_tokenizer(real)
        else:
            warn_of_spacing(real, tokenizer)
    tokenize = resolve_tokenizer(tokenizer, lowercase=lowercase)
    if not groups.keys() <= sources.keys():
        raise OptionError(f"groups are given for unknown sets: {', '.join(sorted(groups.keys() - sources.keys()))}")
    encoded, shared = encode({name: PackedTexts.of(source.texts) for name, source in sources.items()}, tokenize)
    corpora = {
        name: Corpus(
            tokens,
            offsets,
            shared,
            packed,
            tokenizer=f"{tokenize.name}+normalize" if normalize else tokenize.name,  # recorded in signatures
            groups=groups.get(name, sources[name].groups),
            columns=_columns_of(texts[name], sources[name]),
        )
        for name, (packed, tokens, offsets) in encoded.items()
    }
    if max_tokens is not None:
        corpora = {name: truncate(corpus, max_tokens) for name, corpus in corpora.items()}
    if vocabulary is None:
        return corpora
    return {name: corpus.with_vocabulary(vocabulary) for name, corpus in corpora.items()}
