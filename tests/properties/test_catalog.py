"""What the catalogue promises of each metric holds: range, direction, symmetry, order, sizes, seeds, threads."""

import math
import warnings
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from made_up import sentences, shuffled
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import EmptyCorpusError, OptionError, TooFewSentencesError
from textassay.estimate import Estimate
from textassay.execution.threads import workers
from textassay.metric.base import Metric, measure
from textassay.metric.catalog import (
    CATALOG,
    DEFAULT_METRICS,
    GROUPS,
    default_metrics,
    parse_metric,
    parse_metrics,
    split_names,
)

pytestmark = pytest.mark.usefixtures("stand_in_model")
N = 200
DETECTORS = GROUPS["detectors"]  # which need a model to be named
METRICS = (
    *default_metrics(("train", "log-probs", "ratings")),
    *(name if name in DETECTORS else parse_metric(name).name for name in CATALOG if CATALOG[name].only_named),
)

ELSEWHERE = {"conditional-dd"}  # whose texts must be answers: tests/metric/test_conditional_discrepancy.py


def with_columns(corpus: Corpus) -> Corpus:
    """Return the corpus with log-probabilities and ratings that follow from each sentence's text."""
    chance = np.array([zlib.crc32(text.encode()) / 2**32 for text in corpus.texts])
    columns = {"log_probs/gpt": -(2 + chance) * corpus.lengths, "ratings/gpt": np.round(5 * chance * 7919 % 5, 1)}
    return replace(corpus, columns=columns)


def with_inputs(texts: dict[str, list[str]]) -> dict[str, Corpus]:
    """Return the corpora of `texts`, with all that any metric can need."""
    return {name: with_columns(corpus) for name, corpus in corpora_from_texts(texts).items()}


def named(name: str, corpora: dict[str, Corpus]) -> Metric:
    """Return the metric of a name, given the training text among `corpora`."""
    return parse_metric(name, train=corpora["train"])


