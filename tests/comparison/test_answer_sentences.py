"""The answer in words: it says no more than the ranks, the p-values and the floor allow."""

import re
from dataclasses import replace
from typing import Any

import pytest

from made_up import sentences
from made_up_comparisons import make_comparison, make_findings
from textassay.comparison.answer_sentences import answer, command_line, scope
from textassay.comparison.comparison import FLOOR, Comparison, Rank
from textassay.comparison.digest import Digest
from textassay.comparison.document import comparison_latex, comparison_markdown, judge_statements, judged_alone
from textassay.comparison.metric_kinds import family_of, variant_of
from textassay.comparison.run import compare
from textassay.estimate import Better, Estimate, Interval
from textassay.metric.base import Effort
from textassay.report.text import printable, shorten


def _with_ranks(comparison: Comparison, metric: str, ranks: dict[str, tuple[int, int]]) -> Comparison:
    kept = [rank for rank in comparison.ranks if rank.metric != metric]
    return replace(comparison, ranks=(*kept, *(Rank(name, metric, *ends) for name, ends in ranks.items())))


def _with_p(comparison: Comparison, generator: str, p: float) -> Comparison:
    document = comparison.to_dict()
    for result in document["results"]:
        if (result["generator"], result["metric"]) == (generator, "dd"):
            result["details"] = {**result["details"], "p_value": p}
    return Comparison.from_dict(document)


def test_order_is_by_rank_then_value() -> None:
    comparison = make_comparison(("a", "b", "c"))
    assert Digest(comparison).order == ("a", "b", "c")
    reversed_ranks = _with_ranks(comparison, "dd", {"a": (3, 3), "b": (1, 2), "c": (1, 2)})
    assert Digest(reversed_ranks).order == ("b", "c", "a")


def test_headline_is_the_first_metric_with_a_direction_and_a_value() -> None:
    comparison = make_comparison()
    assert Digest(comparison).headline == "dd"
    without = replace(
        comparison,
        metrics=("vocabulary(of=types)", "dd", "length"),
        results=tuple(
            replace(result, estimate=None) if result.metric == "dd" else result for result in comparison.results
        ),
    )
    assert Digest(without).headline == "length"


def test_one_best_is_named_with_value_interval_and_floor() -> None:
    text = " ".join(answer(Digest(make_comparison(("a", "b", "c")))))
    assert text.startswith("a is closest to the real text by dd: 0.2")
    assert "rank 1 of 3. c is last at 0.6" in text
    assert "For comparison: real text against itself 0.0" in text
    assert "The text of every generator can be distinguished from real text" in text


def test_shared_first_and_last_places_are_said_to_be_shared() -> None:
    comparison = make_comparison(("a", "b", "c", "d"))
    shared = _with_ranks(comparison, "dd", {"a": (1, 2), "b": (1, 2), "c": (3, 4), "d": (3, 4)})
    text = answer(Digest(shared))[0]
    assert "a (0.1" in text
    assert "come first by dd. It is not clear which of them is closest: they may differ by up to 0.1" in text
    assert "Last, in no clear order, come c and d" in text
    assert "is last" not in text


def test_many_in_first_place_are_counted() -> None:
    names = tuple(f"g{number:02}" for number in range(12))
    ranks = {name: (1, 11) if place < 11 else (12, 12) for place, name in enumerate(names)}
    text = answer(Digest(_with_ranks(make_comparison(names), "dd", ranks)))[0]
    assert re.match(
        r"11 generators, g00 \(0\.\d+\) to g10 \(0\.\d+\), come first by dd. It is not clear which of them is closest",
        text,
    )


def test_no_separation_names_no_winner_and_marks_none() -> None:
    comparison = make_comparison(("a", "b", "c"))
    tied = Digest(_with_ranks(comparison, "dd", dict.fromkeys(("a", "b", "c"), (1, 3))))
    assert answer(tied)[0].startswith("Of the 3 generators, no two are separated by dd.")
    assert tied.marked("dd") == frozenset()


