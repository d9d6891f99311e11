"""What dd finds in languages without spaces between words, by the tokeniser: `python benchmarks/languages.py`.

Texts are chains of names of countries and languages, from Babel, in which each word decides how likely the next are;
the two sides share the words and differ in the chances. ``known`` gives dd the words themselves, parted by spaces. Each
dd is the mean over pairs of new texts, with its standard error. Needs the extra ``segment`` and Babel.
"""

import unicodedata
import warnings
from itertools import chain

import numpy as np
from babel import Locale

import textassay as ta
from textassay.corpus.tokenizer import SpacingWarning

LANGUAGES = {"Chinese": "zh", "Japanese": "ja", "Thai": "th", "Lao": "lo", "Khmer": "km", "Burmese": "my"}
TOKENIZERS = {"chars": "chars", "mixed": "mixed", "segment": "segment", "known": "whitespace"}
N, N_WORDS, N_PAIRS, SHIFT = 1000, 200, 5, 0.4


def words(code: str) -> list[str]:
    """Return the shortest names of one word in a language."""
    locale = Locale.parse(code)
    names = {*chain(locale.languages.values(), locale.territories.values())}
    single = [name for name in names if all(unicodedata.category(character)[0] in "LM" for character in name)]
    return sorted(single, key=lambda name: (len(name), name))[:N_WORDS]


def texts(names: list[str], seed: int, shift: float) -> list[list[str]]:
    """Return texts of 5 to 12 words; `shift` moves how likely the words are."""
    size = len(names)
    first, second = (np.random.default_rng(kind).dirichlet(np.full(size, 0.05), size) for kind in (0, 1))
    edges = np.cumsum((1 - shift) * first + shift * second, axis=1)
    rng = np.random.default_rng(seed)
    made = []
    for n_words in rng.integers(5, 13, N).tolist():
        line = [int(rng.integers(size))]
        for chance in rng.random(n_words - 1).tolist():
            line.append(min(size - 1, int(np.searchsorted(edges[line[-1]], chance))))
        made.append([names[word] for word in line])
    return made


def main() -> None:
    """Print a table: one row a language, one column a tokeniser."""
    warnings.simplefilter("ignore", SpacingWarning)
    print("language", *TOKENIZERS, sep="\t")
    for language, code in LANGUAGES.items():
        names = words(code)
        cells = []
        for name, tokenizer in TOKENIZERS.items():
            space = " " if name == "known" else ""
            values = []
            for pair in range(N_PAIRS):
                real, generated = (
                    [space.join(text) for text in texts(names, 2 * pair + side, side * SHIFT)] for side in (0, 1)
                )
                values.append(ta.dd(generated, real, effort="quick", tokenizer=tokenizer).value)
            cells.append(f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / N_PAIRS**0.5:.3f}")
        print(language, *cells, sep="\t", flush=True)


if __name__ == "__main__":
    main()
