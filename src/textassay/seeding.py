"""Seeds to random streams: one seed gives the same draws at any batch size, order and number of workers.

`stream` names each stream by its purpose, so that a new consumer never shifts the draws of another. `uniforms` is
counter-based: the draw for a text at a position depends on nothing but seed, text and position.

Source of the mixing function: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014
(SplitMix64, with the constants of its reference implementation).
"""

import hashlib

import numpy as np
import numpy.typing as npt

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def stream(seed: int, *path: str | int) -> np.random.Generator:
    """Return the random generator of `seed` for the purpose named by `path`.

    `path`: names and numbers that identify the consumer, such as ``("dd", "folds", "real")``.
    """
    digest = hashlib.blake2b("/".join(map(str, path)).encode(errors="surrogatepass"), digest_size=16).digest()
    words = np.frombuffer(digest, dtype=np.uint32)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in words)))


def uniforms(seed: int, sentences: npt.NDArray[np.int64], position: int) -> npt.NDArray[np.float64]:
    """Return one uniform draw in [0, 1) per sentence at one position.

    `sentences`: sentence numbers, shape (B,), at least 0.
    """
    with np.errstate(over="ignore"):
        state = _mix(np.full(len(sentences), seed, dtype=np.uint64) + _GOLDEN)
        state = _mix(state + _GOLDEN * (sentences.astype(np.uint64) + np.uint64(1)))
        state = _mix(state + _GOLDEN * np.uint64(position + 1))
    return (state >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))
