"""Conditional dd: finds what answers alone do not show, and nothing where there is nothing."""

import numpy as np
import pytest

from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.corpus.groups import PROMPTS, with_prompts
from textassay.errors import InputError, OptionError, TooFewSentencesError, UnavailableError
from textassay.estimate import Estimate
from textassay.execution.threads import workers
from textassay.metric.catalog import parse_metric
from textassay.metric.conditional_discrepancy import conditional_dd

N_WORDS = 300
WORDS = [f"w{number}" for number in range(N_WORDS)]
COMMON = 1 / np.arange(1, N_WORDS + 1)
COMMON /= COMMON.sum()
Texts = tuple[list[str], list[str], list[str], list[str]]  # real answers and their prompts, generated ones and theirs


def answers(kind: str, n_prompts: int, n_answers: tuple[int, int], seed: int) -> Texts:
    """Return answers of ten words, of which two fifths come from a source of the prompt.

    `kind`: ``overlap``: the real source is the prompt, the generated one another prompt; ``hidden``: neither is shown;
    ``same``: both are the prompt.
    """
    rng = np.random.default_rng(seed)
    sides: tuple[list[str], list[str]] = ([], [])
    asked: tuple[list[str], list[str]] = ([], [])
    for number in range(n_prompts):
        prompt, first, second = rng.choice(N_WORDS, (3, 6))
        sources = {"overlap": (prompt, second), "hidden": (first, second), "same": (prompt, prompt)}[kind]
        text = " ".join(WORDS[word] for word in prompt) + f" ask{number}"
        for side, (source, n) in enumerate(zip(sources, n_answers, strict=True)):
            from_source = rng.random((n, 10)) < 0.4
            drawn = np.where(from_source, rng.choice(source, (n, 10)), rng.choice(N_WORDS, (n, 10), p=COMMON))
            sides[side].extend(" ".join(WORDS[word] for word in row) for row in drawn)
            asked[side].extend([text] * n)
    return sides[0], asked[0], sides[1], asked[1]


def measured(texts: Texts, **settings: object) -> Estimate:
    real, real_prompts, generated, generated_prompts = texts
    prompts = {"real": real_prompts, "generated": generated_prompts}
    return conditional_dd(generated, real, prompts=prompts, **settings)


@pytest.fixture(scope="module")
def overlapping() -> Estimate:
    return measured(answers("overlap", 120, (2, 3), seed=1))


def test_answers_to_other_prompts_are_found(overlapping: Estimate) -> None:
    bound = overlapping.details["certified_bound"]
    assert overlapping.value > 0.85
    assert 0.6 < bound["value"] < overlapping.value
    assert bound["exact"]
    assert overlapping.details["e_value"] > 1e6
    assert overlapping.details["p_value"] < 1e-6


def test_what_an_answer_alone_shows_is_nothing() -> None:
    texts = answers("overlap", 120, (2, 3), seed=1)
    grouped = with_prompts({"generated": texts[2], "real": texts[0]}, {"generated": texts[3], "real": texts[1]})
    corpora = corpora_from_texts(grouped, tokenizer="whitespace")
    estimate = parse_metric("dd", effort="quick").estimate(corpora["generated"], corpora["real"])
    assert estimate.interval is not None
    assert estimate.interval.low < 0 < estimate.interval.high


def test_other_answers_to_the_prompt_tell_where_the_prompt_does_not() -> None:
    assert measured(answers("hidden", 80, (5, 5), seed=2)).value > 0.8


def test_one_answer_each_shows_nothing_hidden() -> None:
    estimate = measured(answers("hidden", 80, (1, 1), seed=5))
    assert estimate.interval is not None
    assert estimate.interval.low < 0 < estimate.interval.high
    assert estimate.details["certified_bound"]["value"] == 0


def test_sides_may_be_swapped(overlapping: Estimate) -> None:
    real, real_prompts, generated, generated_prompts = answers("overlap", 120, (2, 3), seed=1)
    swapped = measured((generated, generated_prompts, real, real_prompts))
    assert swapped.value == pytest.approx(overlapping.value, abs=0.05)


def test_details_say_how_it_is_told(overlapping: Estimate) -> None:
    details = overlapping.details
    first = details["judged_by"][0]
    assert "prompt" in first["name"] or "answers" in first["name"]
    assert {row["name"] for row in details["judged_by"]} >= {"share of its words in the prompt"}
    prompt = details["telling_prompts"][0]
    assert prompt["difference"] == 1
    assert prompt["real"] in answers("overlap", 120, (2, 3), seed=1)[0]
    assert details["answers_per_prompt"] == {"real": 2, "generated": 3}
    assert overlapping.sizes["n_prompts"] == 120
    assert "prompts" in overlapping.signature.settings