def test_a_generator_that_passes_is_named() -> None:
    text = " ".join(answer(Digest(_with_p(make_comparison(("a", "b")), "a", 0.4))))
    assert "dd leaves open whether a differs from real text. a: p 0.40; it may be up to 0.3" in text
    assert "But a clearly differs from real text by length (0.315 against 0.012)" in text
    assert "The text of every generator can be distinguished from real text" not in text


def test_without_p_values_the_interval_at_the_floors_size_decides() -> None:
    digest = Digest(make_comparison(("a", "b")))
    assert digest.verdict("a", "length") == "separated"
    assert digest.verdict("a", "vocabulary(of=types)") == "open"
    assert digest.verdict("nobody", "length") is None


def test_a_small_p_with_an_interval_that_reaches_guessing_or_the_floor_is_said_with_care() -> None:
    comparison = make_comparison(("a", "b"))
    document = comparison.to_dict()
    for result in document["results"]:
        if (result["generator"], result["metric"]) == ("a", "dd"):
            result["low"] = -0.05
    for low, reached in ((-0.01, "0, which is guessing"), (0.005, "what real text itself scores")):
        for result in document["results"]:
            if result["generator"] == FLOOR and result["metric"] == "dd":
                result["low"] = low  # only where the floor is clearly above 0 does it count
        text = " ".join(answer(Digest(Comparison.from_dict(document))))
        assert f"Barely distinguished from real text: a (p 0.001); the interval reaches {reached}." in text
        assert "The text of every generator can be distinguished from real text" not in text


def _without(comparison: Comparison, metric: str, error: str) -> Comparison:
    results = tuple(
        replace(one, estimate=None, matched=None, floor=None, error=error) if one.metric == metric else one
        for one in comparison.results
    )
    return replace(comparison, results=results, pairs=(), ranks=())


def test_where_the_main_metric_is_missing_the_answer_says_why_and_what_it_goes_by_instead() -> None:
    error = "dd needs at least 50 texts a side, the generated corpus has 30"
    comparison = _without(make_comparison(("a", "b")), "dd", error)
    first, second, *_ = answer(Digest(comparison))
    assert first == (
        "dd has no value: it needs at least 50 texts a side, the generated corpus has 30. Give at least 50 texts of "
        "each generator and 100 real ones, since (real) compares two halves. Until then, the answer uses "
        "bleu(order=2), the first metric that has a value."
    )
    assert "bleu(order=2)" in second
    other = _without(make_comparison(("a",)), "dd", "it is undefined for this text")
    assert answer(Digest(other))[0].startswith(
        "dd has no value: it is undefined for this text. Until then, the answer uses bleu(order=2"
    )
    assert not any("no value" in sentence for sentence in answer(Digest(make_comparison(("a", "b")))))
    nothing = replace(comparison, metrics=("dd", "vocabulary(of=types)"))
    assert "needs at least 50 texts" in answer(Digest(nothing))[1]


def test_what_the_halves_of_real_text_are_is_said_of_every_kind() -> None:
    comparison = make_comparison(("a",))
    assert Digest(comparison).floor_note == "(real): one half of the real text against the other (5,000 a side)"
    prompts = {"prompts": "abc"}
    for settings, (n_groups, n_shared), what in (
        ({}, (72, 0), "whole groups of real texts against the others (5,000 a side, 72 groups)"),
        (prompts, (500, 0), "real answers to some prompts against those to the others, since no prompt has two (5,0"),
        (prompts, (125, 125), "real answers against other real answers to the same prompts (5,000 a side)"),
        (prompts, (9, 4), "other real answers to the same prompts (5,000 a side, 4 of 9 prompts have several)"),
    ):
        floor_groups = {"n_groups": n_groups, "n_shared": n_shared}
        found = replace(comparison, settings=settings, floor_groups=floor_groups)
        assert what in Digest(found).floor_note
        assert Comparison.from_dict(found.to_dict()).floor_groups == found.floor_groups
    uneven = tuple(
        replace(one, estimate=replace(one.estimate, sizes={"n_generated": 251, "n_real": 249}))
        if one.generator == FLOOR and one.estimate is not None else one
        for one in comparison.results
    )  # fmt: skip
    assert Digest(replace(comparison, results=uneven)).floor_note.endswith("(251 texts against 249)")


