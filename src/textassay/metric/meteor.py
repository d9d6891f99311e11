"""METEOR: words that generated texts share with the nearest real texts, in few unbroken runs.

Source: Banerjee and Lavie, "METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with Human
Judgments", ACL 2005 workshop, with its constants; as a score of generators: Garbacea, Carton, Yan, Mei, "Judge the
Judges", EMNLP 2019; stems: Porter, "An algorithm for suffix stripping", Program 14(3), 1980.
Departs from them: words match as they are, then by their stem, then, where asked for, by WordNet; within each stage the
last word takes the last that is free, as in NLTK, where the paper looks for the alignment with fewest crossings (NLTK
looks up the synonyms of stems, this of words).
TF-IDF vectors decide what is near; there is an interval. The Java program (METEOR 1.5), which the study ran, has other
constants (alpha 0.85, beta 0.2, gamma 0.6), weighs function words and stages, knows paraphrases, stems by Snowball, and
sums counts over all sentences: its values are not comparable.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus
from textassay.errors import MissingExtraError, UnavailableError
from textassay.metric.base import Computed, Counted, EncoderName, declare_metric
from textassay.metric.kernels_words import score_pairs
from textassay.metric.overlap import Equal, RowsOf, best_rows, overlap

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate"),
    *("iti", "ous", "ive", "ize"),
)


@declare_metric(
    "meteor",
    "mean METEOR of each generated sentence against the best of the ten real ones nearest to it",
    better="higher",
    bounds=(0, 1),
    only_named=True,
    cost="quadratic",
    family="nearest",
)
def meteor(
    generated: Corpus,
    real: Corpus,
    *,
    synonyms: Literal["none", "wordnet"] = "none",
    references: Counted = 10,
    nearest: EncoderName = "tf-idf",
    equal: Equal = "keep",
    seed: int = 0,
) -> Computed:
    """Return the mean METEOR of generated sentences, each against the best of the real texts nearest to it.

    Parameters
    ----------
    generated
        The hypotheses; one that shares no word scores 0.
    real
        Where references come from. The same `Corpus` on both sides: no sentence is a reference of itself.
    synonyms
        ``wordnet``: words that neither match as they are nor by their stem may match as synonyms; English only, by
        NLTK (the ``wordnet`` extra) and its data.
    references, nearest, equal, seed
        As for `bleu_nearest`.

    Returns
    -------
    Estimate
        Fraction in [0, 1), higher is better. A text equal to its reference scores ``1 - 0.5 / n_tokens^3``. It rises
        with the number of real texts.

    Raises
    ------
    MissingExtraError, UnavailableError
        If synonyms are asked for and NLTK or its WordNet is not there.

    Notes
    -----
    With m matches in c runs, P and R the matches over the tokens of either side: ``P R / (0.9 P + 0.1 R) (1 - 0.5 (c /
    m)^3)``, of lower-cased tokens. The interval is that of `bleu_nearest`, with the scores of the sentences themselves.
    """
    match = "exact+stem" if synonyms == "none" else f"exact+stem+wordnet{_wordnet().get_version()}"
    found = overlap(generated, real, _rows, synonyms, near=(references, nearest, equal, seed))
    return found.mean(match=match)


def _rows(hypotheses: Corpus, references: Corpus, pairs: IntArray, synonyms: str) -> RowsOf:
    reader = None if synonyms == "none" else _wordnet()
    return best_rows(meteor_pairs(hypotheses, references, pairs, wordnet=reader)[..., None])


def meteor_pairs(hypotheses: Corpus, references: Corpus, pairs: IntArray, *, wordnet: Any | None = None) -> FloatArray:
    """Return the METEOR of each pair.

    `pairs`: numbers of the references of each hypothesis, shape (N, k); `wordnet`: a reader of WordNet with
    ``synsets(word)``, whose items have ``lemmas()`` with a ``name()``; or none.

    Shape (N, k); 0 where there is no reference.
    """
    used = np.union1d(hypotheses.tokens, references.tokens)
    words = [token.lower() for token in hypotheses.vocabulary.decode(used)]
    number_of = {word: number for number, word in enumerate(dict.fromkeys(words))}
    stem_of: dict[str, int] = {}
    stems = np.array([stem_of.setdefault(stem(word), len(stem_of)) for word in number_of], dtype=np.int32)
    numbers = np.zeros(len(hypotheses.vocabulary), dtype=np.int32)
    numbers[used] = [number_of[word] for word in words]
    starts, others = _synonyms(number_of, wordnet)
    scores: FloatArray = score_pairs(
        numbers[hypotheses.tokens],
        hypotheses.offsets,
        numbers[references.tokens],
        references.offsets,
        pairs,
        stems,
        starts,
        others,
    )
    return scores


def _wordnet() -> Any:
    """Return NLTK's reader of WordNet, its data loaded."""
    try:
        from nltk.corpus import wordnet
    except ImportError as error:
        raise MissingExtraError("meteor(synonyms=wordnet)", "wordnet") from error
    try:
        wordnet.ensure_loaded()
    except LookupError as error:
        raise UnavailableError(
            "meteor(synonyms=wordnet) needs NLTK's WordNet: python -m nltk.downloader wordnet"
        ) from error
    return wordnet


