"""Pages of a real-or-fake study: half of each page real, generators balanced, one attention check, rare words marked.

Source: Garbacea et al., "Judge the Judges", EMNLP 2019: pages of 20 reviews, 10 of them real, and one attention check;
words outside the vocabulary are shown as underscores.
Departs from it: the attention check is a sentence of its own, not a generated review with a sentence added; generators
are balanced over the pages; if words are counted in the real texts that are judged, each real text is left out of its
own counts: otherwise every word of a real text would have been seen at least once, unlike those of a generated text.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.errors import OptionError, TooFewSentencesError
from textassay.seeding import stream
from textassay_lab.human.study import Study, StudyItem, StudyPage

FloatArray = npt.NDArray[np.float64]

MARK = "__"
_TEXTS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class MarkedTexts:
    """Both sides with their rare words marked, and the fraction of marks among the words of each side."""

    real: tuple[str, ...]  # Words separated by single spaces
    generated: Mapping[str, tuple[str, ...]]  # Generator to texts
    # Generator (None: real text) to a fraction in [0, 1]; marks that were in the text before count, too
    shares: Mapping[str | None, float]


def mark_rare_words(
    real: Sequence[str],
    generated: Mapping[str, Sequence[str]],
    *,
    min_count: int,
    counted: Iterable[str] | None = None,
) -> MarkedTexts:
    """Return both sides with every word that occurs fewer than `min_count` times in `counted` replaced by `MARK`."""
    if min_count < 1:
        raise OptionError(f"min_count must be at least 1, got {min_count}")
    counts = Counter(word for text in (real if counted is None else counted) for word in text.split())

    def marked(text: str, *, is_counted: bool) -> str:
        words = text.split()
        own = Counter(words) if is_counted else Counter[str]()
        return " ".join(word if is_mark(word) or counts[word] - own[word] >= min_count else MARK for word in words)

    real_marked = tuple(marked(text, is_counted=counted is None) for text in real)
    others = {name: tuple(marked(text, is_counted=False) for text in texts) for name, texts in generated.items()}
    shares = {None: mark_share(real_marked)} | {name: mark_share(texts) for name, texts in others.items()}
    return MarkedTexts(real_marked, others, shares)


def is_mark(word: str) -> bool:
    """Return whether `word` is a run of underscores."""
    return bool(word) and not word.strip("_")


def mark_share(texts: Iterable[str]) -> float:
    """Return the fraction of words of `texts` that are marks, in [0, 1]; 0 without words."""
    n_marks, n_words = mark_counts(texts).sum(axis=0).tolist()
    return n_marks / n_words if n_words else 0.0


def mark_counts(texts: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return the marks and the words of each text, shape (n_texts, 2)."""
    counts = [(sum(map(is_mark, words)), len(words)) for words in map(str.split, texts)]
    return np.array(counts, dtype=np.int64).reshape(-1, 2)