def test_warnings_that_differ_in_name_and_number_only_stand_together() -> None:
    warnings = ("a has 141 sentences, fewer than 861", "b has 99 sentences, fewer than 861", "c: 1 is empty")
    comparison = replace(make_comparison(("a", "b", "c")), warnings=warnings)
    assert Digest(comparison).grouped_warnings() == ((warnings[0], ("b",)), (warnings[2], ()))


def test_a_warning_of_several_metrics_stands_once() -> None:
    said = "only {} sentences a cluster: the value is too low"
    warnings = (
        f"bleu(order=2) of lstm: {said.format(3)}",
        f"length of lstm: {said.format(3)}",
        f"length of gan: {said.format(4)}",
    )
    comparison = replace(make_comparison(("lstm", "gan")), warnings=warnings)
    assert Digest(comparison).grouped_warnings() == ((warnings[0], ("length", "gan")),)


def test_sizes_of_many_generators_are_given_as_a_range() -> None:
    comparison = make_comparison(("a", "b", "c", "d", "e"))
    document = comparison.to_dict()
    for result in document["results"]:
        if result["generator"] == "c":
            result["sizes"] = {"n_generated": 7}
    shown = dict(scope(Digest(Comparison.from_dict(document))))
    assert shown["Generators"] == "a, b, c, d and e: 7 to 10,000 texts each"


def test_metrics_that_disagree_are_named_by_family() -> None:
    comparison = make_comparison(("a", "b", "c"))
    for order in (2, 3, 4, 5):
        comparison = _with_ranks(comparison, f"bleu(order={order})", {"a": (3, 3), "b": (2, 2), "c": (1, 1)})
    text = " ".join(answer(Digest(comparison)))
    assert "Not all metrics agree: c is first by bleu (all 4)." in text


def test_warnings_come_before_numbers() -> None:
    generators = ("a", "b")
    first = answer(Digest(make_comparison(generators, findings=make_findings(generators))))[0]
    assert first.endswith("First read the warnings, which may explain this result: glued punctuation (a and b).")


def test_one_generator_has_no_rank() -> None:
    sentences = answer(Digest(make_comparison(("only",))))
    assert sentences[0].startswith("only scores 0.4")
    assert "rank" not in " ".join(sentences)


def test_scope_and_command_name_sizes_settings_and_quote_names() -> None:
    digest = Digest(make_comparison(("a b", "c")))
    shown = dict(scope(digest))
    assert shown["Real text"] == "real.txt: 10,000 texts"
    assert shown["Generators"] == "a b and c: 10,000 texts each"
    command = command_line(digest)
    assert command.startswith("textassay compare --real real.txt 'a b=FILE' c=FILE --metrics 'dd,bleu(order=2),")
    assert command.endswith("--tokenizer whitespace --level 0.95 --seed 0")


def test_the_command_repeats_how_text_was_prepared() -> None:
    document = make_comparison(("a",)).to_dict()
    for result in document["results"]:
        result["signature"] = result["signature"].replace("tok:whitespace", "tok:13a+lower+normalize+max-tokens=20")
    command = command_line(Digest(Comparison.from_dict(document)))
    assert "--tokenizer 13a --lowercase --normalize --max-tokens 20 --level" in command


def test_the_command_names_all_that_was_given() -> None:
    metrics: dict[str, Better] = {
        "dd": "lower",
        "fed(encoder=tiny:ce11)": "lower",
        "precision(k=3,encoder=tiny:ce11)": "closer",
        "huse": "higher",
        "mmd": "lower",
    }
    document = make_comparison(("a", "b"), metrics=metrics, heldout=True).to_dict()
    for result in document["results"]:
        result["signature"] += "|train:28b8" if result["metric"] == "dd" else ""
        if result["metric"] == "mmd" or (result["metric"], result["generator"]) == ("huse", "b"):
            result.update(signature=None, matched=None, value=None, error="too many sentences")
    command = command_line(Digest(Comparison.from_dict(document)))
    assert (
        "--real real.txt --real-heldout FILE --train FILE a=FILE b=FILE --log-probs a=FILE --ratings a=FILE" in command
    )
    assert "--metrics 'dd,fed,precision(k=3),huse' --encoder MODEL --tokenizer" in command


