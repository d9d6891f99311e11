"""What gives a generator away and how much text is needed, on a terminal: it fits, it is complete, it is safe."""

import io
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from made_up import sentences
from made_up_comparisons import HOSTILE
from textassay.comparison.explain import explain
from textassay.comparison.explanation import DiscriminativeNgram, Example, Explanation, LengthBin, PrefixPoint
from textassay.comparison.explanation_document import curve_statement, explanation_document, prefix_statement
from textassay.comparison.plan_document import plan_document
from textassay.comparison.planning import Pilot, PilotCurve, PilotGenerator, plan
from textassay.corpus.corpus import corpora_from_texts
from textassay.report.terminal import print_document
from textassay.report.text import excerpt, shorten


@pytest.fixture(scope="module")
def explanation() -> Explanation:
    corpora = corpora_from_texts({"real": sentences(400, 1), "gen": sentences(400, 2, shift=0.5)})
    return explain(corpora["gen"], corpora["real"], name="lstm")


def _render(explanation: Explanation, width: int = 80, *, encoding: str = "utf-8", top: int = 10) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    print_document(explanation_document([explanation], top=top), Console(file=file, width=width))
    file.flush()
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_fits_the_width_and_shows_every_part(explanation: Explanation, width: int) -> None:
    text = _render(explanation, width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    places = [
        text.index(part)
        for part in (
            f"What gives lstm away: dd {explanation.value:.3f}",
            "More often in generated text",
            "More often in real text",
            "dd by length",
            "dd of the first tokens",
            "Evidence for real by position",
            "Most clearly generated",
            "Most lifelike",
            "Real, mistaken",
            "dd with more text",
        )
    ]
    assert places == sorted(places)
    for point in explanation.curve:
        assert f"{point.value:.3f} " in text
    for example in explanation.most_generated:
        assert example.text[:20] in text


def test_only_so_many_ngrams_are_shown(explanation: Explanation) -> None:
    long, short = _render(explanation, top=20), _render(explanation, top=1)
    assert len(long.splitlines()) - len(short.splitlines()) >= len(explanation.more_real) - 1
    assert "n-gram  " not in _render(explanation, top=0)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_falls_back_to_ascii(explanation: Explanation, encoding: str) -> None:
    assert re.search(r"\d-\d+ \| +\d", _render(explanation, encoding=encoding))  # a span of lengths


def test_nothing_in_a_text_steers_the_terminal(explanation: Explanation) -> None:
    hostile = replace(
        explanation,
        generator="[bold]x[/bold]",
        more_generated=tuple(DiscriminativeNgram(text, 1, 0, 9, 0.0, 0.5, 0.01) for text in HOSTILE),
        most_generated=tuple(Example(text, 0.0) for text in HOSTILE),
        mistaken=(),
    )
    text = _render(hostile)
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert not any(sign in text for sign in ("\x1b", "\x07", "\u202e"))
    assert "[bold]x[/bold]" in text
    assert "<0.001" in text
    assert "Real, mistaken for generated: none." in text


def test_the_statement_follows_the_rule(explanation: Explanation) -> None:
    def said(rising: bool | None) -> str:
        return curve_statement(replace(explanation, rising=rising, rise=0.05, rise_low=0.01, rise_high=0.09))

    assert said(True).startswith("Still rising. Going from 200 real and 200 generated texts to 400 and 400")
    assert said(False).startswith("Levelled off.")
    assert said(None).startswith("Not clear at this size.")
    assert "+0.050 (95 % interval +0.010 to +0.090)" in said(True)
    assert "too little text" in curve_statement(replace(explanation, curve=explanation.curve[-1:], rise=None))


def test_the_half_length_is_said_with_what_lies_beyond_the_curve(explanation: Explanation) -> None:
    points = tuple(PrefixPoint(n, 0.1 * n, 0.1 * n - 0.05, 0.1 * n + 0.05) for n in (1, 2, 3))

    def said(*half: float | None) -> str:
        named = dict(zip(("half_length", "half_low", "half_high"), half, strict=True))
        return prefix_statement(replace(explanation, prefixes=points, **named))  # type: ignore[arg-type]

    assert said(2.5, 1.84, 2.96) == "dd reaches one half after 2.5 tokens (95 % interval 1.8 to 3.0 tokens)."
    assert said(0.5, 0.45, 0.55).startswith("dd reaches one half within the first token")
    assert said(2.5, 1.84, None).endswith("interval 1.8 to beyond 3 tokens).")
    assert said(None, 2.9, None) == (
        "dd does not reach one half within the first 3 tokens, but its 95 % interval includes lengths from 2.9 tokens."
    )
    assert said(None, None, None) == "dd does not reach one half within the first 3 tokens."
    assert "nothing can be cut" in prefix_statement(replace(explanation, prefixes=()))


def test_the_shortest_length_at_which_dd_is_one_half_is_said(explanation: Explanation) -> None:
    bins = tuple(LengthBin(5 * n + 1, 5 * n + 5, 50, 50, 0.2 + 0.2 * n, 0.0, 1.0) for n in range(4))
    assert "dd is one half or more among texts of 11 tokens or more" in " ".join(
        _render(replace(explanation, lengths=bins)).split()
    )
    assert "dd is one half or more" not in _render(replace(explanation, lengths=bins[:2]))


@pytest.mark.parametrize("folds", [1, 5])
def test_a_plan_fits_and_shows_its_numbers(explanation: Explanation, folds: int) -> None:
    curve = PilotCurve(explanation.curve, True, 0.05, 0.01, 0.09)
    generators = (
        PilotGenerator("lstm", 0.3, 0.6, 0.7, 400, 400, curve),
        PilotGenerator("a-very-long-name-of-a-generator" * 3, 0.4, 0.7, 0.7, 400, 400, None),
    )
    found = plan(pilot=Pilot(generators, 0.2), folds=folds)
    file = io.StringIO()
    print_document(plan_document(found), Console(file=file, width=80))
    text = file.getvalue()
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    for requirement in found.requirements:
        assert f"{requirement.n:,}" in text
    assert "correlate by 0.20" in text
    assert "yes" in text
    assert "of lstm in the pilot" in " ".join(text.split())


def test_line_breaks_of_excerpts_are_signs() -> None:
    assert excerpt("\n# Title\n\n  One line.\n", 60) == "# Title \u23ce One line."
    assert "\n" not in excerpt("a b\n" * 60, 40, ["b a"])


def test_excerpts_are_cut_around_the_evidence() -> None:
    text = f"{'before it ' * 40}I hope this helps !{' after it' * 40}"
    found = ["absent", "hope this helps !"]
    for width in (30, 60, 61, 160):
        cut = excerpt(text, width, found)
        assert "hope this helps !" in cut
        assert len(cut) <= width
        assert cut.startswith("… ")
        assert cut.endswith(" …")
        assert set(cut.split()) <= {*text.split(), "…"}
    begin = excerpt(f"I hope this helps !{' after it' * 40}", 60, found)
    assert begin.startswith("I hope this helps !")
    assert excerpt(text[: -9 * 40], 60, found).endswith("I hope this helps !")
    assert excerpt("short", 60, found) == "short"
    assert excerpt(text, 60, found[:1]) == shorten(text, 60)