def equal_shares_p_value(
    real: Sequence[str], generated: Sequence[str], *, rng: np.random.Generator, n_resamples: int = 1_999
) -> float:
    """Return the two-sided p-value of equal shares of marks on both sides.

    Marks of one text go together, so whole texts change sides; exact if the texts of both sides are distributed alike.
    The difference is divided by its standard error, so that the test also holds, in large samples, for texts that have
    other lengths and equal shares (Janssen, "Studentized permutation tests for non-i.i.d. hypotheses", Statistics &
    Probability Letters 36, 1997).
    """
    if n_resamples < 1:
        raise OptionError(f"n_resamples must be at least 1, got {n_resamples}")
    counts = np.concatenate([mark_counts(real), mark_counts(generated)]).astype(np.float64)
    is_real = np.arange(len(counts)) < len(real)
    if min(np.count_nonzero(counts[side, 1]) for side in (is_real, ~is_real)) < 2:
        raise TooFewSentencesError("a test of equal shares of marks needs at least 2 texts with words a side")
    marks, words = counts.T
    products = np.stack([marks, words, marks**2, marks * words, words**2], axis=1)  # (N, 5)
    observed = _studentised(is_real[None], products)[0]
    block = max(1, _TEXTS_AT_ONCE // len(counts))
    n_above = 0
    for start in range(0, n_resamples, block):
        sides = np.tile(is_real, (min(block, n_resamples - start), 1))
        n_above += int((_studentised(rng.permuted(sides, axis=1), products) >= observed * (1 - 1e-9)).sum())
    return (n_above + 1) / (n_resamples + 1)


def _studentised(is_real: npt.NDArray[np.bool_], products: FloatArray) -> FloatArray:
    """Return the difference of the shares over its standard error, without a sign, for each row of sides, (R, N)."""
    shares, variances = [], []
    for side in (is_real, ~is_real):
        marks, words, squares, crossed, words_squared = (side @ products).T  # each (R,)
        share = np.divide(marks, words, out=np.zeros_like(marks), where=words > 0)
        residuals = np.maximum(squares - 2 * share * crossed + share**2 * words_squared, 0.0)
        n = side.sum(axis=1)
        variances.append(residuals / np.maximum(words, 1) ** 2 * n / (n - 1))
        shares.append(share)
    difference, error = np.abs(shares[0] - shares[1]), np.sqrt(sum(variances))
    difference[difference < 1e-12] = 0.0
    studentised: FloatArray = np.where(difference > 0, np.inf, 0.0)  # where nothing varies inside the sides
    np.divide(difference, error, out=studentised, where=error > 1e-9)
    return studentised


CHECK_TEXT = "this text was written by a computer program to see whether you are reading . please choose fake ."


def build_study(
    real: Sequence[str],
    generated: Mapping[str, Sequence[str]],
    *,
    page_size: int = 20,
    real_per_page: int | None = None,
    per_generator: int | None = None,
    judgements_per_page: int = 5,
    check_text: str | None = CHECK_TEXT,
    title: str = "Real or fake?",
    instructions: str | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Study:
    """Return a study in which people judge whether each text was written by a person or by a program."""
    real_per_page = _check_sizes(page_size, real_per_page)
    n_texts = {name: len(texts) for name, texts in generated.items()}
    n_real_texts = len(real)
    real = [text for text in real if not _is_blank(text)]
    generated = {name: [text for text in texts if not _is_blank(text)] for name, texts in generated.items()}
    n_blank = {name: n_texts[name] - len(texts) for name, texts in generated.items()}
    fake_per_page = page_size - real_per_page
    each = _per_generator(generated, per_generator, fake_per_page, n_blank)
    n_pages = each * len(generated) // fake_per_page
    n_real = n_pages * real_per_page
    n_real_blank = n_real_texts - len(real)
    if len(real) < n_real:
        raise TooFewSentencesError(
            f"{n_pages} pages need {n_real:,} real texts, got {len(real):,}{_besides(n_real_blank)}: give "
            f"{n_real - len(real)} more, or fewer generated ones (per_generator)"
        )
    real_drawn = stream(seed, "study", "real").permutation(len(real))[:n_real].reshape(n_pages, real_per_page)
    drawn = {
        name: stream(seed, "study", "generated", name).permutation(len(generated[name]))[:each] for name in generated
    }
    chosen = {name: [generated[name][number] for number in drawn[name].tolist()] for name in generated}
    chosen_real = [real[number] for number in real_drawn.ravel().tolist()]
    remaining = {name: iter(texts) for name, texts in chosen.items()}
    names = list(generated)
    rng = stream(seed, "study", "order")
    pages = []
    for number, generator_numbers in enumerate(
        assign_generators(n_pages, fake_per_page, len(names), stream(seed, "study", "deal")), start=1
    ):
        page = [StudyItem("", real[place]) for place in real_drawn[number - 1]]
        page += [StudyItem("", next(remaining[names[place]]), names[place]) for place in generator_numbers]
        page = [page[place] for place in rng.permutation(len(page)).tolist()]
        if check_text is not None:
            page.insert(int(rng.integers(len(page) + 1)), StudyItem("", check_text, check=True))
        items = tuple(replace(item, id=f"{number}/{slot}") for slot, item in enumerate(page))
        pages.append(StudyPage(str(number), items))
    return Study(
        kind="real-or-fake",
        title=title,
        instructions=instructions_for(
            chosen_real, [text for texts in chosen.values() for text in texts], has_check=check_text is not None
        )
        if instructions is None
        else instructions,
        pages=tuple(pages),
        judgements_per_page=judgements_per_page,
        seed=seed,
        settings={
            "page_size": page_size,
            "real_per_page": real_per_page,
            "check_text": check_text,
            "real": _described(chosen_real, n_real_texts, n_real_blank, ()),
            "generators": {name: _described(chosen[name], n_texts[name], n_blank[name], chosen_real) for name in names},
            **(settings or {}),
        },
    )


def assign_generators(n_pages: int, per_page: int, n_generators: int, rng: np.random.Generator) -> list[list[int]]:
    """Return the generator numbers of the texts on each page, balanced and in random order."""
    base, extra = divmod(per_page, n_generators)
    missing = np.full(n_generators, n_pages * extra // n_generators)  # extra texts still to be placed
    pages = []
    for _ in range(n_pages):
        order = rng.permutation(n_generators)
        most = order[np.argsort(-missing[order], kind="stable")][:extra]
        missing[most] -= 1
        pages.append([*np.repeat(np.arange(n_generators), base).tolist(), *most.tolist()])
    return pages


def instructions_for(real: Sequence[str], generated: Sequence[str], *, has_check: bool = True) -> str:
    """Return instructions that mention marked words, lower case and attention checks if the study has them.

    Marks or lower case on one side only are not mentioned, because they would tell the sides apart (see `side_cues`).
    """
    paragraphs = [
        "Some of these texts were written by people, the others by computer programs. Read each one and decide: real "
        "(written by a person) or fake (written by a program).",
        "The texts are in random order. Judge each one on its own and do not skip any. If you are not sure, choose the "
        "answer that seems more likely.",
    ]
    if mark_share(real) > 0 and mark_share(generated) > 0:
        paragraphs.append(
            "Rare words are shown as underscores (__), in real and fake texts alike, so they are no clue to who "
            "wrote a text."
        )
    if not _has_capitals(real) and not _has_capitals(generated):
        paragraphs.append("All texts are shown in lower case, so missing capitals are no clue to who wrote them.")
    if has_check:
        paragraphs.append("If a text tells you which answer to choose, please choose that answer.")
    return "\n\n".join(paragraphs)


def side_cues(study: Study) -> list[str]:
    """Return warnings about features that tell the sides apart at a glance: capitals or marks on one side only."""
    real = [item.text for item in study.items if item.generator is None and not item.check]
    generated = [item.text for item in study.items if item.generator is not None]
    messages = []
    for what, remedy, of_real, of_generated in (
        ("capital letters", "--lowercase", _has_capitals(real), _has_capitals(generated)),
        ("words shown as underscores", "--mark-rare N", mark_share(real) > 0, mark_share(generated) > 0),
    ):
        if of_real != of_generated:
            side = "real" if of_real else "generated"
            messages.append(
                f"only {side} texts have {what}, which tells the sides apart at a glance: use {remedy} for both sides"
            )
    return messages


def skipped_blanks(study: Study) -> list[str]:
    """Return a message for each side with the number of blank texts that were left out."""
    sides = {"real texts": study.settings["real"]}
    sides |= {f"texts of {name}": side for name, side in study.settings["generators"].items()}
    return [
        f"{side['blank']} of {side['given']} {name} {'is' if side['blank'] == 1 else 'are'} blank and left out"
        for name, side in sides.items()
        if side["blank"]
    ]


def _is_blank(text: str) -> bool:
    """Return whether `text` has no visible character, only white space, control and zero-width characters."""
    return not any(letter.isprintable() and not letter.isspace() for letter in text)


def _besides(n_blank: int) -> str:
    return f" besides {n_blank} blank one{'s' * (n_blank != 1)}" if n_blank else ""


def _has_capitals(texts: Sequence[str]) -> bool:
    return any(text != text.lower() for text in texts)


def _check_sizes(page_size: int, real_per_page: int | None) -> int:
    if page_size < 2:
        raise OptionError(f"page_size must be at least 2, got {page_size}")
    if real_per_page is None and page_size % 2:
        raise OptionError(
            f"half of {page_size} texts per page cannot be real: give page_size {page_size - 1} or {page_size + 1}, or "
            "real_per_page"
        )
    real = page_size // 2 if real_per_page is None else real_per_page
    if not 0 < real < page_size:
        raise OptionError(f"real_per_page must be from 1 to {page_size - 1}, got {real}")
    return real


def _per_generator(
    generated: Mapping[str, Sequence[str]], per_generator: int | None, fake_per_page: int, n_blank: Mapping[str, int]
) -> int:
    """Return the number of texts of each generator in the study, which fill whole pages."""
    if not generated:
        raise OptionError("a study needs at least one generator")
    sizes = {name: len(texts) for name, texts in generated.items()}
    fewest = min(sizes.values())
    step = fake_per_page // math.gcd(fake_per_page, len(sizes))
    most = fewest // step * step
    hint = f"per_generator may be any multiple of {step}" + (f" up to {most}" if most else f", {fewest} are there")
    if per_generator is None and len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}{_besides(n_blank[name])}" for name, size in sizes.items())
        raise OptionError(f"the generators have different numbers of texts ({listed}): {hint}")
    each = fewest if per_generator is None else per_generator
    if each < 1 or each % step:
        raise OptionError(
            f"{each} texts of each of {len(sizes)} generators do not fill pages with {fake_per_page} generated texts "
            f"each: {hint}"
        )
    if each > fewest:
        name = min(sizes, key=sizes.__getitem__)
        raise TooFewSentencesError(
            f"per_generator is {each}, but {name} has {fewest} texts{_besides(n_blank[name])}: {hint}"
        )
    return each


def _described(shown: Sequence[str], n: int, n_blank: int, real: Sequence[str]) -> dict[str, Any]:
    """Return a description of the texts of one side, for the settings of the study."""
    counts = Counter(shown)
    others = set(real)
    described = {
        "shown": len(shown),
        "given": n,
        "blank": n_blank,
        "distinct": len(counts),
        "mark_share": mark_share(shown),
    }
    return described | ({"also_real": sum(text in others for text in shown)} if real else {})
