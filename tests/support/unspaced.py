"""Text made up for tests whose words are not parted by spaces, and text of one token each."""

from itertools import pairwise

import numpy as np

HAN = "山水火木金土日月星雨云风花草树鸟鱼马牛羊人口手足目耳心力大小上下左右中天地田石刀弓车门子女王"
KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほ"
THAI = "กขคงจชซดตถทนบปผพมยรลวสหอะาเแโไ"
HANGUL = "가나다라마바사아자차카타파하고노도로모보소오조초코"
LATIN = "abcdefghijklmnopqrstuvwxyz"


def chains(n: int, *, seed: int, shift: float = 0.0, alphabet: str = HAN) -> list[str]:
    """Return `n` lines of 8 to 19 letters, each of which decides how likely the next are; `shift` moves how likely."""
    size = len(alphabet)
    first, second = (np.random.default_rng([size, kind]).dirichlet(np.full(size, 0.3), size) for kind in (0, 1))
    edges = np.cumsum((1 - shift) * first + shift * second, axis=1)
    rng = np.random.default_rng(seed)
    lines = []
    for length in rng.integers(8, 20, n).tolist():
        line = [int(rng.integers(size))]
        for chance in rng.random(length - 1).tolist():
            line.append(min(size - 1, int(np.searchsorted(edges[line[-1]], chance))))
        lines.append("".join(alphabet[letter] for letter in line))
    return lines


def words(alphabet: str, n: int, shortest: int, longest: int, *, seed: int = 0) -> list[str]:
    """Return `n` words of letters drawn at random."""
    rng = np.random.default_rng([seed, len(alphabet)])
    lengths = rng.integers(shortest, longest + 1, n)
    letters = rng.choice(list(alphabet), lengths.sum())
    return ["".join(letters[start:stop]) for start, stop in pairwise([0, *np.cumsum(lengths).tolist()])]


def sentences(vocabulary: list[str], separator: str, n: int, *, shortest: int = 3, longest: int = 7) -> list[str]:
    """Return `n` sentences of words drawn at random."""
    rng = np.random.default_rng(len(vocabulary))
    return [separator.join(rng.choice(vocabulary, rng.integers(shortest, longest + 1))) for _ in range(n)]


def single_tokens(n: int, probabilities: np.ndarray, rng: np.random.Generator) -> list[str]:
    """Return `n` texts of one token each, drawn with these probabilities."""
    return [f"w{kind}" for kind in rng.choice(len(probabilities), n, p=probabilities).tolist()]
