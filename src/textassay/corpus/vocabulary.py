"""The vocabulary: tokens to ids and back, with the four special tokens at fixed ids."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["EOS", "PAD", "SOS", "SPECIAL_TOKENS", "UNK", "Vocabulary"]

SPECIAL_TOKENS = ("<pad>", "<eos>", "<sos>", "<unk>")
PAD, EOS, SOS, UNK = range(4)


class Vocabulary:
    """Tokens with their ids; ids 0-3 are ``<pad>``, ``<eos>``, ``<sos>`` and ``<unk>``."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._tokens = list(SPECIAL_TOKENS)
        self._ids = {token: number for number, token in enumerate(SPECIAL_TOKENS)}
        for token in tokens:
            if token not in self._ids:
                self._ids[token] = len(self._tokens)
                self._tokens.append(token)

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    @property
    def tokens(self) -> Sequence[str]:
        """All tokens, in the order of their ids."""
        return self._tokens

    def encode(self, tokens: Iterable[str]) -> npt.NDArray[np.int32]:
        """Return the ids of `tokens`, shape (n_tokens,); a token that is not in the vocabulary becomes ``UNK``."""
        return np.array([self._ids.get(token, UNK) for token in tokens], dtype=np.int32)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the tokens of `ids`."""
        return [self._tokens[number] for number in ids]
