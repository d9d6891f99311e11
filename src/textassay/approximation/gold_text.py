"""The text that a generator is measured on, as rows of gold tokens: sentences with their ends, or windows of a text.

Windows are consecutive and do not overlap; an incomplete last one is dropped. A window starts without context, unless
asked for: then the tokens before it are read, too, and not scored.

Source: Tevet et al., "Evaluating Text GANs as Language Models", NAACL 2019, and its authors' code (windows). Schmeiser,
"Batch Size Effects in the Analysis of Simulation Output", Operations Research 30, 1982 (10 to 30 batches): neighbours
in a text are alike, so intervals take the text in 20 stretches.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS, UNK, Corpus
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay.generator import Ends, Quantity
from textassay.resampling import terms_interval

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_STRETCHES = 20


@dataclass(frozen=True, eq=False)
class GoldText:
    """Rows of gold tokens."""

    rows: IntArray  # Shape (B, L): each row `context` tokens, then those scored, padded with ``<eos>``
    sizes: IntArray  # Scored tokens of each row, shape (B,); ends of sentences are scored
    context: int  # Tokens at the beginning of each row that are read, not scored
    window: int | None  # Scored tokens of each row where the text is running text; None where rows are sentences
    n_dropped: int  # Tokens of the text that are in no window
    characters_per_token: float  # Of the text as it was read, ends of sentences counted as one of each
    corpus: Corpus  # Where they are from

    @property
    def ends(self) -> Ends:
        """Windows never end; sentences do."""
        return "absorbing" if self.window is None else "excluded"

    @cached_property
    def scored(self) -> npt.NDArray[np.bool_]:
        """Which tokens of `rows` are scored, shape (B, L)."""
        places = np.arange(self.rows.shape[1]) - self.context
        return np.asarray((places >= 0) & (places < self.sizes[:, None]))

    @property
    def n_tokens(self) -> int:
        """Scored tokens."""
        return int(self.sizes.sum())

    @property
    def unknown_share(self) -> float:
        """Share of scored tokens that are ``<unk>``."""
        return float(np.count_nonzero((self.rows == UNK) & self.scored) / self.n_tokens)

    def part(self, start: int, stop: int) -> tuple[IntArray, npt.NDArray[np.bool_]]:
        """Return rows `start` to `stop` and which of their tokens are scored, without columns that are all padding."""
        width = self.context + int(self.sizes[start:stop].max())
        return self.rows[start:stop, :width], self.scored[start:stop, :width]

    def mean(self, sums: FloatArray, *, level: float) -> Quantity:
        """Return the mean over all scored tokens of what `sums`, shape (B,), hold for each row.

        Its interval takes the text in `N_STRETCHES` stretches (fewer where there are fewer rows) as independent; none
        with one.
        """
        value = float(sums.sum() / self.n_tokens)
        if len(sums) < 2 or not np.isfinite(value):
            return Quantity(value, None)
        stretch = np.minimum((np.cumsum(self.sizes) - self.sizes / 2) * N_STRETCHES // self.n_tokens, N_STRETCHES - 1)
        _, members = np.unique(stretch, return_inverse=True)
        costs, sizes = np.bincount(members, weights=sums), np.bincount(members, weights=self.sizes)
        if len(sizes) < 2:
            return Quantity(value, None)
        terms = value + (costs - value * sizes) / sizes.mean()
        method = f"t: {len(sizes)} stretches of text; generator fixed"
        return Quantity(value, terms_interval(value, [terms], level=level, method=method))


def gold_text(corpus: Corpus, *, window: int | None = None, context: int = 0) -> GoldText:
    """Return a text as rows of gold tokens."""
    if window is not None and window < 1:
        raise OptionError(f"the window must have at least 1 token, got {window}")
    if context < 0 or (context and window is None):
        raise OptionError(f"context must be at least 0, and is for windows only, got {context}")
    if len(corpus) == 0:
        raise EmptyCorpusError("the text has no sentence")
    n_characters = sum(map(len, corpus.texts))
    if window is None:
        lengths = corpus.lengths
        rows = np.full((len(corpus), int(lengths.max()) + 1), EOS, dtype=np.int64)
        rows[np.arange(rows.shape[1]) < lengths[:, None]] = corpus.tokens
        per_token = (n_characters + len(corpus)) / (len(corpus.tokens) + len(corpus))
        return GoldText(rows, lengths + 1, 0, None, 0, per_token, corpus)
    n_tokens = len(corpus.tokens)
    if n_tokens < context + window:
        least = f"a window of {window} tokens" + (f" with {context} of context" if context else "")
        raise TooFewSentencesError(
            f"the text has {n_tokens} tokens, fewer than {least}: give more text or a smaller one"
        )
    tokens = corpus.tokens.astype(np.int64)
    rows = np.lib.stride_tricks.sliding_window_view(tokens, context + window)[::window].copy()
    sizes = np.full(len(rows), window, dtype=np.int64)
    dropped = n_tokens - context - int(sizes.sum())
    return GoldText(rows, sizes, context, window, dropped, n_characters / n_tokens, corpus)