def _white_box(comparison: Comparison, *generators: str) -> Comparison:
    document = comparison.to_dict()
    for result in document["results"]:
        if result["metric"] == "dd":
            whose = result["generator"] if result["generator"] in generators else None
            result["details"] = {**result["details"], "log_probs": whose}
    return Comparison.from_dict(document)


def test_the_command_asks_for_log_probabilities_that_dd_read() -> None:
    comparison = make_comparison(("a", "b", "c"), metrics={"dd": "lower"})
    assert "--log-probs" not in command_line(Digest(_white_box(comparison)))
    command = command_line(Digest(_white_box(comparison, "a", "c")))
    assert "c=FILE --log-probs a=FILE --log-probs c=FILE --metrics dd" in command


def test_an_order_of_unequally_judged_generators_is_taken_back() -> None:
    comparison = make_comparison(("a", "b", "c"))
    told = "But a was measured with log-probabilities and others without: do not compare the two groups."
    assert answer(Digest(_white_box(comparison, "a")))[1] == told
    assert "But 2 of them were measured with log-prob" in answer(Digest(_white_box(comparison, "a", "b")))[1]
    for same in ((), ("a", "b", "c")):
        assert "do not compare" not in " ".join(answer(Digest(_white_box(comparison, *same))))


def test_files_say_whose_log_probabilities_were_used() -> None:
    comparison = make_comparison(("a", "b"))
    for write, n_tables in ((comparison_markdown, 2), (comparison_latex, 1)):  # the main one and that of dd
        assert "White box" not in write(_white_box(comparison))
        assert write(_white_box(comparison, "a", "b")).count("the log-probabilities of a and b, so that") == n_tables


def test_a_judge_that_is_not_installed_is_named() -> None:
    document = make_comparison(("a", "b")).to_dict()
    for result in document["results"]:
        if result["metric"] == "dd":
            result["details"] = {**result["details"], "left_out": {"net": "net needs the extra"}}
    told = judge_statements(Digest(Comparison.from_dict(document)), "dd")
    assert told == ("net was not among the classifiers: net needs the extra.",)


@pytest.mark.parametrize(("sized", "whose"), [(("a", "b"), ""), (("a",), " of a")])
def test_classifiers_that_the_size_decided_on_are_told(sized: tuple[str, ...], whose: str) -> None:
    document = make_comparison(("a", "b")).to_dict()
    for result in document["results"]:
        if result["metric"] == "dd" and result["generator"] in sized:
            result["details"] = {**result["details"], "by_size": "up to 99 texts a side"}
    told = judge_statements(Digest(Comparison.from_dict(document)), "dd")
    decided = f"The size of the text decided between which classifiers{whose} to choose"
    assert told == (f"{decided}: those for up to 99 texts a side.",)


def test_who_was_chosen_in_how_many_folds_is_told() -> None:
    document = make_comparison(("a",), metrics={"dd": "lower"}).to_dict()
    alone = {name: {"value": 0.3, "low": 0.2, "high": 0.4} for name in ("net", "stack", "blend")}
    for result in document["results"]:
        won = {"most": "stack", "folds": ["stack", "net", "stack"]}
        result["details"] = {**result["details"], "won": won, "alone": alone}
    told = judged_alone(Digest(Comparison.from_dict(document)), "a", "dd") or ""
    assert told.startswith("Validation text chose net in 1 and stack in 2 of 3 folds. On the same folds each alone")
    assert told.count("[0.2") == 3


def test_the_command_asks_for_features_that_were_given() -> None:
    comparison = make_comparison(("a",), metrics={"dd": "lower", "fed(encoder=given)": "lower"})
    command = command_line(Digest(comparison))
    assert "a=FILE --features real=FILE --features a=FILE --metrics 'dd,fed(encoder=given)' --tokenizer" in command


def test_held_out_real_text_is_part_of_the_answer() -> None:
    text = answer(Digest(make_comparison(("a",), heldout=True)))[0]
    assert re.search(r"real text against itself 0\.0\d+, held-out real text 0\.0\d+\.$", text)


