"""Naturalness: by plain counting of everything, copies, repetition, known damage, intervals that cover."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.comparison import Result, pair_differences
from textassay.corpus import Corpus, corpora_from_texts, docstring_sentences
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.generator import NgramModel
from textassay.metric import Shared, naturalness, parse_metric


def _made(**texts: list[str]) -> dict[str, Corpus]:
    return corpora_from_texts(texts)


def _rate(real: list[str], markup: str | None = None) -> float:
    """Return how often a token of real text ends a pair that stood in its sentence before."""
    again, pairs = 0, 0
    for text in real:
        seen: Counter[tuple[str, str]] = Counter()
        for pair in zip(text.split(), text.split()[1:], strict=False):
            if markup not in pair:
                again, pairs = again + (pair in seen), pairs + 1
            seen[pair] += 1
    return (again + 0.5) / (pairs + 1)


def _plain(text: str, real: list[str], order: int, markup: str | None = None) -> float:
    """Return a sentence's score from the package's own n-gram models, token by token."""
    rate = _rate(real, markup)
    words = text.split()
    model, alone = (NgramModel(longest, discounts="modified").fit(Corpus.from_texts(real)) for longest in (order, 1))
    sentence = Corpus.from_texts([text], vocabulary=model.vocabulary)
    in_context, by_itself = (found.token_log_probs(sentence) for found in (model, alone))
    earned, seen = [], set()
    for position, word in enumerate(words):
        pair = (words[position - 1], word) if position else None
        fit = in_context[position] - by_itself[position]
        if pair is not None and pair in seen:
            fit = min(fit, 0.0) + math.log(rate)
        elif pair is not None:
            fit += math.log1p(-rate)
            seen.add(pair)
        if markup is None or (word != markup and (position == 0 or words[position - 1] != markup)):
            earned.append(fit)
    return sum(earned) / len(earned) if earned else 0.0


REAL = [*sentences(60, 1), "ba ben ba ben ba ben .", "di di di di ."]
STRANGE = ["ba ba ba ba ba ba", "ba ben bir ba ben bir", "never seen", "ba X ben bir . X", "X", ""]


@pytest.mark.parametrize("markup", [None, "X"])
def test_scores_are_what_plain_loops_find(markup: str | None) -> None:
    texts = [*sentences(20, 2), *STRANGE]
    corpora = _made(real=REAL, generated=texts)
    estimate = naturalness(corpora["generated"], corpora["real"], markup=markup)
    order = int(estimate.details["order"])
    assert estimate.evidence is not None
    expected = [_plain(text, REAL, order, markup) for text in texts]
    assert estimate.evidence.generated_scores == pytest.approx(expected, abs=1e-9)
    assert estimate.value == pytest.approx(np.mean(expected))
    assert estimate.details["real_repeat_rate"] == pytest.approx(_rate(REAL, markup))
    assert estimate.details["repeated_share"] == 0
    assert (estimate.details["unscored_share"] > 0) == (markup is not None)


def test_by_hand_copies_share_one_score_and_those_of_real_text_earn_nothing() -> None:
    new = sentences(12, 5)
    texts = [*new, new[0], new[0], REAL[0]]
    corpora = _made(real=REAL, generated=texts, once=new, train=[new[1], *sentences(9, 6)])
    once, again = (naturalness(corpora[name], corpora["real"]) for name in ("once", "generated"))
    assert once.evidence is not None
    assert again.evidence is not None
    single, scores = once.evidence.generated_scores, again.evidence.generated_scores
    assert single is not None
    assert scores is not None
    assert single[0] > 0
    assert scores[[0, 12, 13]] == pytest.approx(single[0] / 3)
    assert scores[14] == 0
    assert scores[1:12] == pytest.approx(single[1:])
    assert again.details["copied_share"] == pytest.approx(1 / 15)
    assert again.details["repeated_share"] == pytest.approx(2 / 15)
    trained = naturalness(corpora["once"], corpora["real"], train=corpora["train"])
    assert trained.value == pytest.approx(once.value - single[1] / 12)


def test_terms_are_what_the_value_loses_with_each_sentence() -> None:
    new = sentences(12, 5)
    texts = [*new, new[0], REAL[0]]  # one that stands twice, and a copy of real text
    corpora = _made(real=REAL, generated=texts)
    estimate = naturalness(corpora["generated"], corpora["real"])
    assert estimate.evidence is not None
    n, terms = len(texts), estimate.evidence.generated_terms
    without = [naturalness(corpora["generated"].take(np.delete(np.arange(n), i)), corpora["real"]) for i in range(n)]
    lost = np.array([n * estimate.value - (n - 1) * left.value for left in without])
    assert lost[0] == pytest.approx(0)  # its copy keeps the score
    assert terms == pytest.approx(estimate.value + lost - lost.mean())


def test_a_copy_of_text_that_fits_badly_keeps_its_fault() -> None:
    bad = "zut ba zut ba"
    corpora = _made(real=[*REAL, bad], generated=[*sentences(10, 2), bad, bad])
    estimate = naturalness(corpora["generated"], corpora["real"])
    assert estimate.evidence is not None
    assert estimate.evidence.generated_scores is not None
    assert np.all(estimate.evidence.generated_scores[-2:] < 0)


def _values(generated: dict[str, list[str]], *, train: bool = False) -> dict[str, float]:
    corpora = _made(real=sentences(400, 1), train=sentences(400, 9), **generated)
    metric = parse_metric("naturalness", train=corpora["train"] if train else None)
    with Shared().used():
        return {name: metric.estimate(corpora[name], corpora["real"]).value for name in generated}


def _mixed(texts: list[str], others: list[str], share: float) -> list[str]:
    n = round(share * len(texts))
    return [*others[:n], *texts[n:]]


@pytest.mark.parametrize(
    ("damage", "train"),
    [
        ("shuffled", False),
        ("unknown words", False),
        ("said twice", False),
        ("fifty copied", False),
        ("ten real ones copied", False),
        ("training text copied", True),
    ],
)
def test_growing_damage_lowers_it_step_by_step(damage: str, train: bool) -> None:
    texts = sentences(400, 2)
    damaged = {
        "shuffled": shuffled(texts, 0),
        "unknown words": [
            " ".join("<unk>" if place % 3 == 1 else word for place, word in enumerate(text.split())) for text in texts
        ],
        "said twice": [f"{text[:-2]} {text}" for text in texts],
        "fifty copied": sentences(50, 7) * 8,
        "ten real ones copied": sentences(400, 1)[:10] * 40,
        "training text copied": sentences(400, 9),
    }[damage]
    shares = (0.0, 0.2, 0.4, 0.8)
    values = list(_values({f"{share}": _mixed(texts, damaged, share) for share in shares}, train=train).values())
    assert all(np.diff(values) < 0)
    assert values[0] - values[-1] > 0.2


def test_low_temperature_raises_it_and_real_text_has_a_value_of_its_own() -> None:
    train = Corpus.from_texts(sentences(2000, 3))
    cold = NgramModel(3).fit(train).sample(300, seed=0, temperature=0.6)
    corpora = _made(real=sentences(600, 1), fresh=sentences(600, 2), cold=list(dict.fromkeys(cold.texts)))
    fresh, colder = (naturalness(corpora[name], corpora["real"]) for name in ("fresh", "cold"))
    assert colder.value > fresh.value
    assert fresh.details["real_naturalness"] == pytest.approx(fresh.value, abs=0.06)


def test_background_teaches_the_models_and_shows_in_name_and_signature() -> None:
    corpora = _made(real=sentences(50, 1), generated=sentences(200, 2), background=sentences(2000, 3))
    alone = naturalness(corpora["generated"], corpora["real"])
    taught = naturalness(corpora["generated"], corpora["real"], background=corpora["background"])
    assert taught.value > alone.value + 0.1
    assert taught.sizes["n_background"] == 2000
    assert taught.metric == f"naturalness(background={corpora['background'].fingerprint[:8]})"
    assert str(taught.signature).startswith(f"metric:{taught.metric}|")
    settings: list[dict[str, Any]] = [{}, {"background": corpora["background"]}, {"train": corpora["background"]}]
    assert len({naturalness.declaration.with_settings(**chosen).key for chosen in settings}) == 3
    with_markup = naturalness.declaration.with_settings(background=corpora["background"], markup="X")
    assert with_markup.name == taught.metric.replace("(", "(markup=X,")


def test_bad_input() -> None:
    corpora = _made(real=sentences(50, 1), generated=sentences(50, 2), few=sentences(9, 3), none=[])
    stranger = Corpus.from_texts(sentences(50, 4))
    with pytest.raises(TooFewSentencesError, match="at least 10"):
        naturalness(corpora["few"], corpora["real"])
    for setting in ("background", "train"):
        with pytest.raises(EmptyCorpusError, match="has no sentence"):
            naturalness(corpora["generated"], corpora["real"], **{setting: corpora["none"]})
        given: dict[str, Any] = {setting: stranger}
        with pytest.raises(OptionError, match="another vocabulary"):
            naturalness.declaration.with_settings(**given).estimate(corpora["generated"], corpora["real"])


@pytest.mark.slow
@pytest.mark.parametrize("n_distinct", [None, 40])
def test_the_interval_covers_what_many_draws_give_on_average(n_distinct: int | None) -> None:
    """Where sentences repeat (drawn from 40), the number of distinct ones varies, too."""
    pool = np.array(sentences(n_distinct or 60_000, 11))
    rng = np.random.default_rng(0)
    found: list[Estimate] = []
    for draw in range(200):
        corpora = _made(real=sentences(150, 1000 + draw), generated=list(rng.choice(pool, 120)))
        found.append(naturalness(corpora["generated"], corpora["real"]))
    truth = np.mean([estimate.value for estimate in found])
    covered = np.mean([e.interval is not None and e.interval.low <= truth <= e.interval.high for e in found])
    assert 0.91 <= covered <= 1.0


def test_units_of_generated_text_stay_together() -> None:
    corpora = _made(real=sentences(100, 1), generated=sentences(120, 2))
    grouped = replace(corpora["generated"], groups=np.arange(120) // 6)
    estimate = naturalness(grouped, corpora["real"])
    assert estimate.evidence is not None
    assert estimate.evidence.generated_terms is not None
    assert len(estimate.evidence.generated_terms) == 20
    assert estimate.evidence.generated_terms.mean() == pytest.approx(estimate.value)


@pytest.mark.slow
def test_real_text_is_seldom_told_from_real_text() -> None:
    """Divisions of docstrings into a reference and two other parts: the test of no difference errs on the safe side."""
    docstrings = corpora_from_texts({"all": docstring_sentences()})["all"]
    found = []
    for draw in range(60):
        order = np.random.default_rng(draw).permutation(len(docstrings))
        real, one, other = (docstrings.take(np.sort(order[part * 1500 : (part + 1) * 1500])) for part in range(3))
        with Shared().used():
            estimates = {name: naturalness(part, real) for name, part in (("a", one), ("b", other))}
        results = [Result(name, "naturalness", "higher", estimate) for name, estimate in estimates.items()]
        found.append(pair_differences(results, level=0.95)[0].p)
    assert all(p is not None for p in found)
    assert np.mean([p < 0.05 for p in found if p is not None]) <= 0.1