@pytest.fixture(scope="module")
def corpora() -> dict[str, Corpus]:
    real = sentences(N, 1)
    return with_inputs(
        {
            "real": real,
            "train": sentences(N, 6) + real[:40] + sentences(N, 2)[:60] + sentences(N, 3, shift=0.5)[:80],
            "same": sentences(N, 2),
            "shifted": sentences(N, 3, shift=0.5),
            "shuffled": shuffled(sentences(N, 2), 0),
            "collapsed": sentences(5, 2) * (N // 5),
            "reordered": list(np.random.default_rng(0).permutation(sentences(N, 3, shift=0.5))),
            "longer": [
                f"{first[:-2]} {second}" for first, second in zip(sentences(N, 4), sentences(N, 5), strict=True)
            ],
            "empty": [],
            "one": ["ba ben bir ."],
        }
    )


@pytest.fixture(scope="module")
def estimates(corpora: dict[str, Corpus]) -> dict[tuple[str, str], Estimate]:
    return {
        (metric.name, name): measure(metric, corpora[name], corpora["real"])
        for metric in parse_metrics(METRICS, train=corpora["train"])
        for name in ("same", "shifted", "shuffled", "collapsed", "longer")
    }


def test_every_metric_of_the_catalog_is_tested() -> None:
    assert {name.split("(")[0] for name in METRICS} == set(CATALOG) - ELSEWHERE
    assert {name for name, entry in CATALOG.items() if entry.needs or entry.only_named}.isdisjoint(DEFAULT_METRICS)
    with_needs = {name for name, entry in CATALOG.items() if entry.needs and not entry.only_named}
    everything = {need for entry in CATALOG.values() for need in entry.needs}
    assert with_needs == {*default_metrics(everything)} - {*DEFAULT_METRICS}
    assert [metric.name for metric in parse_metrics(None)] == list(DEFAULT_METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_values_and_intervals_stay_in_range(estimates: dict[tuple[str, str], Estimate], name: str) -> None:
    entry = CATALOG[name.split("(")[0]]
    for (metric, _), estimate in estimates.items():
        if metric != name:
            continue
        low, high = entry.bounds
        assert low <= estimate.value <= high
        if estimate.interval is None:
            assert name == "bleu-nearest(order=4)"  # without a match there is no derivative
            assert estimate.value == 0
        else:
            assert low <= estimate.interval.low <= estimate.value <= estimate.interval.high <= high
            assert estimate.interval.level == 0.95
        assert estimate.better == parse_metric(name).better
        assert str(estimate.signature).startswith(f"metric:{name}|")
        assert estimate.sizes["n_generated"] == N


@pytest.mark.parametrize("name", METRICS)
def test_evidence_has_the_variance_of_the_interval(estimates: dict[tuple[str, str], Estimate], name: str) -> None:
    """Away from the ends of the range, the half-width of the interval is about two standard errors."""
    estimate = estimates[name, "shifted"]
    assert estimate.evidence is not None
    assert estimate.interval is not None
    variance = sum(
        float(np.var(terms, ddof=1)) / len(terms)
        for terms in (estimate.evidence.real_terms, estimate.evidence.generated_terms)
        if terms is not None
    )
    half_width = (estimate.interval.high - estimate.interval.low) / 2
    if estimate.interval.high == CATALOG[name.split("(")[0]].bounds[1]:  # cut there
        half_width = estimate.value - estimate.interval.low
    assert half_width == pytest.approx(1.97 * math.sqrt(variance), rel=0.1, abs=1e-9)


@pytest.mark.parametrize("name", [name for name in METRICS if CATALOG[name.split("(")[0]].exact_under_reordering])
def test_order_of_sentences_does_not_matter(
    corpora: dict[str, Corpus], estimates: dict[tuple[str, str], Estimate], name: str
) -> None:
    again = measure(named(name, corpora), corpora["reordered"], corpora["real"])
    assert again.value == pytest.approx(estimates[name, "shifted"].value, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in METRICS if CATALOG[name.split("(")[0]].symmetric])
def test_symmetric_metrics_do_not_care_which_side_is_real(
    corpora: dict[str, Corpus], estimates: dict[tuple[str, str], Estimate], name: str
) -> None:
    swapped = measure(named(name, corpora), corpora["real"], corpora["shifted"])
    tolerance = 1e-12 if CATALOG[name].exact_under_reordering else 0.09
    assert swapped.value == pytest.approx(estimates[name, "shifted"].value, abs=tolerance)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_that_look_at_real_text_are_those_declared(
    corpora: dict[str, Corpus], estimates: dict[tuple[str, str], Estimate], name: str
) -> None:
    of_other = measure(named(name, corpora), corpora["shifted"], corpora["collapsed"], independent=True)
    assert (of_other.value != estimates[name, "shifted"].value) == CATALOG[name.split("(")[0]].looks_at_real


@pytest.mark.parametrize("name", METRICS)
def test_metrics_that_cannot_see_the_order_of_words_are_those_declared(
    corpora: dict[str, Corpus], estimates: dict[tuple[str, str], Estimate], name: str
) -> None:
    if name == "distinct-n(order=1)":  # the one setting at which a metric sees less than its declaration says
        return
    same, moved = (estimates[name, kind].value for kind in ("same", "shuffled"))  # the same texts, words shuffled
    assert (moved == pytest.approx(same, abs=1e-9)) == ("word order" in CATALOG[name.split("(")[0]].cannot_see)


@pytest.mark.parametrize("name", METRICS)
def test_same_seed_same_bits_at_any_number_of_threads(corpora: dict[str, Corpus], name: str) -> None:
    def run(n_workers: int) -> dict[str, object]:
        with workers(n_workers):
            return measure(named(name, corpora), corpora["shifted"], corpora["real"], seed=3).to_dict()

    assert run(1) == run(2)


@pytest.mark.parametrize("name", METRICS)
def test_empty_and_one_sentence_corpora(corpora: dict[str, Corpus], name: str) -> None:
    metric = named(name, corpora)
    with pytest.raises(EmptyCorpusError):
        measure(metric, corpora["empty"], corpora["real"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimate = measure(metric, corpora["one"], corpora["real"])
        except TooFewSentencesError:
            return
    low, high = CATALOG[name.split("(")[0]].bounds
    assert math.isnan(estimate.value) or low <= estimate.value <= high


@pytest.mark.parametrize("name", METRICS)
def test_corpora_made_apart_get_a_common_vocabulary_at_the_door_and_are_refused_behind_it(
    corpora: dict[str, Corpus], estimates: dict[tuple[str, str], Estimate], name: str
) -> None:
    apart = with_inputs({"shifted": sentences(N, 3, shift=0.5)})["shifted"]
    metric = named(name, corpora)
    with pytest.raises(OptionError, match="vocabular"):
        metric.estimate(apart, corpora["real"])
    if name not in ("bleu-train(order=4)", "memorization"):  # whose training text has a vocabulary, too
        again = measure(metric, apart, corpora["real"])
        assert again.value == pytest.approx(estimates[name, "shifted"].value, abs=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_that_cannot_see_which_words_are_used_are_those_declared(name: str) -> None:
    generated = sentences(N, 3, shift=0.5)
    texts = {"train": sentences(N, 6) + generated[:40], "real": sentences(N, 1), "generated": generated}
    renamed = [" ".join(f"x{word}y" for word in text.split()) for text in texts["generated"]]
    pair = with_inputs(texts)
    other = with_inputs({**texts, "generated": renamed})
    columns = {**other, "generated": replace(other["generated"], columns=pair["generated"].columns)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = [measure(named(name, each), each["generated"], each["real"]).value for each in (pair, columns)]
    is_equal = values[0] == pytest.approx(values[1], abs=1e-9)
    if name != "huse":  # of which nothing but columns counts
        assert is_equal == ("words" in CATALOG[name.split("(")[0]].cannot_see)


DAMAGE = [
    ("dd", "shuffled", "same", 0.3),
    ("dd", "collapsed", "same", 0.5),
    ("dd", "shifted", "same", 0.2),
    ("bleu(order=4)", "same", "shuffled", 0.05),
    ("self-bleu(order=4)", "collapsed", "same", 0.3),
    ("distinct-n(order=3)", "same", "collapsed", 0.3),
    ("length", "longer", "same", 0.5),
    ("lm-score", "shuffled", "same", 0.3),
    ("reverse-lm-score", "shuffled", "same", 0.3),
    ("reverse-lm-score", "collapsed", "same", 0.5),
]


@pytest.mark.parametrize(("name", "higher", "lower", "by"), DAMAGE)
def test_known_damage_moves_the_metric_the_stated_way(
    estimates: dict[tuple[str, str], Estimate], name: str, higher: str, lower: str, by: float
) -> None:
    assert estimates[name, higher].value - estimates[name, lower].value > by


def test_names_parse_with_parameters() -> None:
    assert parse_metric("bleu").name == "bleu(order=5)"
    assert parse_metric(" bleu( order = 2 ) ").name == "bleu(order=2)"
    assert parse_metric("dd", folds=5, level=0.9).name == "dd"
    assert parse_metric("dd", folds=7).name == "dd(folds=7)"
    assert parse_metric("dd(folds=3)", folds=7).name == "dd(folds=3)"
    assert [metric.name for metric in parse_metrics(["bleu", "bleu(order=5)"])] == ["bleu(order=5)"]
    assert split_names("dd, bleu(order=2,level=3) ,length") == ["dd", "bleu(order=2,level=3)", "length"]


@pytest.mark.parametrize("name", sorted(CATALOG))
@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, math.nan])
def test_a_level_without_an_interval_is_refused_by_every_metric(name: str, level: float) -> None:
    with pytest.raises(OptionError, match=f"level must be between 0 and 1, got {level}"):
        parse_metric(name, level=level)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("blue", "did you mean bleu"),
        ("bleu(ordr=2)", "did you mean order"),
        ("bleu(order=two)", "must be of type int"),
        ("bleu(order=0)", "order must be"),
        ("bleu(order=99)", "order must be"),
        ("bleu(4)", "parameter=value"),
        ("bleu(level=0.5)", "unknown parameter"),
        ("vocabulary(of=letters)", "tokens"),
        ("dd(folds=0)", "folds must be"),
        ("(", "cannot read the metric"),
    ],
)
def test_wrong_names_say_what_is_valid(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_metric(text)


@cache  # all metrics look at the same draws
def _with_rare_words(size: int, draw: int) -> dict[str, Corpus]:
    """Return training, real and generated text, with words that hardly ever come back."""

    def made(n: int, seed: int, shift: float = 0.0) -> list[str]:
        rare = np.random.default_rng(seed).zipf(1.5, n)
        return [f"rare{word} {text}" for word, text in zip(rare, sentences(n, seed, shift=shift), strict=True)]

    texts = {"train": sentences(N, 300 + draw), "real": made(size, 100 + 2 * draw)}
    return with_inputs(texts | {"generated": made(size, 101 + 2 * draw, shift=0.4)})


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_metrics_that_move_with_the_number_of_sentences_are_those_declared(name: str) -> None:
    """Draws of few and of many sentences: the means differ by more than luck where sensitivity is declared.

    Metrics of sentence vectors look at normal ones, since an encoder would change with the sentences, too.
    """
    of_vectors = name != "dd" and "encoder" in parse_metric(name).settings  # dd takes vectors where it is asked to

    def value(size: int, draw: int) -> float:
        pair = _with_rare_words(size, draw)
        return measure(named(name, pair), pair["generated"], pair["real"]).value

    def value_of_vectors(size: int, draw: int) -> float:
        vectors = np.random.default_rng(draw).normal(size=(2, size, 3))
        vectors[1, :, 0] += 1.5
        pair = corpora_from_texts({"real": [""] * size, "generated": [""] * size})
        real, generated = (
            replace(corpus, columns={"features": rows}) for corpus, rows in zip(pair.values(), vectors, strict=True)
        )
        return measure(parse_metric(name, encoder="given"), generated, real).value

    n_draws, few_sentences, one = (64, 30, value_of_vectors) if of_vectors else (8 if name == "dd" else 16, 60, value)
    # dd trains a family of classifiers five times over: fewer draws of less text show that it moves.
    many_sentences = 300 if name == "dd" else 500
    values = [[one(size, draw) for draw in range(n_draws)] for size in (few_sentences, many_sentences)]
    few, many = np.array(values)
    error = math.sqrt(few.var(ddof=1) / len(few) + many.var(ddof=1) / len(many))
    assert (abs(few.mean() - many.mean()) > 3 * error) == CATALOG[name.split("(")[0]].size_sensitive