def _small(comparison: Comparison, generator: str, metric: str, *, matched: float, floor: float) -> Comparison:
    """Return `comparison` with real text of 150 sentences beside the 150 of `generator`."""

    def resized(estimate: Estimate | None, value: float) -> Estimate:
        assert estimate is not None
        interval = Interval(value - 0.01, value + 0.01, 0.95, "t")
        return replace(estimate, value=value, interval=interval, sizes={"n_generated": 150, "n_real": 5000})

    results = tuple(
        replace(result, matched=resized(result.matched, matched), floor=resized(result.estimate, floor))
        if (result.generator, result.metric) == (generator, metric)
        else result
        for result in comparison.results
    )
    return replace(comparison, results=results)


def test_a_small_generator_is_judged_beside_real_text_of_its_own_size() -> None:
    metric = "self-bleu(order=2)"
    comparison = _small(make_comparison(("a", "b")), "a", metric, matched=0.1, floor=0.105)
    digest = Digest(comparison)
    own = digest.own_floor("a", metric)
    assert own is not None
    assert own.value == 0.105
    assert digest.badness("a", metric) == pytest.approx(0.005)
    assert digest.verdict("a", metric) == "open"
    assert digest.own_floor("b", metric) is None


def test_significant_but_not_above_guessing_is_hardly() -> None:
    document = make_comparison(("a",)).to_dict()
    for result in document["results"]:
        if result["metric"] == "dd":
            result.update({"value": -0.02} if result["generator"] == "(real)" else {"low": -0.01})
    assert Digest(Comparison.from_dict(document)).verdict("a", "dd") == "hardly"


def test_one_warning_of_one_generator_stands_once() -> None:
    warnings = ("a: distinct-n(order=2) is undefined", "a: distinct-n(order=3) is undefined")
    comparison = replace(make_comparison(("a", "b")), warnings=warnings)
    assert Digest(comparison).grouped_warnings() == ((warnings[0], ()),)


@pytest.mark.parametrize(("metric", "family", "variant"), [("dd", "dd", ""), ("bleu(order=4)", "bleu", "order=4")])
def test_metric_names_fall_into_family_and_variant(metric: str, family: str, variant: str) -> None:
    assert (family_of(metric), variant_of(metric)) == (family, variant)


def test_printable_keeps_scripts_and_emoji_and_drops_what_steers() -> None:
    kept = "שלום é 漢字\u3000👩\u200d👧\u00a0x"
    assert printable(kept) == kept
    assert printable("a\x1b[31m\u202eb\u2066\nc") == "a\ufffd[31m\ufffdb\ufffd\ufffdc"


def test_shorten_keeps_both_ends() -> None:
    shown = shorten("begin " + "x" * 200 + " end", 40)
    assert len(shown) <= 40
    assert shown.startswith("begin")
    assert shown.endswith("end")


@pytest.mark.parametrize("effort", ["quick", "default", "max"])
def test_the_command_names_an_effort_that_is_not_the_default_one(effort: Effort) -> None:
    texts = {name: [f"{word} {n % 7}" for n in range(60)] for name, word in (("real", "a"), ("far", "b"))}
    comparison = compare({"far": texts["far"]}, texts["real"], metrics=["mauve"], effort=effort)
    line = command_line(Digest(comparison))
    assert (f"--effort {effort}" in line) == (effort != "default")
    assert ("--effort" in line) == (effort != "default")


def test_more_text_that_dd_learnt_from_is_told() -> None:
    texts = sentences(300, seed=1)
    settings: dict[str, Any] = {"metrics": ["dd"], "effort": "quick", "folds": 2, "explain": False}
    plain, more = (
        Digest(compare({"g": sentences(100, seed=2)}, texts[:100], fit_real=fit_real, **settings))
        for fit_real in (None, texts[100:])
    )
    assert "dd learnt from 200 more real texts" in dict(scope(more))["Settings"]
    assert "learnt" not in dict(scope(plain))["Settings"]
    assert " --fit-real FILE " in command_line(more)
    assert "--fit-real" not in command_line(plain)
