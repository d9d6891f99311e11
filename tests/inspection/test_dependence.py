"""What says that texts depend on each other: every layout is found and named, independent text is left alone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from layouts import INDEPENDENT, LAYOUTS, Layout, chains, data_sources, layout
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.errors import InputError
from textassay.inspection.dependence import Dependence, Examined, Independence, examine, independent_units
from textassay.inspection.finding import Finding
from textassay.inspection.within import examine_real

N = 400
ACROSS, WITHIN, ROWS, RUNS, COPIES = "across sides", "within a side", "rows", "runs", "copies"
# Sentences of paragraphs that share a quarter of their words: nothing tells these from texts of many topics, once they
# are shuffled. Across the sides they do no harm; where each paragraph is on one side, they look like a difference.
NOT_SEEN = ("paragraphs divided, shuffled", "paragraphs, shuffled")
KINDS = {
    "beginnings": {ACROSS},
    "beginnings of a third": {ACROSS},
    "word dropped": {ACROSS},
    "thinned .75": {ACROSS},
    "thinned .6": {ACROSS},
    "thinned .4": {ACROSS},
    "paraphrases": {ACROSS},
    "itself": {ACROSS},
    "tenth copied": {ACROSS},
    "writers": {ACROSS},
    "answers, same prompts": {WITHIN},
    "answers, other prompts": {WITHIN},
    "paragraphs divided": set(),
    "paragraphs": set(),
    "windows divided": {WITHIN},
    "windows in turn": {ACROSS},
    "3 times": {WITHIN, COPIES},
    "2 times": {WITHIN, COPIES},
    "half 2 times": {WITHIN, COPIES},
    "tenth 2 times": {WITHIN},
    "real 3 times": {WITHIN, COPIES},
    "real half 2 times": {WITHIN, COPIES},
}
# Rows of the same number belong together, but for the tenth that is copied from anywhere
IN_ROWS = {name for name, kinds in KINDS.items() if kinds == {ACROSS}} - {"tenth copied", "writers"}
IN_ROWS |= {"answers, same prompts"}
IN_RUNS = {name for name in KINDS if name.startswith(("answers", "paragraphs"))} | {"windows divided", "writers"}
# Share of the partners of texts that their groups hold, at least; .9 unless said otherwise
HELD = {"thinned .4, shuffled": 0.2, "thinned .6, shuffled": 0.75, "writers, in order": 0.8, "writers, shuffled": 0.8}


def sides_of(generated: Sequence[str], real: Sequence[str], *, tokenizer: str = "whitespace") -> tuple[Corpus, Corpus]:
    corpora = corpora_from_texts({"generated": list(generated), "real": list(real)}, tokenizer=tokenizer)
    return corpora["generated"], corpora["real"]


def sides(pair: Layout) -> tuple[Corpus, Corpus]:
    return sides_of(pair.generated, pair.real, tokenizer="whitespace" if " " in "".join(pair.real) else "chars")


def in_groups(corpus: Corpus, groups: npt.ArrayLike) -> Corpus:
    return replace(corpus, groups=np.asarray(groups))


def findings_of(generated: Corpus, real: Corpus) -> dict[str, Finding]:
    """Return what people are told of each side that depends on others."""
    findings = Independence.of(real, {"model": generated}).findings(["model"])
    assert all(finding.kind == "dependent-texts" for finding in findings)
    return {finding.generator: finding for finding in findings}


def named(pair: Layout) -> tuple[Corpus, Corpus]:
    """Return generated and real text in their true groups."""
    generated, real = sides(pair)
    of_generated, of_real = np.split(true_groups(pair), [len(generated)])
    return in_groups(generated, of_generated), in_groups(real, of_real)


def true_groups(pair: Layout) -> npt.NDArray[np.int64]:
    assert pair.generated_groups is not None
    assert pair.real_groups is not None
    return np.concatenate([pair.generated_groups, pair.real_groups])


def share_held(pair: Layout, found: Dependence) -> float:
    """Return the share of texts that belong together and are in one group."""
    assert found.groups is not None
    true = true_groups(pair)
    groups = np.concatenate(found.groups)
    order = np.argsort(true, kind="stable")
    together = np.diff(true[order]) == 0
    return float(np.mean(np.diff(groups[order])[together] == 0))


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name not in NOT_SEEN])
def test_every_layout_is_found_and_named(name: str) -> None:
    pair = layout(name, N, 0)
    base, order = name.rsplit(", ", 1)
    generated, real = sides(pair)
    found = examine(generated, real)
    assert set(KINDS[base]) <= set(found.kinds)
    if order != "shuffled":
        assert (ROWS in found.kinds) == (base in IN_ROWS)
        assert (RUNS in found.kinds) == (base in IN_RUNS or order == "adjacent")
    else:
        assert not {ROWS, RUNS} & set(found.kinds)
    assert len(found.words) >= len(found.kinds)
    assert found.remaining is not None
    findings = findings_of(generated, real)
    assert ("(real)" in findings) == bool({WITHIN, COPIES, RUNS} & set(examine_real(real).kinds))
    finding = findings["(real)" if found.is_of_real and found.can_be_told else "model"]
    assert all(words in finding.message for words in found.words)
    assert len(finding.pairs) <= 3
    for one, other in finding.pairs:
        assert one in pair.generated
        assert other in pair.real
    if ACROSS in found.kinds:
        assert len(finding.pairs) == 3
        assert found.test.p_value < 0.01
        assert f"{found.test.n_crossing} of the {found.test.n_pairs}" in finding.message
    if not base.startswith("windows in turn"):
        assert found.can_be_told
    if pair.real_groups is not None and found.can_be_told and base != "paragraphs divided":
        assert share_held(pair, found) >= HELD.get(name, 0.9)


@pytest.mark.parametrize("name", NOT_SEEN)
def test_shuffled_sentences_of_paragraphs_are_not_seen(name: str) -> None:
    """A limit, which the docs say: were it lifted, they should say so."""
    assert not examine(*sides(layout(name, N, 0))).is_found


@pytest.mark.parametrize("name", INDEPENDENT)
def test_independent_texts_are_left_alone(name: str) -> None:
    generated, real = sides(layout(name, N, 0))
    found = examine(generated, real)
    assert found.kinds == ()
    assert found.groups is None
    assert found.can_be_told
    assert findings_of(generated, real) == {}
    texts = Examined.of(generated, real)
    assert texts.generated is generated
    assert texts.real is real


ANSWERS = np.array(["yes", "no", "maybe so", "i do not know", "ok then"])


def few_answers(seed: int) -> tuple[Corpus, Corpus]:
    """Return sides of five different texts, all pairs of which are equally near."""
    generated, real = np.random.default_rng(seed).choice(ANSWERS, (2, 300), p=[0.4, 0.3, 0.1, 0.1, 0.1]).tolist()
    return sides_of(generated, real)


@pytest.mark.parametrize("n", [100, pytest.param(400, marks=pytest.mark.slow)])
def test_the_p_value_is_that_of_independent_texts(n: int) -> None:
    """No smaller than uniform, also within groups that were given, of sides that differ and of texts that are equal."""
    shares = (0.01, 0.05, 0.1, 0.25, 0.5)
    names = ("same source", "templates of other shares", "1 to 4 words", "chains of other memory")
    plain = [examine(*sides(layout(names[seed % 4], 60, seed))).test.p_value for seed in range(n)]
    grouped = [examine(*named(layout("answers, other prompts, shuffled", 80, seed))).test.p_value for seed in range(n)]
    equal = [examine(*few_answers(seed)).test.p_value for seed in range(n)]
    for p_values in (plain, grouped, equal):
        for share in shares:
            assert np.count_nonzero(np.array(p_values) <= share) <= binom.isf(1e-4, n, share)
        assert np.mean(np.array(p_values) < 0.5) > 0.02  # not all of them are 1


def test_sides_are_not_looked_at_by_groups() -> None:
    """The other way round, the same texts are together."""
    generated, real = sides(layout("beginnings, shuffled", N, 1))
    found, swapped = examine(generated, real), examine(real, generated)
    assert (found.test.n_pairs, found.test.n_crossing) == (swapped.test.n_pairs, swapped.test.n_crossing)
    assert found.groups is not None
    assert swapped.groups is not None
    one, other = np.concatenate(found.groups).tolist(), np.concatenate(swapped.groups[::-1]).tolist()
    assert len(set(zip(one, other, strict=True))) == len(set(one)) == len(set(other))


@pytest.mark.parametrize("name", ["beginnings, shuffled", "thinned .4, shuffled", "answers, same prompts, in order"])
def test_groups_that_are_given_are_believed(name: str) -> None:
    pair = layout(name, N, 0)
    generated, real = named(pair)
    found = examine(generated, real)
    assert found.is_declared
    assert not found.is_found
    assert found.can_be_told
    assert found.label == ""
    assert share_held(pair, found) == 1
    assert found.n_groups == len(np.unique(true_groups(pair)))


def test_what_goes_beyond_groups_that_are_given_is_found() -> None:
    """Generated texts are given in pairs, but not that each goes on from the beginning of a real one."""
    pair = layout("beginnings, shuffled", N, 0)
    generated, real = sides(pair)
    given = np.arange(N) // 2
    found = examine(in_groups(generated, given), real)
    assert found.is_declared
    assert ACROSS in found.kinds
    assert found.groups is not None
    for group in range(N // 2):
        assert len(np.unique(found.groups[0][given == group])) == 1
    assert share_held(pair, found) > 0.9
    assert found.label == f"{found.n_groups} groups of given ones and nearest neighbours"


def test_each_text_thrice_on_one_side_is_not_a_collapsed_generator() -> None:
    collapsed = layout("collapsed to 200", N, 0)
    assert len(set(collapsed.generated)) < 200
    assert not examine(*sides(collapsed)).is_found
    texts = chains(N, np.random.default_rng(0))
    thrice = [text for text in collapsed.real[:133] for _ in range(3)]
    found = examine(*sides_of(thrice, texts))
    assert {COPIES, RUNS} == set(found.kinds)
    assert found.words[0] == "133 generated texts occur exactly 3 times, one after the other"
    assert not found.may_be_collapse
    assert not found.is_across
    assert examine_real(sides_of(thrice, texts)[1]).kinds == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("beginnings, in order", "rows with the same number in both files belong together"),
        ("answers, other prompts, in order", "neighbouring rows of the real text share words"),
        ("2 times, passes", "200 real texts occur exactly twice, 200 rows apart"),
        ("3 times, adjacent", "133 generated texts occur exactly 3 times, one after the other"),
        ("3 times, shuffled", "133 generated texts occur exactly 3 times"),
        ("answers, same prompts, shuffled", "real texts come in groups of three or more"),
        ("2 times, shuffled", "real texts come in pairs (100 % are mutual nearest neighbours)"),
        ("tenth 2 times, shuffled", "of the real texts are copied nearly word by word"),
    ],
)
def test_words_say_what_was_found(name: str, words: str) -> None:
    assert any(words in said for said in examine(*sides(layout(name, N, 0))).words)


def test_real_text_is_told_of_by_itself() -> None:
    generated, real = sides(layout("real 3 times, shuffled", N, 0))
    within = examine_real(real)
    assert within.kinds == (WITHIN, COPIES)
    assert "133 real texts occur exactly 3 times" in findings_of(generated, real)["(real)"].message
    assert within.groups is not None
    assert len(np.unique(within.groups)) == len(set(real.texts))


@pytest.mark.parametrize("seed", [1, 2])
def test_what_groups_do_not_hold_leaves_no_verdict(seed: int) -> None:
    generated, real = sides(layout("windows in turn, shuffled", N, seed))
    texts = Examined.of(generated, real)
    assert texts.dependence.is_found
    assert not texts.dependence.can_be_told
    assert texts.dependence.label == "unknown"
    assert texts.dependence.reason.startswith("not valid: texts depend on each other, and grouping nearest neighbours")
    assert "Even so, dd is not valid" in findings_of(generated, real)["model"].message
    with pytest.raises(InputError, match="--group-column"):
        independent_units(generated, real)


def test_what_is_said_to_be_independent_is_not_examined() -> None:
    generated, real = sides(layout("windows in turn, shuffled", N, 0))
    texts = Examined.of(generated, real, independent=True)
    assert (texts.generated, texts.real) == (generated, real)
    assert not texts.dependence.is_found
    assert texts.dependence.can_be_told
    assert texts.dependence.label == "none (independent)"
    assert independent_units(generated, real, independent=True) == (generated, real)


@pytest.mark.parametrize("n", [400, 2000, 4000])
def test_a_tenth_that_stands_twice_is_found_among_texts_that_repeat_by_chance(n: int) -> None:
    texts = layout("5 % stock sentences", n, 0).real
    assert len(set(texts)) < n
    _, real = sides_of(texts, texts[: n * 10 // 11] + texts[: n // 11])
    assert examine_real(sides_of(texts, texts)[1]).kinds == ()
    assert {WITHIN, COPIES} & set(examine_real(real).kinds)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["answers, other prompts, shuffled", "tenth 2 times, shuffled"])
def test_many_short_real_lines_that_depend_on_each_other_are_found(name: str, data_dir: Path) -> None:
    yelp = data_sources(data_dir)["yelp"]
    pair = layout(name, 8000, 3, source=yelp)
    assert WITHIN in examine(*sides(pair)).kinds
    assert not examine(*sides(layout("same source", 8000, 3, source=yelp))).is_found


def test_sorted_files_have_no_runs() -> None:
    """Neighbours are alike in a sorted file, however its texts were drawn."""
    texts = chains(2 * N, np.random.default_rng(0))
    generated, real = sides_of(sorted(texts[:N]), sorted(texts[N:]))
    assert not examine(generated, real).is_found
    nearly = sorted(texts[N:])
    nearly[:2] = nearly[1::-1]  # the control: neighbours are so alike that any other order is told
    assert RUNS in examine_real(sides_of(texts[:N], nearly)[1]).kinds


def test_groups_are_the_same_in_part() -> None:
    """Texts that are taken out stay in the groups of the whole."""
    texts = Examined.of(*sides(layout("beginnings, shuffled", N, 0)))
    rows = np.arange(0, N, 3)
    part = texts.taken(rows, rows[:50])
    assert texts.generated.groups is not None
    assert texts.real.groups is not None
    assert np.array_equal(part.generated.groups, texts.generated.groups[rows])  # type: ignore[arg-type]
    assert np.array_equal(part.real.groups, texts.real.groups[rows[:50]])  # type: ignore[arg-type]
    assert part.declared[0].groups is None
    assert part.dependence is texts.dependence


CHAINS = tuple(chains(N, np.random.default_rng(7)))


@pytest.mark.parametrize(
    ("generated", "real"),
    [
        (["a b"], ["a b"]),
        (["a b"], ["c"]),
        (["a"], CHAINS),
        (CHAINS, ["a", "b c"]),
        (["", ""], ["", "", ""]),
        ([*[""] * 50, *CHAINS[:200]], [*[""] * 70, *CHAINS[200:]]),
        (["a b c"] * 300, ["a b c"] * 200),
        (["a b c"] * 300, CHAINS),
        (CHAINS, ["a b c"] * 300),
        ([f"a{row}" for row in range(200)], [f"b{row}" for row in range(200)]),
        (["a"] * 3 + ["b"] * 4, ["a"] * 5),
    ],
)
def test_texts_of_which_little_can_be_said_are_left_alone(generated: Sequence[str], real: Sequence[str]) -> None:
    one, other = sides_of(generated, real)
    found = examine(one, other)
    assert not found.is_found
    assert found.can_be_told
    assert found.n_groups is None
    assert found.to_dict()["can_be_told"]
    assert examine_real(other).kinds == ()


def test_few_texts_are_found_where_they_are_enough() -> None:
    """Eight pairs could be chance once in 256."""
    assert not examine(*sides_of(CHAINS[:5], CHAINS[4::-1])).is_found
    assert examine(*sides_of(CHAINS[:8], CHAINS[7::-1])).is_found


@pytest.mark.parametrize("first", [2**62, -(2**62)])
def test_numbers_of_groups_may_be_of_any_size(first: int) -> None:
    generated, real = sides_of(CHAINS[:200], CHAINS[200:])
    found = examine(in_groups(generated, first + np.arange(200) // 2), in_groups(real, first + np.arange(200) // 2))
    assert found.is_declared
    assert found.n_groups == 100
    assert not found.is_found


def test_one_group_of_everything_leaves_nothing_to_test() -> None:
    generated, real = sides_of(CHAINS[:200], CHAINS[:200][::-1])
    found = examine(in_groups(generated, np.zeros(200, int)), in_groups(real, np.zeros(200, int)))
    assert not found.is_found
    assert (found.n_groups, found.largest, found.test.p_value) == (1, 1.0, 1.0)


def test_texts_without_spaces_are_compared_by_characters() -> None:
    pair = layout("beginnings, in order", N, 0)
    plain = [[text.replace(" ", "") for text in side] for side in (pair.generated, pair.real)]
    found = examine(*sides_of(*plain, tokenizer="chars"))
    assert {ACROSS, ROWS} <= set(found.kinds)
    assert share_held(pair, found) > 0.9


def test_each_layout_has_its_kinds() -> None:
    assert {name.rsplit(", ", 1)[0] for name in LAYOUTS} == set(KINDS)