def test_prompts_of_one_side_are_left_out_and_counted() -> None:
    real, asked, generated, asked_too = answers("overlap", 60, (1, 1), seed=3)
    estimate = measured((real[:50], asked[:50], generated[10:], asked_too[10:]))
    assert estimate.sizes["n_prompts"] == 40
    assert estimate.details["prompts_left_out"] == {"real": 10, "generated": 10}
    evidence = estimate.evidence
    assert evidence is not None
    assert evidence.real_terms is not None
    assert evidence.real_terms.mean() == pytest.approx(estimate.value)
    assert len(evidence.real_terms) == 50  # so that generators that answered other prompts can be paired


def test_the_same_seed_gives_the_same_bits(overlapping: Estimate) -> None:
    again = measured(answers("overlap", 120, (2, 3), seed=1))
    assert again.value == overlapping.value
    assert again.details["certified_bound"] == overlapping.details["certified_bound"]


def test_any_number_of_threads_gives_the_same_bits(overlapping: Estimate) -> None:
    with workers(2):
        assert measured(answers("overlap", 120, (2, 3), seed=1)).value == overlapping.value


def test_terms_have_the_variance_of_the_interval(overlapping: Estimate) -> None:
    assert overlapping.evidence is not None
    assert overlapping.interval is not None
    terms = overlapping.evidence.real_terms
    assert terms is not None
    half_width = overlapping.value - overlapping.interval.low
    assert half_width == pytest.approx(1.98 * np.std(terms, ddof=1) / np.sqrt(len(terms)), rel=0.01)


def test_groups_get_the_same_bound() -> None:
    """dd of texts in groups is certified, too, where it looks at the texts alone."""
    rng = np.random.default_rng(0)
    real = [" ".join(rng.choice(WORDS[:40], 8)) for _ in range(300)]
    generated = [" ".join(rng.choice(WORDS[20:60], 8)) for _ in range(300)]
    groups = np.repeat(np.arange(100), 3)
    for shift in (0, 1000):  # the same groups on both sides, or others
        corpora = corpora_from_texts(
            {"real": real, "generated": generated}, groups={"real": groups, "generated": groups + shift}
        )
        found = parse_metric("dd", effort="quick").estimate(corpora["generated"], corpora["real"])
        bound = found.details["certified_bound"]
        assert bound["kind"] == "betting"
        assert 0.2 < bound["value"] < found.value
        assert found.details["e_value"] > 20


def test_too_few_prompts() -> None:
    with pytest.raises(TooFewSentencesError, match="at least 20 prompts must have answers on both sides, got 19"):
        measured(answers("overlap", 19, (1, 1), seed=3))


def test_no_prompts() -> None:
    with pytest.raises(UnavailableError, match="needs the prompts"):
        conditional_dd(["a b"] * 30, ["a c"] * 30)


def test_prompts_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="3 prompts for 2 texts"):
        conditional_dd(["a", "b"], ["a", "c"], prompts=["x", "y", "z"])
    with pytest.raises(OptionError, match="prompts are given for 'model'"):
        conditional_dd(["a", "b"], ["a", "c"], prompts={"model": ["x", "y"]})


def test_a_list_of_prompts_is_for_both_sides() -> None:
    real, asked, generated, _ = answers("overlap", 30, (1, 1), seed=4)
    assert conditional_dd(generated, real, prompts=asked).sizes["n_prompts"] == 30


def test_prompts_of_texts_are_numbered_alike() -> None:
    texts = with_prompts({"a": ["x", "y", "z"], "b": ["u", "v"]}, {"a": ["p", "q", "p"], "b": ["q", "r"]})
    prompts = Corpus.from_texts(texts[PROMPTS].texts)
    assert sorted(prompts.texts) == ["p", "q", "r"]
    of_a, of_b = texts["a"].groups.tolist(), texts["b"].groups.tolist()
    assert of_a[0] == of_a[2]
    assert of_a[1] == of_b[0]


@pytest.mark.slow
@pytest.mark.parametrize(("n_prompts", "n_answers"), [(50, (1, 1)), (50, (5, 5)), (200, (1, 2))])
def test_equal_answers_are_told_no_more_often_than_promised(n_prompts: int, n_answers: tuple[int, int]) -> None:
    n_runs = 100
    found = [measured(answers("same", n_prompts, n_answers, seed=seed), seed=seed) for seed in range(n_runs)]
    assert np.mean([one.details["certified_bound"]["value"] > 0 for one in found]) <= 0.05
    assert np.mean([one.interval.low <= 0 <= one.interval.high for one in found if one.interval]) >= 0.88
    assert abs(np.mean([one.value for one in found])) < 0.03
    assert np.mean([one.details["p_value"] < 0.05 for one in found]) <= 0.12
