"""Attention with relative positions: scores depend on query, key and their distance.

Source: Dai et al., "Transformer-XL: Attentive Language Models beyond a Fixed-Length Context", ACL 2019, section 3.3.
"""

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


_QUERIES = 128  # queries computed at once, so that memory grows linearly with the length of a text


def relative_attention_output(
    query: "Tensor",
    key: "Tensor",
    value: "Tensor",
    distances: "Tensor",
    *,
    content: "Tensor",
    distance: "Tensor",
    span: int | None,
) -> "Tensor":
    """Return the causal attention output of the last L of K tokens, shape (B, heads, L, size).

    `query`: of the last L tokens, shape (B, heads, L, size); `key`, `value`: of all K tokens, shape (B, heads, K,
    size); `distances`: keys of the distances K - 1 down to 0, shape (heads, K, size); `content`, `distance`: biases of
    the query for tokens (u in the source) and for distances (v), shape (heads, size); `span`: most tokens that a query
    attends to, itself included; None for all.
    """
    import torch

    length, n_keys = query.shape[2], key.shape[2]
    parts = []
    for start in range(0, length, _QUERIES):
        stop = min(start + _QUERIES, length)
        last = n_keys - length + stop
        first = 0 if span is None else max(0, n_keys - length + start + 1 - span)
        near_keys = key[:, :, first:last]
        by_content = (query[:, :, start:stop] + content[:, None]) @ near_keys.transpose(2, 3)
        by_distance = (query[:, :, start:stop] + distance[:, None]) @ distances[:, n_keys - last + first :].transpose(
            1, 2
        )
        scores = (by_content + _by_key(by_distance)) / math.sqrt(query.shape[3])
        places = torch.arange(first, last, device=key.device)
        away = places[start - stop :, None] - places  # (queries, keys)
        masked = away < 0 if span is None else (away < 0) | (away >= span)
        attention_weights = torch.softmax(scores.masked_fill(masked, -math.inf), -1)
        parts.append(attention_weights.to(value.dtype) @ value[:, :, first:last])
    return torch.cat(parts, 2)


def _by_key(by_distance: "Tensor") -> "Tensor":
    """Return scores by key, shape (B, heads, L, K), from scores by distance, K - 1 down to 0.

    The first key is K - L + i away from token i of the last L, so row i moves left by L - 1 - i; the values that come
    in on the right are of later tokens, which are masked.
    """
    import torch

    batch, heads, length, n_keys = by_distance.shape
    padded = torch.nn.functional.pad(by_distance, (1, 0)).view(batch, heads, n_keys + 1, length)
    return padded[:, :, 1:].reshape(batch, heads, length, n_keys)
