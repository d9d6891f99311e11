"""Attention that counts distances: what a token hears of another depends on both, and on how far apart they are.

Source: Dai et al., "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", ACL 2019, section 3.3.
"""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


_QUERIES = 128  # tokens that listen at once, so that a long text takes memory in proportion to its length


def heard(
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    distances: "Tensor",
    *,
    content: "Tensor",
    distance: "Tensor",
    span: int | None,
) -> "Tensor":
    """Return what each of the last L of K tokens hears of those up to itself, shape (B, heads, L, size).

    `query`: of the last L tokens, shape (B, heads, L, size); `key`, `value`: of all K tokens, shape (B, heads, K,
    size); `distances`: keys of the distances K - 1 down to 0, shape (heads, K, size); `content`, `distance`: what each
    head listens for, in tokens and in distances, whatever the query, shape (heads, size).
    """
    import torch

    length, n_keys = query.shape[2], key.shape[2]
    parts = []
    for start in range(0, length, _QUERIES):
        stop = min(start + _QUERIES, length)
        last = n_keys - length + stop
        first = 0 if span is None else max(0, n_keys - length + start + 1 - span)
        near = key[:, :, first:last]
        by_content = (query[:, :, start:stop] + content[:, None]) @ near.transpose(2, 3)
        by_distance = (query[:, :, start:stop] + distance[:, None]) @ distances[:, n_keys - last + first :].transpose(
            1, 2
        )
        scores = (by_content + _moved(by_distance)) / math.sqrt(query.shape[3])
        places = torch.arange(first, last, device=key.device)
        away = places[start - stop :, None] - places  # (queries, keys)
        unheard = away < 0 if span is None else (away < 0) | (away >= span)
        shares = torch.softmax(scores.masked_fill(unheard, -math.inf), -1)
        parts.append(shares.to(value.dtype) @ value[:, :, first:last])
    return torch.cat(parts, 2)


def _moved(by_distance: "Tensor") -> "Tensor":
    """Return scores by key, shape (B, heads, L, K), from scores by distance, K - 1 down to 0.

    The first key is K - L + i away from token i of the last L, so row i moves left by L - 1 - i; what comes in on the
    right is of later tokens.
    """
    import torch

    batch, heads, length, n_keys = by_distance.shape
    padded = torch.nn.functional.pad(by_distance, (1, 0)).view(batch, heads, n_keys + 1, length)
    return padded[:, :, 1:].reshape(batch, heads, length, n_keys)
