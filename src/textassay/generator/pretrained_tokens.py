"""The tokens of a pretrained model: its tokeniser, a vocabulary, and the model's ids of its tokens.

Its end tokens, beginning, unknown and padding token become our special ones. Where the model has no beginning token,
sentences begin with the end token, as GPT-2 is used.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.corpus import EOS, PAD, SOS, SPECIAL_TOKENS, UNK, Vocabulary
from textassay.errors import InputError

IntArray = npt.NDArray[np.int64]


class PretrainedTokens:
    """Tokens of a Hugging Face tokeniser; a `SubwordTokenizer`.

    `begin`: the id that stands before each sentence; `ends`: ids that end a sentence, at least one; `vocabulary`: the
    special tokens, then all others that can stand in a sentence; `ids`: the model's id for each token of `vocabulary`,
    shape (V,); -1 where it has none; `drawable`: which tokens of `vocabulary` the model can draw, shape (V,), the end
    included.
    """

    def __init__(self, tokenizer: Any, config: Any, ends: int | Sequence[int] | None) -> None:
        self._tokenizer = tokenizer
        for end in (ends, tokenizer.eos_token_id, getattr(config, "eos_token_id", None)):
            self.ends: tuple[int, ...] = (end,) if isinstance(end, int) else tuple(end or ())
            if self.ends:
                break
        else:
            raise InputError("it has no end token")
        begins = (tokenizer.bos_token_id, getattr(config, "bos_token_id", None), self.ends[0])
        self.begin = int(next(number for number in begins if number is not None))
        own = tokenizer.convert_ids_to_tokens(list(range(max(config.vocab_size, len(tokenizer)))))
        special = {tokenizer.pad_token_id: PAD, tokenizer.unk_token_id: UNK, self.begin: SOS}
        special.update(dict.fromkeys(self.ends, EOS))
        ours = [SPECIAL_TOKENS[special[number]] if number in special else token for number, token in enumerate(own)]
        usable = [
            token is not None and number < config.vocab_size and (number in special or token not in SPECIAL_TOKENS)
            for number, token in enumerate(ours)
        ]
        self.types = tuple(token if usable[number] else SPECIAL_TOKENS[UNK] for number, token in enumerate(ours))
        self.vocabulary = Vocabulary(token for number, token in enumerate(ours) if usable[number])
        self.ids = np.full(len(self.vocabulary), -1, dtype=np.int64)
        places = self.vocabulary.encode(self.types)
        for number in reversed(range(len(ours))):  # of several, the first
            if usable[number]:
                self.ids[places[number]] = number
        self.ids[EOS] = self.ends[0]
        self.drawable = self.ids >= 0
        self.drawable[[PAD, SOS]] = False

    @cached_property
    def ordinary(self) -> tuple[int, ...]:
        """The model's ids of all tokens that are not special, at least one."""
        return tuple(self.ids[len(SPECIAL_TOKENS) :].tolist())

    @cached_property
    def name(self) -> str:
        """Number of tokens and a hash: ``bpe-50257-1a2b3c4d`` where tokens are bytes, else ``hf-...``.

        Models with the same tokeniser have the same name here.
        """
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        rules = {} if backend is None else json.loads(backend.to_str())
        parts = {part: rules.get(part) for part in ("normalizer", "pre_tokenizer", "model", "decoder")}
        document = json.dumps([self.types, parts], sort_keys=True)
        kind = "bpe" if (parts["decoder"] or {}).get("type") == "ByteLevel" else "hf"
        return f"{kind}-{len(self.types)}-{hashlib.blake2b(document.encode(), digest_size=4).hexdigest()}"

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of one sentence."""
        return [self.types[number] for number in self.encode([text])[0].tolist()]

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.int32], IntArray]:
        """Return the model's ids of all tokens, shape (T,), and how many each sentence has, shape (N,).

        Special tokens in a text are read as any other text.
        """
        rows: list[list[int]] = []
        if texts:
            rows = self._tokenizer(
                list(texts),
                add_special_tokens=False,
                split_special_tokens=True,
                return_attention_mask=False,
                verbose=False,
            )["input_ids"]
        counts = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        return np.fromiter((number for row in rows for number in row), dtype=np.int32, count=int(counts.sum())), counts

    def decode(self, tokens: npt.NDArray[np.int32], offsets: IntArray) -> list[str]:
        """Return the texts of sentences of ids of `vocabulary`, shapes (T,) and (N + 1,)."""
        ids = self.ids[tokens].tolist()
        sentences = [ids[start:stop] for start, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)]
        return list(self._tokenizer.batch_decode(sentences, clean_up_tokenization_spaces=False))
