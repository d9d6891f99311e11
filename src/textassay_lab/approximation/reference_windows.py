"""The text that a generator is measured on, as rows of tokens: texts with their ends, or windows of running text.

Windows are consecutive and do not overlap; an incomplete last one is dropped. With `context`, the tokens before a
window are read too, but not scored.

Source: Tevet et al., "Evaluating Text GANs as Language Models", NAACL 2019, and its authors' code (windows). Schmeiser,
"Batch Size Effects in the Analysis of Simulation Output", Operations Research 30, 1982 (10 to 30 batches): neighbouring
tokens are correlated, so intervals treat the text as 20 independent stretches.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.corpus.encoding import EOS, UNK
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay.resampling.jackknife import terms_interval
from textassay_lab.generator.next_words import Ends
from textassay_lab.generator.text_likelihood import Quantity

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_STRETCHES = 20


@dataclass(frozen=True, eq=False)
class ReferenceWindows:
    """Rows of reference tokens."""

    rows: IntArray  # Shape (B, L): each row `context` tokens, then those scored, padded with ``<eos>``
    sizes: IntArray  # Scored tokens of each row, shape (B,); ends of texts are scored
    context: int  # Tokens at the start of each row that are read but not scored
    window: int | None  # Scored tokens of each row of running text; None where rows are texts
    n_dropped: int  # Tokens in no window
    characters_per_token: float  # An end of a text counts as one token and one character
    corpus: Corpus  # The text as it was read

    @property
    def ends(self) -> Ends:
        """``absorbing`` for texts, which end; ``excluded`` for windows of running text, which do not."""
        return "absorbing" if self.window is None else "excluded"

    @cached_property
    def scored(self) -> npt.NDArray[np.bool_]:
        """Which tokens of `rows` are scored, shape (B, L)."""
        places = np.arange(self.rows.shape[1]) - self.context
        return np.asarray((places >= 0) & (places < self.sizes[:, None]))

    @property
    def n_tokens(self) -> int:
        """Number of scored tokens."""
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
        """Return the mean over all scored tokens, from the sum of each row, shape (B,).

        The interval treats `N_STRETCHES` stretches of text (fewer with fewer rows) as independent; None with one
        stretch.
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


def reference_windows(corpus: Corpus, *, window: int | None = None, context: int = 0) -> ReferenceWindows:
    """Return a corpus as rows of reference tokens."""
    if window is not None and window < 1:
        raise OptionError(f"window must be at least 1 token, got {window}")
    if context < 0 or (context and window is None):
        raise OptionError(f"context must be at least 0, and 0 without a window, got {context}")
    if len(corpus) == 0:
        raise EmptyCorpusError("the corpus has no text")
    n_characters = sum(map(len, corpus.texts))
    if window is None:
        lengths = corpus.lengths
        rows = np.full((len(corpus), int(lengths.max()) + 1), EOS, dtype=np.int64)
        rows[np.arange(rows.shape[1]) < lengths[:, None]] = corpus.tokens
        per_token = (n_characters + len(corpus)) / (len(corpus.tokens) + len(corpus))
        return ReferenceWindows(rows, lengths + 1, 0, None, 0, per_token, corpus)
    n_tokens = len(corpus.tokens)
    if n_tokens < context + window:
        minimum = f"a window of {window:,} tokens" + (f" with {context} of context" if context else "")
        raise TooFewSentencesError(
            f"the text has {n_tokens:,} tokens, fewer than {minimum}: give more text or a smaller window"
        )
    tokens = corpus.tokens.astype(np.int64)
    rows = np.lib.stride_tricks.sliding_window_view(tokens, context + window)[::window].copy()
    sizes = np.full(len(rows), window, dtype=np.int64)
    n_dropped = n_tokens - context - int(sizes.sum())
    return ReferenceWindows(rows, sizes, context, window, n_dropped, n_characters / n_tokens, corpus)
