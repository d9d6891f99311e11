"""The checks: one function a trivial difference of two texts, or a problem of one.

A difference is the gap between the shares of texts that show it (see `surface`). Of copies a count alone says little,
since short and common sentences occur in any corpus of a kind: there the baseline is the real text itself, how many of
its texts occur again in it, or in the training text.

Of answers of models, refusals and errors are known by how they begin, however the text was split into tokens.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import CUT_OFF, Corpus
from textassay.corpus.normalization import normalize
from textassay.corpus.packed_texts import PackedTexts
from textassay.corpus.tokenizer import SPLIT_AT_SPACES, finds_letters
from textassay.errors import InputError
from textassay.inspection.character_checks import sees_space
from textassay.inspection.finding import OWN_SHARE, REAL, Finding, Severity, own_finding
from textassay.inspection.sentence_keys import (
    Keys,
    beginning_keys,
    expected_repeats,
    n_distinct,
    occurs_elsewhere,
    occurs_in,
)
from textassay.inspection.surface import NOTE, Contrast, Mask, Pair, Surface, Trait, excerpt, gap, severity_of

CHARACTERS, UNSPACED, SPACING = "characters", "unspaced-text", "word-spacing"

# Thresholds of notes and of warnings, where they are not the usual ones
_EMPTY_NOTE, _EMPTY_WARNING = 0.001, 0.02
_LENGTH_NOTE, _LENGTH_WARNING = 0.1, 0.3
_MARKER_NOTE, _MARKER_WARNING = 0.005, 0.05
_SHARED_NOTE, _SHARED_WARNING = 0.01, 0.1
_BEGINNING_NOTE, _BEGINNING_WARNING = 0.1, 0.2
_UNSPACED_WARNING = 0.2

_FEW, _VERY_FEW = 1000, 200
_UNEQUAL = 10
_MIN_AT_EDGE, _MIN_SHARE_AT_EDGE = 10, 0.002
_CHANCE = 1e-4  # that lengths seem to differ
_STYLE_CHANGE = 0.1
_SAME_SHARE = 0.9
_RARER = 0.1
_MIN_OCCURRENCES = 10
_N_NAMED = 6
_BEGINNINGS = (5, 8, 12)  # tokens

_PUNCTUATION = (
    ("a final mark", Trait.STOP_GLUED, Trait.STOP),
    ("commas", Trait.COMMA_GLUED, Trait.COMMA),
    ("quotes or brackets", Trait.QUOTE_GLUED, Trait.QUOTE),
    ("apostrophes", Trait.APOSTROPHE_GLUED, Trait.APOSTROPHE),
    ("hyphens", Trait.HYPHEN_GLUED, Trait.HYPHEN),
    ("long or decimal numbers", Trait.NUMBER_GLUED, Trait.NUMBER_SPLIT),
)
_ARTEFACTS = {
    Trait.MOJIBAKE: "wrongly decoded characters",
    Trait.TREEBANK: "treebank brackets or quotes such as -LRB-",
}
# tokeniser: what tokens are where words have no spaces between them
_FOUND = {"chars": "characters", "mixed": "single letters there, and words elsewhere,"}
_NAMED_ELSEWHERE = (
    Trait.UNKNOWN | Trait.MASK | Trait.SPECIAL | Trait.WEAK_MASK | Trait.NUMBER_GLUED | Trait.ENTITY | Trait.JOINER
    | Trait.SUBWORD
)  # fmt: skip
for _trait in _ARTEFACTS:
    _NAMED_ELSEWHERE |= _trait

_ANSWER_WARNING = 0.05  # gap from which what answers show is a warning
_N_READ = 200  # characters at the start of a text
_N_SURE = 2  # bytes at the start that decide whether a text is read at all
_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")
_GLUE = re.compile(r" n't\b|n 't\b| ?(') ?| (?=[,.!:])")  # where a tokeniser put spaces that people do not write

_VERBS = (
    r"(assist|help|provide|fulfill?|comply|create|generate|write|answer|discuss|engage|support|share|continue|do that|"
    r"give|offer|produce|participate)"
)
_UNABLE = r"(can't|cannot|can not|am unable to|'m unable to|am not able to|'m not able to|won't|will not)"
_CANNOT = rf"(i ?)?{_UNABLE} {_VERBS}\b"
_REFUSAL = re.compile(
    rf"(i'm|i am|we're|we are) (really |very |so )?sorry,? (but )?{_CANNOT}"
    rf"|(sorry|apologies|my apologies|unfortunately),? (but )?{_CANNOT}"
    rf"|i apologi[sz]e,? (but )?{_CANNOT}"
    rf"|i ?{_UNABLE} {_VERBS}( \w+){{0,3}} (that|this|your|the) (request|question|topic|task|content)"
    r"|as an? (ai|artificial intelligence|large language model|language model)\b"
    r"|(i'm|i am) (just )?an ai\b"
)
_ERROR = re.compile(
    r'\{ ?" ?error" ?:|error code: \d{3}|traceback \(most recent call last\)|rate limit (reached|exceeded)'
    r"|http(/1\.1)? (4|5)\d\d|(openai|anthropic|requests|httpx)\.\w*error|internal server error"
)
_STARTS = ("i ", "i'", "i\u2019", "i\u02bc", "we", "so", "ap", "my", "un", "as", '{"', "{ ", "er", "tr", "ra", "ht",
           "op", "an", "re", "in")  # fmt: skip

_PROMPT_WARNING = 0.05  # of the prompts of both sides, from which missing answers change what is compared
_N_SETS_NAMED = 3


def few_sentences(corpus: Corpus, name: str) -> Finding | None:
    """Return a finding if `corpus` has too few texts for precise estimates."""
    n_sentences = len(corpus)
    if n_sentences >= _FEW:
        return None
    return own_finding(
        "small-sample",
        "warning" if n_sentences < _VERY_FEW else "note",
        name,
        f"Few texts: {n_sentences}; intervals are wide and small differences cannot be seen.",
        n_sentences,
        n_sentences,
        None,
        f"Give at least {_FEW:,} texts per side; with 10,000 a Distributional Discrepancy is precise to about 0.01.",
    )


def unequal_samples(pair: Pair) -> Finding | None:
    """Return a finding if one side has more than ten times as many texts as the other."""
    n_generated, n_real = len(pair.generated), len(pair.real)
    if max(n_generated, n_real) <= _UNEQUAL * min(n_generated, n_real):
        return None
    sizes = n_generated, n_real
    return pair.plain_finding(
        "unequal-samples",
        "note",
        f"Very unequal samples: {n_generated:,} generated and {n_real:,} real texts. The smaller side limits the "
        "precision, and metrics that depend on sample size differ for that reason alone.",
        sizes,
        sizes,
        (None, None),
        "Give about as many texts on both sides, or compare generators with equal numbers of texts.",
    )


def empty_sentences(pair: Pair) -> Finding | None:
    """Return a finding if generated texts are empty, or only real ones are."""
    everything = _everything(pair)
    contrast = pair.contrast((~pair.generated.filled, ~pair.real.filled), everything)
    severity = severity_of(contrast.gap, note=_EMPTY_NOTE, warning=_EMPTY_WARNING)
    if severity is None and not contrast.counts[0]:
        return None
    return pair.plain_finding(
        "empty-sentences",
        severity or "note",
        f"Empty texts: {contrast}.",
        contrast.counts,
        contrast.sizes,
        (None, None),
        "They count as texts: remove them from both files if they are stray blank lines.",
    )


def outer_space(pair: Pair) -> Finding | None:
    """Return a finding if white space in texts differs and the tokeniser lets metrics see it."""
    if not sees_space(pair.real.corpus):
        return None
    contrast = pair.contrast((spaced(pair.generated.corpus), spaced(pair.real.corpus)))
    severity = severity_of(contrast.gap)
    if severity is None:
        return None
    return pair.finding(
        "whitespace",
        severity,
        f"White space differs: {contrast} begin or end with a space, or have two in a row.",
        contrast,
        "Use --normalize, which leaves single spaces on both sides.",
    )


def length(pair: Pair) -> Finding | None:
    """Return a finding if the texts of one side are much longer."""
    sides = [side.corpus.lengths for side in pair.sides]
    sizes = [len(side) * side.weight for side in pair.sides]
    top = int(max(sides[0].max(), sides[1].max())) + 1
    below = [np.cumsum(np.bincount(lengths, minlength=top)) / len(lengths) for lengths in sides]
    at = int(np.argmax(np.abs(below[0] - below[1])))
    margin = math.sqrt(-math.log(_CHANCE / 2) / 2 * (sizes[0] + sizes[1]) / (sizes[0] * sizes[1]))
    severity = severity_of(
        max(abs(below[0][at] - below[1][at]) - margin, 0.0), note=_LENGTH_NOTE, warning=_LENGTH_WARNING
    )
    if severity is None:
        return None
    contrast = pair.contrast((sides[0] > at, sides[1] > at), _everything(pair))
    return pair.finding(
        "length",
        severity,
        f"Lengths differ: generated texts have {sides[0].mean():.1f} tokens on average, real ones "
        f"{sides[1].mean():.1f}; {contrast} have more than {at}.",
        contrast,
        "Check that both sides were prepared and split into texts the same way; if so, it is the generator's style.",
    )


def cut_length(pair: Pair) -> tuple[Finding, int | None] | None:
    """Return a finding if the texts of one side are cut at a length that the other side exceeds.

    Also returns the length in tokens (None if the cut is in characters). None without a finding.
    """
    in_tokens = _cut(pair, [side.corpus.lengths for side in pair.sides])
    if in_tokens is not None:
        return _cut_finding(pair, *in_tokens, unit="tokens"), in_tokens[1]
    characters = [np.fromiter(map(len, side.corpus.texts), dtype=np.int64, count=len(side)) for side in pair.sides]
    in_characters = _cut(pair, characters)
    if in_characters is not None:
        return _cut_finding(pair, *in_characters, unit="characters"), None
    return None


def spaced(corpus: Corpus) -> Mask:
    """Return which texts begin or end with a space or have two in a row, shape (N,)."""
    marks = (text != text.strip() or "  " in text for text in corpus.texts)
    return np.fromiter(marks, dtype=np.bool_, count=len(corpus))


def _cut(pair: Pair, lengths: list[npt.NDArray[np.int64]]) -> tuple[int, int, list[npt.NDArray[np.int64]]] | None:
    """Return which side is cut (0 generated, 1 real), at what length, and the lengths; None if neither is.

    A side is cut if many of its texts have the greatest length, unlike the tail of a distribution, and the other side
    has significantly more texts beyond that length.
    """
    for cut in (0, 1):
        edge = int(lengths[cut].max())
        n_at_edge = int(np.count_nonzero(lengths[cut] == edge))
        if edge == 0 or n_at_edge < max(_MIN_AT_EDGE, _MIN_SHARE_AT_EDGE * len(lengths[cut])):
            continue
        beyond = int(np.count_nonzero(lengths[0] > edge)), int(np.count_nonzero(lengths[1] > edge))
        if abs(pair.gap(beyond, (len(lengths[0]), len(lengths[1])))) >= NOTE:
            return cut, edge, lengths
    return None


def _cut_finding(pair: Pair, cut: int, edge: int, lengths: list[npt.NDArray[np.int64]], *, unit: str) -> Finding:
    beyond = pair.contrast((lengths[0] > edge, lengths[1] > edge), _everything(pair))
    at_edge = lengths[0] == edge, lengths[1] == edge
    counts = int(np.count_nonzero(at_edge[0])), int(np.count_nonzero(at_edge[1]))
    side, other = ("generated", "real") if cut == 0 else ("real", "generated")
    severity = severity_of(beyond.gap)
    remedy = (
        f"Use --max-tokens {edge}, which cuts both sides, or prepare both sides with the same limit."
        if unit == "tokens"
        else "Prepare both sides with the same limit, or generate without one."
    )
    return pair.plain_finding(
        "cut-length",
        severity or "note",
        f"The {side} texts seem truncated at {edge} {unit}: {counts[cut]:,} have exactly that many and none more, "
        f"but {beyond.counts[1 - cut]:,} of {beyond.sizes[1 - cut]:,} {other} texts do.",
        counts,
        beyond.sizes,
        (
            pair.generated.example(at_edge[0] if cut == 0 else lengths[0] > edge),
            pair.real.example(at_edge[1] if cut == 1 else lengths[1] > edge),
        ),
        remedy,
    )


def _everything(pair: Pair) -> tuple[Mask, Mask]:
    return np.ones(len(pair.generated), dtype=np.bool_), np.ones(len(pair.real), dtype=np.bool_)


def unspaced_text(side: Surface, name: str) -> Finding | None:
    """Return a finding if words of one side have no spaces between them, but the tokeniser splits at spaces.

    If tokens are characters, letters or found words for this reason, it is a note that says so.
    """
    spacing, tokenizer = side.spacing, side.corpus.tokenizer.split("+")[0]
    n_texts = len(side)
    is_unspaced = spacing.tokenizer != "whitespace"
    if is_unspaced and (tokenizer == "chars" or finds_letters(tokenizer)):
        tokens = _FOUND.get(tokenizer, "words found by ICU there, and words elsewhere,")
        how_many = _count_of(spacing.n_lacking, n_texts)
        remedy = "Nothing to repair."
        if tokenizer in _FOUND:
            remedy += " To compare words, use --tokenizer segment, or segment both sides into words."
        message = f"{how_many} have no spaces between words: tokens are {tokens} on all sides."
        return own_finding(CHARACTERS, "note", name, message, spacing.n_lacking, n_texts, None, remedy)
    if tokenizer not in SPLIT_AT_SPACES:
        return None
    n_lacking, lacking, better = spacing.n_lacking, spacing.lacking, spacing.tokenizer
    what = f"have no spaces between words, and {tokenizer} turns whole texts or phrases into single tokens"
    if spacing.n_alone > n_lacking:
        n_lacking, lacking, better = spacing.n_alone, spacing.single, "chars"
        what = "are one token each, and most of these tokens occur only once"
    severity = severity_of(n_lacking / max(1, spacing.n_filled), warning=_UNSPACED_WARNING)
    if severity is None:
        return None
    return own_finding(
        UNSPACED,
        severity,
        name,
        f"{_count_of(n_lacking, n_texts)} {what}: no metric of tokens can see a difference inside them.",
        n_lacking,
        n_texts,
        excerpt(side.corpus.texts[int(np.argmax(lacking))]),
        f"Use --tokenizer {better if is_unspaced else 'chars'}, which splits such text on all sides, or segment both "
        "sides into words.",
    )


def word_spacing(pair: Pair) -> Finding | None:
    """Return a finding if only one side has spaces between words; a short token of an unspaced script says nothing."""
    generated, real = pair.generated.spacing, pair.real.spacing
    long = pair.generated.filled & ~generated.short, pair.real.filled & ~real.short
    contrast = pair.contrast((generated.unspaced, real.unspaced), long)
    severity = severity_of(contrast.gap)
    if severity is None:
        return None
    return pair.finding(
        SPACING,
        severity,
        f"Spaces between words differ: {contrast} have none.",
        contrast,
        "Use spaces between words on both sides, or on neither.",
    )


def _count_of(n: int, n_texts: int) -> str:
    return f"{n:,} of {n_texts:,} texts ({100 * n / n_texts:.1f} %)"


def case(pair: Pair) -> Finding | None:
    """Return a finding if case differs: lower, upper, or no capital at the start."""
    lettered = _both(pair, Trait.LETTER)
    mostly = pair.generated.mostly_upper, pair.real.mostly_upper
    initial = _begins(pair, Trait.INITIAL_UPPER)
    ways = (
        ("are mostly in capitals", pair.contrast(mostly, lettered)),
        ("have a capital letter", pair.contrast(_both(pair, Trait.UPPER), lettered)),
        ("begin with a capital letter", pair.contrast(initial, _begins(pair, Trait.LETTER))),
    )
    for number, (what, contrast) in enumerate(ways):
        severity = severity_of(contrast.gap)
        if severity is None:
            continue
        remedy = "Use --lowercase, which lower-cases both sides, or prepare both sides the same way."
        if number and _same_share(pair, Trait.UPPER):
            severity = "note"
            remedy = (
                "Nothing to repair: both sides have about as many capital letters, in other positions. That is the "
                "generator's style; --lowercase removes them."
            )
        message = f"Case differs: {contrast} {what}."
        return pair.finding("case", severity, message, contrast, remedy, spots=(Trait.UPPER, Trait.UPPER))
    return None


def glued_punctuation(pair: Pair) -> Finding | None:
    """Return a finding if punctuation is attached to words on one side and separate on the other.

    A kind of mark counts if, among the texts that have it, the attached form is much more frequent on one side, and if
    this concerns enough of all texts to move a metric.
    """
    differing: list[tuple[str, Contrast, Contrast, Trait, Trait]] = []
    for what, glued, split in _PUNCTUATION:
        masks = [_with_mark(side, glued, split) for side in pair.sides]
        shown = masks[0][0], masks[1][0]
        among = pair.contrast(shown, (masks[0][0] | masks[0][1], masks[1][0] | masks[1][1]))
        overall = pair.contrast(shown)
        if abs(among.gap) >= _STYLE_CHANGE and abs(overall.gap) >= NOTE and among.gap * overall.gap > 0:
            differing.append((what, among, overall, glued, split))
    if not differing:
        return None
    what, among, overall, glued, split = max(differing, key=lambda item: abs(item[2].gap))
    others = [item[0] for item in differing if item[0] != what]
    also = f" (also {', '.join(others)})" if others else ""
    severity = severity_of(overall.gap)
    return pair.finding(
        "glued-punctuation",
        severity or "note",
        f"Punctuation is attached to words on one side and separate on the other: of the texts with {what}, "
        f"{among} have it attached{also}.",
        among,
        "Use --normalize, which splits punctuation off on both sides, or --tokenizer words.",
        spots=(glued, split) if overall.gap > 0 else (split, glued),
    )


def final_punctuation(pair: Pair, shorter_than: int | None) -> Finding | None:
    """Return a finding if the texts of one side lack final punctuation."""
    stop = Trait.STOP | Trait.STOP_GLUED
    among = _shorter(pair.generated, shorter_than), _shorter(pair.real, shorter_than)
    lacks = (pair.generated.last & int(stop)) == 0, (pair.real.last & int(stop)) == 0
    contrast = pair.contrast(lacks, among)
    severity = severity_of(contrast.gap)
    if severity is None:
        return None
    remedy = "Keep final punctuation on both sides, or remove it on both."
    if _same_share(pair, stop):
        severity = "note"
        remedy = "Nothing to repair: the marks are as frequent, but in other positions, which is the generator's style."
    message = f"Final punctuation differs: {contrast} end without it."
    return pair.finding("missing-final-punctuation", severity, message, contrast, remedy)


def _both(pair: Pair, traits: Trait) -> tuple[Mask, Mask]:
    return pair.generated.shows(traits), pair.real.shows(traits)


def _begins(pair: Pair, traits: Trait) -> tuple[Mask, Mask]:
    """Return which texts of each side begin with a token that has any of `traits`."""
    return (pair.generated.first & int(traits)) != 0, (pair.real.first & int(traits)) != 0


def _shorter(side: Surface, length: int | None) -> Mask:
    return side.filled if length is None else side.filled & (side.corpus.lengths < length)


def _with_mark(side: Surface, glued: Trait, split: Trait) -> tuple[Mask, Mask]:
    """Return which texts have the mark attached and which separate; of full stops only the final one counts."""
    if glued is Trait.STOP_GLUED:
        return (side.last & int(glued)) != 0, (side.last & int(split)) != 0
    return side.shows(glued), side.shows(split)


def _same_share(pair: Pair, traits: Trait) -> bool:
    """Return whether about as many tokens have `traits` on both sides."""
    shares = []
    for side in pair.sides:
        counts = np.bincount(side.words.tokens, minlength=len(side.traits))
        shares.append(int(counts[(side.traits & int(traits)) != 0].sum()) / max(len(side.words.tokens), 1))
    return min(shares) > _SAME_SHARE * max(shares)


def unknown_tokens(pair: Pair) -> Finding | None:
    """Return a finding if tokens such as ``<unk>`` replace rare words more often on one side."""
    return _marker(
        pair,
        Trait.UNKNOWN,
        "unknown-tokens",
        "have a token that replaces an unknown word",
        "Give both sides the same vocabulary: replace rare words by the same token on both sides, or on neither.",
        "Nothing to repair, if both sides share one vocabulary; words outside it are then not compared.",
    )


def masked_digits(pair: Pair) -> Finding | None:
    """Return a finding if numbers are masked (``_num_``, ``N``, ``##``, ``000``) more often on one side.

    The last three also occur in ordinary text: they count only if the other side has more plain digits.
    """
    weak = pair.traits(Trait.WEAK_MASK).gap * pair.traits(Trait.DIGIT).gap < 0
    for trait in (Trait.MASK, Trait.WEAK_MASK) if weak else (Trait.MASK,):
        finding = _marker(
            pair,
            trait,
            "masked-digits",
            "have a masked number",
            "Mask numbers on both sides in the same way, or on neither.",
        )
        if finding is not None:
            return finding
    return None


def digits(pair: Pair) -> Finding | None:
    """Return a finding if one side has almost no digits and the other does."""
    contrast = pair.traits(Trait.DIGIT)
    severity = severity_of(contrast.gap)
    shares = sorted(count / max(size, 1) for count, size in zip(contrast.counts, contrast.sizes, strict=True))
    if severity is None or shares[0] > _RARER * shares[1]:
        return None
    return pair.finding(
        "digits",
        severity,
        f"Numbers are written differently: {contrast} have a digit from 1 to 9.",
        contrast,
        "Write numbers the same way on both sides: as digits, as words or as one mask.",
        spots=(Trait.DIGIT, Trait.DIGIT),
    )


def special_tokens(pair: Pair) -> Finding | None:
    """Return a finding if tokens such as ``</s>`` or ``[PAD]`` were left in, on one side or on both."""
    return _marker(
        pair,
        Trait.SPECIAL,
        "special-tokens",
        "have a special token left in",
        "Strip special tokens from both sides, as by sed -E 's/ *<[^>]*> *//g' < FILE > NEW: they are not part of the "
        "text.",
        "Remove them from both sides: shared tokens make n-gram overlap look better than it is.",
    )


def alphabet(pair: Pair, explained: frozenset[int] = frozenset()) -> Finding | None:
    """Return a finding if one side has characters or tokeniser marks that the other lacks, besides `explained` ones.

    Letters are compared without case; ASCII letters and digits, markers such as ``<unk>`` and numbers such as ``1,600``
    have checks of their own. A side lacks a character if it is less than a tenth as frequent there.
    """
    only: list[Mask] = []
    names: list[list[str]] = []
    lacks: list[list[int]] = []
    words = _compared(pair.real)
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    types = np.repeat(np.arange(len(words)), [len(word) for word in words])
    counts = [_occurrences(side, codes, types) for side in pair.sides]
    for here, there, sign in ((0, 1, 1), (1, 0, -1)):
        lacking = [code for code in _lacking(counts[here], counts[there]) if code not in explained]
        chosen = np.zeros(len(words), dtype=np.bool_)
        chosen[types[np.isin(codes, lacking)]] = True
        artefacts = []
        for trait, name in _ARTEFACTS.items():
            if sign * pair.traits(trait).gap >= _MARKER_NOTE:
                chosen |= (pair.real.traits & int(trait)) != 0
                artefacts.append(name)
        only.append(chosen)
        lacks.append(lacking)
        names.append(artefacts + [_character_name(code) for code in lacking])
    contrasts = [pair.contrast((_has(pair.generated, chosen), _has(pair.real, chosen))) for chosen in only]
    worst = int(abs(contrasts[1].gap) > abs(contrasts[0].gap))
    severity: Severity | None = severity_of(contrasts[worst].gap, note=_MARKER_NOTE, warning=_MARKER_WARNING)
    if severity is None or (contrasts[worst].gap > 0) != (worst == 0):
        return None
    side, other = ("generated", "real") if worst == 0 else ("real", "generated")
    listed = ", ".join(names[worst][:_N_NAMED]) + (" and others" if len(names[worst]) > _N_NAMED else "")
    return pair.finding(
        "alphabet",
        severity,
        f"The {side} text has what the {other} text lacks: {contrasts[worst]} have one or more of: {listed}.",
        contrasts[worst],
        _remedy_of_alphabet(pair, names[worst], lacks[worst]),
        spots=(only[worst], only[worst]),
    )


def _remedy_of_alphabet(pair: Pair, names: Sequence[str], lacking: Sequence[int]) -> str:
    """Return what to do: --normalize where it changes what one side lacks, and was not used."""
    changes = _ARTEFACTS[Trait.TREEBANK] in names or any(normalize(chr(code)) != chr(code) for code in lacking)
    if not changes or "+normalize" in pair.real.corpus.tokenizer:
        return "Prepare both sides the same way."
    return "Use --normalize, which unifies quotes, dashes and character widths; prepare the rest alike on both sides."


def _marker(pair: Pair, trait: Trait, kind: str, what: str, remedy: str, if_both: str = "") -> Finding | None:
    """Return a finding if one side has a marker more often; with `if_both`, a remedy, also if both have it as often."""
    contrast: Contrast = pair.traits(trait)
    severity = severity_of(contrast.gap, note=_MARKER_NOTE, warning=_MARKER_WARNING)
    if severity is None:
        shares = [count / max(size, 1) for count, size in zip(contrast.counts, contrast.sizes, strict=True)]
        if not if_both or min(shares) < OWN_SHARE:
            return None
        severity, what, remedy = "note", f"{what}, on both sides", if_both
    return pair.finding(kind, severity, f"{contrast} {what}.", contrast, remedy, spots=(trait, trait))


def _compared(side: Surface) -> list[str]:
    """Return the tokens of the vocabulary in lower case; those that other checks report are empty strings."""
    ordinary = (side.traits & int(_NAMED_ELSEWHERE)) == 0
    return [
        token.lower() if compared else ""
        for token, compared in zip(side.words.vocabulary.tokens, ordinary.tolist(), strict=True)
    ]


def _occurrences(side: Surface, codes: npt.NDArray[np.uint32], types: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the number of occurrences of each character, shape (largest code + 1,)."""
    n_tokens = np.bincount(side.words.tokens, minlength=len(side.traits))
    return np.bincount(codes, weights=n_tokens[types]).astype(np.float64)


def _lacking(here: npt.NDArray[np.float64], there: npt.NDArray[np.float64]) -> list[int]:
    """Return the characters frequent in `here` that `there` lacks, most frequent first."""
    n_here, n_there = int(here.sum()), int(there.sum())
    if not n_here or not n_there:
        return []
    candidates = np.flatnonzero((here >= _MIN_OCCURRENCES) & (_RARER * here / n_here > there / n_there))
    lacking = [
        code
        for code in candidates.tolist()
        if not (chr(code).isascii() and (chr(code).isalnum() or chr(code) in ".!?"))
        and gap(int(here[code]), n_here, int(there[code]), n_there) > 0
    ]
    return sorted(lacking, key=lambda code: -here[code])


def _has(side: Surface, types: Mask) -> Mask:
    """Return which texts have a token of `types`, shape (N,)."""
    mask = np.zeros(len(side), dtype=np.bool_)
    filled = np.flatnonzero(side.words.lengths)
    if len(filled):
        mask[filled] = np.logical_or.reduceat(types[side.words.tokens], side.words.offsets[filled])
    return mask


def _character_name(code: int) -> str:
    character = chr(code)
    name = unicodedata.name(character, f"U+{code:04X}")
    return f"{character} ({name.lower()})" if character.isprintable() else name.lower()


def same_text(pair: Pair) -> Finding | None:
    """Return a finding if both sides are the same texts, in any order."""
    generated, real = pair.generated.keys, pair.real.keys
    if len(generated) != len(real) or not np.array_equal(np.sort(generated), np.sort(real)):
        return None
    n_sentences = len(real)
    everything = np.ones(n_sentences, dtype=np.bool_)
    order = "" if np.array_equal(generated, real) else ", in another order"
    sizes = n_sentences, n_sentences
    return pair.plain_finding(
        "same-text",
        "warning",
        f"The generated and the real side are the same {n_sentences:,} texts{order}.",
        sizes,
        sizes,
        (pair.generated.example(everything), pair.real.example(everything)),
        "Check the file names: a text compared with itself scores as perfect on every overlap metric, and its dd is "
        "meaningless.",
    )


def repeated(pair: Pair) -> Finding | None:
    """Return a finding if generated texts repeat one another; a note if real ones do so as often."""
    filled = pair.generated.filled, pair.real.filled
    generated, real = pair.generated.keys[filled[0]], pair.real.keys[filled[1]]
    n_drawn = min(len(generated), len(real))
    if not n_drawn:
        return None
    shares = expected_repeats(generated, n_drawn), expected_repeats(real, n_drawn)
    difference = gap(round(shares[0] * n_drawn), n_drawn, round(shares[1] * n_drawn), n_drawn)
    severity = severity_of(difference)
    if severity is None and shares[0] < OWN_SHARE:
        return None
    n_repeats = len(generated) - n_distinct(generated), len(real) - n_distinct(real)
    if difference == 0:
        remedy = (
            "Nothing to repair: real text repeats itself about as often."
            if min(shares) > _SAME_SHARE / 2 * max(shares)
            else "Nothing to repair: a difference of this size may be chance; more texts would tell."
        )
    elif difference < 0:
        severity = "note"
        remedy = "Check whether repeats were removed from the generated side: repeated texts are legitimate samples."
    else:
        remedy = (
            "Nothing to repair: repetition counts against the generator. The details of dd give the value over "
            "distinct texts, which shows what else differs."
        )
    at_size = f"; among {n_drawn:,} of each:" if len(generated) != len(real) else ":"
    return pair.plain_finding(
        "repeated-sentences",
        severity or "note",
        f"Repeated texts: {n_repeats[0]:,} of {len(generated):,} generated and {n_repeats[1]:,} of {len(real):,} real "
        f"ones repeat an earlier one{at_size} {100 * shares[0]:.1f} % and {100 * shares[1]:.1f} %.",
        n_repeats,
        (len(generated), len(real)),
        (
            _most_frequent(pair.generated, generated, filled[0]),
            _most_frequent(pair.real, real, filled[1]),
        ),
        remedy,
    )


def shared(pair: Pair) -> Finding | None:
    """Return a finding if more generated texts occur in the real text than real ones occur twice in it."""
    masks = occurs_in(pair.generated.keys, pair.real.keys), occurs_elsewhere(pair.real.keys)
    return _copied(
        pair,
        masks,
        "shared-sentences",
        "also occur in the real text (a second time, for real ones)",
        "Overlap metrics mistake copies of the real text for quality, and dd's classifiers recognise them. Give real "
        "text that the generator has never seen.",
    )


def real_beginnings(pair: Pair) -> Finding | None:
    """Return a finding if generated texts begin as one real text does, more often than real texts as one other.

    Beginnings that several real texts have are common phrases, which a generator may know; so are those that a
    generator writes again and again, of which each counts once. Whole copies are left to `shared`.
    """
    sides = [side.words for side in pair.sides]
    copies = occurs_in(pair.generated.keys, pair.real.keys), occurs_elsewhere(pair.real.keys)
    found = [_beginnings(pair, copies, n_tokens) for n_tokens in _BEGINNINGS]
    contrast, n_tokens = max(found, key=lambda one: one[0].gap)
    severity = severity_of(contrast.gap, note=_BEGINNING_NOTE, warning=_BEGINNING_WARNING)
    if severity is None or contrast.gap < 0:
        return None
    example = int(np.argmax(contrast.has_trait[0]))
    keys = [beginning_keys(side, n_tokens) for side in sides]
    shares = [100 * count / max(size, 1) for count, size in zip(contrast.counts, contrast.sizes, strict=True)]
    return pair.plain_finding(
        "real-beginnings",
        severity,
        f"Continuations of real beginnings: {contrast.counts[0]:,} of {contrast.sizes[0]:,} distinct beginnings of "
        f"generated texts ({n_tokens} tokens, {shares[0]:.1f} %) each equal that of one real text. Only "
        f"{shares[1]:.1f} % of the real texts begin like one other real text. These beginnings are real text, not "
        "the generator's.",
        contrast.counts,
        contrast.sizes,
        (excerpt(sides[0].texts[example]), excerpt(sides[1].texts[int(np.argmax(keys[1] == keys[0][example]))])),
        "Remove the prompt from both sides, and give the prompts in a separate column (--prompt-column NAME). Or use "
        "real text that no generator was prompted with.",
    )


def _beginnings(pair: Pair, copies: tuple[Mask, Mask], n_tokens: int) -> tuple[Contrast, int]:
    """Return how many texts begin as exactly one (other) real text, and the length."""
    sides = [side.words for side in pair.sides]
    long = [side.lengths >= n_tokens for side in sides]
    keys = [beginning_keys(side, n_tokens) for side in sides]
    once = np.zeros(len(pair.generated), dtype=np.bool_)
    once[np.flatnonzero(long[0])[np.unique(keys[0][long[0]], return_index=True)[1]]] = True
    known, counts = np.unique(keys[1][long[1]], return_counts=True)
    shown = occurs_in(keys[0], known[counts == 1]) & ~copies[0], occurs_in(keys[1], known[counts == 2]) & ~copies[1]
    return pair.contrast(shown, (once, long[1])), n_tokens


def memorised(pair: Pair, train: Keys) -> Finding | None:
    """Return a finding if more generated than real texts occur in the training text."""
    masks = occurs_in(pair.generated.keys, train), occurs_in(pair.real.keys, train)
    return _copied(
        pair,
        masks,
        "memorised-sentences",
        "also occur in the training text",
        "The generator repeats its training text: compare it with real text that is not in the training text.",
    )


def real_in_train(real: Surface, train: Keys) -> Finding | None:
    """Return a finding if real texts occur in the training text more often than training texts repeat."""
    return _real_in(
        real,
        train,
        "memorised-sentences",
        "the training text",
        "Give real text that the generator was not trained on; otherwise metrics mistake memorisation for quality.",
    )


def real_in_fit(real: Surface, fit_real: Keys) -> Finding | None:
    """Return a finding if real texts occur in the text that is only learnt from more often than its texts repeat."""
    return _real_in(
        real,
        fit_real,
        "real-in-fit-real",
        "the text of --fit-real",
        "Give other real text: dd's classifiers would recognise the texts that they are tested on.",
    )


def _real_in(real: Surface, train: Keys, kind: str, what: str, remedy: str) -> Finding | None:
    keys = real.keys
    mask = occurs_in(keys, train)
    repeats = occurs_elsewhere(train)
    n_seen = int(np.count_nonzero(mask))
    difference = gap(n_seen, len(keys), int(np.count_nonzero(repeats)), len(train))
    severity = severity_of(difference, note=_SHARED_NOTE, warning=_SHARED_WARNING)
    if severity is None or difference < 0:
        return None
    return own_finding(
        kind,
        severity,
        REAL,
        f"{n_seen:,} of {len(keys):,} real texts ({100 * n_seen / len(keys):.1f} %) occur in {what}, where "
        f"{100 * np.count_nonzero(repeats) / len(train):.1f} % of the texts occur more than once.",
        n_seen,
        len(keys),
        real.example(mask),
        remedy,
    )


def _copied(pair: Pair, masks: tuple[Mask, Mask], kind: str, what: str, remedy: str) -> Finding | None:
    contrast = pair.contrast(masks)
    severity = severity_of(contrast.gap, note=_SHARED_NOTE, warning=_SHARED_WARNING)
    if severity is None or contrast.gap < 0:
        return None
    return pair.finding(kind, severity, f"{contrast} {what}.", contrast, remedy)


def _most_frequent(side: Surface, keys: Keys, filled: Mask) -> str | None:
    """Return the most frequent text with its count, or None; `keys` are those of the `filled` texts."""
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    best = int(np.argmax(counts))
    if counts[best] < 2:
        return None
    one = np.zeros(len(side), dtype=np.bool_)
    one[np.flatnonzero(filled)[first[best]]] = True
    return f"{side.example(one)} ({counts[best]} times)"


def refusals(pair: Pair) -> Finding | None:
    """Return a finding if generated texts decline to answer."""
    return _by_start(
        pair,
        _REFUSAL,
        "refusals",
        "Refusals",
        "begin like a refusal",
        "Measure them separately: they identify the generator, whatever its other answers are like.",
    )


def error_messages(pair: Pair) -> Finding | None:
    """Return a finding if generated texts are messages of an endpoint or a program."""
    return _by_start(
        pair,
        _ERROR,
        "error-messages",
        "Errors instead of texts",
        "are the message of an error",
        "Request these answers again, or leave them out: the generator did not write them.",
    )


def cut_off(pair: Pair) -> Finding | None:
    """Return a finding if a limit of length ended generated texts, where their file says so."""
    ended = _cut_off(pair.generated), _cut_off(pair.real)
    if not ended[0].any():
        return None
    contrast = pair.contrast(ended)
    return pair.finding(
        "cut-off-answers",
        "warning" if contrast.gap >= _ANSWER_WARNING else "note",
        f"Truncated: a length limit ended {contrast} (finish reason).",
        contrast,
        "Request them again with a higher limit, or cut both sides with --max-tokens: classifiers detect missing ends.",
    )


def _by_start(pair: Pair, pattern: re.Pattern[str], kind: str, title: str, what: str, remedy: str) -> Finding | None:
    shown = _begin(pair.generated, pattern), _begin(pair.real, pattern)
    if not shown[0].any():
        return None
    contrast = pair.contrast(shown)
    severity: Severity = "warning" if contrast.gap >= _ANSWER_WARNING else "note"
    return pair.finding(kind, severity, f"{title}: {contrast} {what}.", contrast, remedy)


def _begin(side: Surface, pattern: re.Pattern[str]) -> Mask:
    """Return which texts begin with `pattern`; most are not read, because their first letters say enough."""
    texts = PackedTexts.of(side.corpus.texts)
    shown = np.zeros(len(texts), dtype=np.bool_)
    places = np.flatnonzero(_may_begin(texts))
    for place, text in zip(places.tolist(), texts.take(places), strict=True):
        start = _GLUE.sub(_unglued, text[:_N_READ].strip().lower().translate(_APOSTROPHES))
        shown[place] = pattern.match(start) is not None
    return shown


def _unglued(match: re.Match[str]) -> str:
    return "n't" if "t" in match[0] else match[1] or ""


def _may_begin(texts: PackedTexts) -> Mask:
    """Return which texts have two first bytes that a pattern may begin with, or begin with white space."""
    long = texts.lengths >= _N_SURE
    pairs = np.zeros((len(texts), _N_SURE), dtype=np.uint8)
    for offset in range(_N_SURE):
        pairs[long, offset] = texts.data[texts.starts[long] + offset]
    is_upper = (pairs >= ord("A")) & (pairs <= ord("Z"))
    codes = np.where(is_upper, pairs + 32, pairs).astype(np.uint16) @ np.array([256, 1], dtype=np.uint16)
    wanted = [start.encode()[0] * 256 + start.encode()[1] for start in _STARTS]
    return np.isin(codes, wanted) | (long & (pairs[:, 0] <= ord(" ")))


def _cut_off(side: Surface) -> Mask:
    column = side.corpus.columns.get(CUT_OFF)
    return np.zeros(len(side), dtype=np.bool_) if column is None else np.asarray(column == 1)


def prompt_findings(prompts: Corpus, real: Corpus, generated: Mapping[str, Corpus]) -> list[Finding]:
    """Return what is wrong with the prompts of each generator; raise where it shares none with the real text.

    All come with group numbers, which say what answers which prompt; `prompts` holds each once.
    """
    assert prompts.groups is not None
    assert real.groups is not None
    texts = dict(zip(prompts.groups.tolist(), prompts.texts, strict=True))
    of_real = set(np.unique(real.groups).tolist())
    findings = []
    for name, corpus in generated.items():
        assert corpus.groups is not None
        own = set(np.unique(corpus.groups).tolist())
        only_real, only_own = sorted(of_real - own), sorted(own - of_real)
        if not (only_real or only_own):
            continue
        n_near, example = _nearly_equal([texts[one] for one in only_own], [texts[one] for one in only_real])
        near = (
            f"; {n_near:,} of these differ from a real one only by white space, case or character forms"
            if n_near
            else ""
        )
        if not of_real & own:
            raise InputError(
                f"none of the {len(own):,} prompts of {name} is among the {len(of_real):,} prompts of the real "
                f"text{near}: give answers to the same prompts, written alike"
            )
        n_all = len(of_real | own)
        share = (len(only_real) + len(only_own)) / n_all
        findings.append(
            Finding(
                "prompts-of-one-side",
                "warning" if share >= _PROMPT_WARNING or n_near else "note",
                name,
                f"{len(only_real):,} of {len(of_real):,} prompts of the real text have no answer by {name}, and "
                f"{len(only_own):,} of its {len(own):,} prompts no real answer{near}. Conditional dd leaves them "
                "out, other metrics do not.",
                len(only_own),
                len(only_real),
                len(own),
                len(of_real),
                None if not only_own else excerpt(example[0] if example else texts[only_own[0]]),
                None if not only_real else excerpt(example[1] if example else texts[only_real[0]]),
                "Write prompts alike on both sides." if n_near else "Give both sides answers to the same prompts.",
            )
        )
    return findings


def prompts_unused(names: Sequence[str], everything: Sequence[str]) -> Finding:
    """Return the finding that some sets of texts came with prompts, and others did not, so that none were used."""
    lacking = [name for name in everything if name not in names]
    return Finding(
        "prompts-not-used",
        "warning",
        REAL,
        f"Prompts were not used, since {_listed(lacking)} came without prompts, unlike {_listed(names)}.",
        0,
        0,
        0,
        0,
        None,
        None,
        "Give all texts their prompts (--prompt-column NAME), so that answers to the same prompt are compared.",
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _N_SETS_NAMED} more" if len(names) > _N_SETS_NAMED else ""
    return ", ".join(names[:_N_SETS_NAMED]) + more


def _nearly_equal(own: Sequence[str], real: Sequence[str]) -> tuple[int, tuple[str, str] | None]:
    """Return how many of `own` are one of `real` but for white space, case and the form of characters, and a pair."""
    plain = {_plain(text): text for text in real}
    pairs = [(text, plain[_plain(text)]) for text in own if _plain(text) in plain]
    return len(pairs), pairs[0] if pairs else None


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
