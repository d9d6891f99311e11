"""Markers that programs left in texts, and token ids in place of words."""

import subprocess
from collections.abc import Sequence

import pytest

from textassay.corpus.corpus import corpora_from_texts
from textassay.inspection.finding import Finding
from textassay.inspection.inspection import inspect, inspect_corpus

MARKERS = {
    "<newline>": "It rains . <newline> It stops {} .",
    "__eou__": "It rains . __eou__ It stops {} .",
    "<q>": "it rains .<q>it stops {} .",
    "<think>": "<think>hm {}</think> It rains .",
    "<br />": "It rains .<br /><br />It stops {} .",
    r"\n": r"It rains .\nIt stops {} .",
    "@@": "It ra@@ ins {} .",
    "##": "It ra ##ins {} .",
    "\u0120": "It \u0120ra ins {} .",
    "\u2581": "\u2581It \u2581ra ins {} .",
    "@-@": "a well @-@ known {} .",
    "&amp;": "this &amp; that {} .",
}
PLAIN = "It rains and stops {} ."


def texts(form: str, n: int = 300) -> list[str]:
    return [form.format(f"word{number}") for number in range(n)]


def markers(findings: Sequence[Finding]) -> list[Finding]:
    return [one for one in findings if one.kind == "markers"]


@pytest.mark.parametrize("sign", MARKERS)
def test_a_marker_is_counted_on_both_sides_with_a_remedy(sign: str) -> None:
    form = MARKERS[sign]
    (one,) = markers(inspect({"m": texts(form)}, texts(PLAIN)))
    assert (one.severity, one.count_generated, one.count_real) == ("warning", 300, 0)
    assert sign in one.message
    assert "--normalize" not in one.remedy
    (both,) = markers(inspect({"m": texts(form)}, texts(form, 200)))
    assert (both.severity, both.count_generated, both.count_real) == ("note", 300, 200)
    (own,) = markers(inspect_corpus(corpora_from_texts({"m": texts(form)})["m"], name="m"))
    assert (own.count_generated, own.n_generated) == (300, 300)


@pytest.mark.parametrize("sign", [sign for sign in MARKERS if sign != "&amp;"])
def test_the_remedy_takes_the_marker_out(sign: str) -> None:
    (one,) = markers(inspect({"m": texts(MARKERS[sign])}, texts(PLAIN)))
    command = (
        one.remedy.removeprefix("Remove them on both sides, for example with ")
        .partition(" < FILE")[0]
        .partition(" (")[0]
    )
    given = "\n".join(texts(MARKERS[sign])) + "\n"
    done = subprocess.run(["bash", "-c", command], input=given, capture_output=True, text=True, check=True)
    assert markers(inspect({"m": done.stdout.splitlines()}, texts(PLAIN))) == []
    assert len(done.stdout.splitlines()) == 300


def test_texts_without_markers_have_none() -> None:
    odd = [r"\nu and \not are LaTeX", "## A heading", "x < y and y > z", "AT&T; R&D", "1 @ 2", "a__b"]
    assert markers(inspect({"m": odd * 50}, texts(PLAIN))) == []


def test_token_ids_and_their_padding() -> None:
    ids = [f"{number} {number + 3} 13 0 0 0" for number in range(1, 300)]
    (one,) = [one for one in inspect({}, ids) if one.kind == "token-ids"]
    assert one.severity == "warning"
    assert "token ids, padding 0" in one.message
    assert r"s/( 0)+$//" in one.remedy
    found = inspect({"m": ids}, [f"{number} {number + 5} 9 0 0 0" for number in range(1, 300)])
    assert [one.generator for one in found if one.kind == "token-ids"] == ["(real)", "m"]
    (plain,) = [one for one in inspect({}, [f"{number} 8 13" for number in range(300)]) if one.kind == "token-ids"]
    assert plain.severity == "note"
    assert not [one for one in inspect({}, texts(PLAIN)) if one.kind == "token-ids"]