def _synonyms(number_of: Mapping[str, int], wordnet: Any | None) -> tuple[IntArray, npt.NDArray[np.int32]]:
    """Return the numbers of the synonyms of each word among the words, itself left out, and where each word's start."""

    def of(word: str) -> Iterable[int]:
        lemmas = chain.from_iterable(synset.lemmas() for synset in wordnet.synsets(word)) if wordnet else ()
        names = {lemma.name() for lemma in lemmas} - {word}
        return sorted(number_of[name] for name in names if name in number_of and "_" not in name)

    synonyms = [list(of(word)) for word in number_of]
    starts = np.concatenate(([0], np.cumsum([len(others) for others in synonyms], dtype=np.int64)))
    return starts.astype(np.int64), np.array(list(chain.from_iterable(synonyms)), dtype=np.int32)


def stem(word: str) -> str:
    """Return Porter's stem of `word`, which is lower-cased first; what is no letter counts as a consonant.

    As in the author's own program, words of one or two letters stay, "bli" becomes "ble" and "logi" becomes "log".
    """
    word = word.lower()
    if len(word) <= 2:
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and "v" in _kinds(word[:-1]):
        word = word[:-1] + "i"
    for endings in (_STEP_2, _STEP_3):
        ending = _longest(word, endings)
        if ending and _measure(word[: -len(ending)]) > 0:
            word = word[: -len(ending)] + endings[ending]
    ending = _longest(word, _STEP_4)
    if ending and _measure(word[: -len(ending)]) > 1 and (ending != "ion" or word[-4] in "st"):
        word = word[: -len(ending)]
    return _tidy(word)


def _plural(word: str) -> str:
    """Return what step 1a makes of a word."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    """Return what step 1b makes of a word."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = next((ending for ending in ("ed", "ing") if word.endswith(ending)), "")
    if not ending or "v" not in _kinds(word[: -len(ending)]):
        return word
    word = word[: -len(ending)]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _tidy(word: str) -> str:
    """Return what step 5 makes of a word."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _kinds(word: str) -> str:
    """Return v for every vowel and c for every consonant; y is a vowel after a consonant."""
    kinds: list[str] = []
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == ["c"])
        kinds.append("v" if is_vowel else "c")
    return "".join(kinds)


def _measure(word: str) -> int:
    """Return how often a consonant follows a vowel."""
    return _kinds(word).count("vc")


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _kinds(word)[-1] == "c"


def _ends_short(word: str) -> bool:
    """Return whether the end is consonant, vowel, consonant, the last of them not w, x or y."""
    return _kinds(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _longest(word: str, endings: "dict[str, str] | tuple[str, ...]") -> str:
    return max((ending for ending in endings if word.endswith(ending)), key=len, default="")
