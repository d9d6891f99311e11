"""Porter's stemmer: words that differ in their ending only have one stem.

Source: Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with what its author's own program has
besides: words of one or two letters stay as they are, "bli" becomes "ble" and "logi" becomes "log".
"""

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


def stem(word: str) -> str:
    """Return the stem of `word`, which is lower-cased first; what is no letter counts as a consonant."""
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
