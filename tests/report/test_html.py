"""The page: one file that loads nothing, runs nothing but its own script, and shows hostile text as text."""

import itertools
import json
import re
from html.parser import HTMLParser

import pytest

from made_up_comparisons import HOSTILE, MANY_METRICS, make_comparison, make_findings, make_texts
from textassay.comparison.comparison import Comparison
from textassay.comparison.document import comparison_document
from textassay.comparison.sentence_scores import examples_of, sentence_table
from textassay.report.page import to_html

NAMES = ("<b>x</b>\x1b", "שלום", '"q" onload="alert(1)', "$\\frac{1}{0}$ 👩‍👧")
VOID = {"meta", "path", "use", "br", "rect", "line", "circle"}


class _Page(HTMLParser):
    """Collects elements, attributes and text, and checks that elements close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def _page(comparison: Comparison, names: tuple[str, ...]) -> str:
    table = sentence_table(comparison, make_texts(names))
    assert table is not None
    return to_html(comparison_document(comparison, examples_of(table, "dd", n_examples=20)))


def _parsed(page: str) -> _Page:
    parsed = _Page()
    parsed.feed(page)
    assert parsed.open == []
    return parsed


def _section_of(page: str, anchor: str) -> str:
    return page.split(f'<section id="{anchor}"')[1].split("</section>")[0]


def _part_of(page: str, name: str, anchor: str) -> str:
    """Return the part of a section that is about a generator."""
    part = _section_of(page, anchor).split(f"<bdi>{name}</bdi></h3>")[1]
    return re.split(r"<h3[^>]*><bdi>", part)[0]


@pytest.fixture(scope="module")
def hostile() -> str:
    comparison = make_comparison(
        NAMES, heldout=True, missing=True, findings=make_findings(NAMES), metrics=MANY_METRICS, explained=True
    )
    return _page(comparison, NAMES)


def test_loads_nothing_and_runs_nothing_but_its_own_script(hostile: str) -> None:
    parsed = _parsed(hostile)
    assert not {tag for tag, _ in parsed.elements} & {"img", "link", "iframe", "object", "b", "image"}
    assert [tag for tag, _ in parsed.elements].count("script") == hostile.count("<script>") == 1
    for _, attributes in parsed.elements:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith("#")
        assert "url(" not in (attributes.get("style") or "")
    urls = re.findall(r"\w+://[^\s\"'<&]+", hostile)
    assert {url for url in urls if "example.org" not in url} == set()  # the one is part of a sentence
    assert "default-src 'none'" in hostile
    assert "'unsafe-eval'" not in hostile
    assert len(re.findall(r"script-src [^\"]*", hostile)) == 1
    assert re.search(r"script-src 'sha256-[\w+/=]+'\"", hostile)


def test_shows_hostile_text_as_text(hostile: str) -> None:
    shown = " ".join("".join(_parsed(hostile).text).split())
    for text in (HOSTILE[0], HOSTILE[1], HOSTILE[6]):
        assert text in shown
    assert "<b>x</b>\ufffd" in shown
    assert "\x1b" not in hostile
    assert "\u202e" not in hostile
    assert "49" not in re.findall(r"\{\{.*?\}\}", shown)


def test_ids_are_unique_and_links_lead_somewhere(hostile: str) -> None:
    ids = [attributes["id"] for _, attributes in _parsed(hostile).elements if attributes.get("id")]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"] for _, attributes in _parsed(hostile).elements if attributes.get("href")}
    assert {target for target in targets if target and target[1:] not in ids} == set()
    assert set(re.findall(r"url\(#([^)]*)\)", hostile)) <= set(ids)


def test_can_be_used_without_seeing_it(hostile: str) -> None:
    parsed = _parsed(hostile)
    headings = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(headings))
    assert all(attributes.get("aria-label") for tag, attributes in parsed.elements if tag == "svg")
    scopes = {attributes.get("scope") for tag, attributes in parsed.elements if tag == "th"}
    assert scopes <= {"col", "row", "colgroup", "rowgroup"}
    assert ("html", {"lang": "en"}) in parsed.elements


def test_colours_follow_light_dark_and_paper(hostile: str) -> None:
    assert "prefers-color-scheme: dark" in hostile
    assert "@media print" in hostile
    figures = "".join(re.findall(r"<svg.*?</svg>", hostile, flags=re.DOTALL))
    assert "var(--generated)" in figures
    colours = set(re.findall(r"#[0-9a-f]{6}\b", figures))
    assert colours <= {"#ffffff"}  # letters on dark cells


def test_holds_every_number_reason_and_signature() -> None:
    names = ("trigram", "shuffler")
    comparison = make_comparison(names, missing=True)
    page = _page(comparison, names)
    for result in comparison.results:
        if result.estimate is None:
            assert result.error is not None
            assert result.error.split(" needs ")[1] in page
        elif result.estimate.value == result.estimate.value:
            shown = result.matched if result.shown_by == "matched_value" else result.estimate
            assert f"{(shown or result.estimate).value:.3f}" in page
            assert f'data-key="{(shown or result.estimate).value}"' in page  # in full, to sort by
            assert str(result.estimate.signature) in page
    assert "3 sentences are empty" in page


def test_explanations_stand_once_with_both_lists_and_the_curve() -> None:
    names = ("trigram", "5-gram", "shuffler")
    comparison = make_comparison(names, explained=True, metrics=MANY_METRICS)
    page = to_html(comparison_document(comparison))
    said = _section_of(page, "what-gives-them-away")
    for title in ("Says too often", "Says too rarely"):
        assert all(f"{title}: &#34;" in _part_of(page, name, "what-gives-them-away") for name in names[:2])
        assert said.count(f"{title}: no n-gram stands out for shuffler.") == 1
    for name in names:
        part = _part_of(page, name, "n-grams-lengths-places-sample-size")
        assert part.count("dd with more text.</figcaption>") == 1
        assert ("12,345 n-grams were tested" in part) == (name != "shuffler")
        assert part.count('<p class="note">No n-gram is significant.') == 2 * (name == "shuffler")
        assert f'id="figure-curve-{name}"' in part
    texts = _section_of(page, "texts")
    for title in ("Most clearly generated", "Real, mistaken for generated"):
        assert texts.count(f">{title}<") == 1
    for section in ("quality-and-diversity", "what-gives-them-away", "variety", "neighbours-of-sentence-vectors"):
        assert f'<section id="{section}"' in page


def test_figures_of_many_generators_have_a_panel_each() -> None:
    names = tuple(f"g{place}" for place in range(6))
    page = to_html(comparison_document(make_comparison(names, explained=True)))
    part = _section_of(page, "n-grams-lengths-places-sample-size")
    assert re.findall(r'id="figure-([^"]*)"', part) == [
        f"{kind}-of-all" for kind in ("lengths", "prefixes", "positions", "curve")
    ]
    for name in names:
        assert part.count(f">{name}: dd ") == 4
        assert f'id="table-curve-{name}"' in part


def test_texts_to_look_through_come_from_the_file_of_sentences() -> None:
    names = ("trigram", "5-gram")
    page = _page(make_comparison(names, explained=True), names)
    part = _section_of(page, "texts")
    assert "trigram sentence " in part
    assert "Real, mistaken for generated" in part  # of the explanation: the file's texts are generated
    found = re.findall(r'<li data-score="([^"]+)"[^>]*data-source="([^"]+)"', part)
    assert [source for _, source in found[:4]] == ["trigram", "5-gram"] * 2  # in turn
    scores = [float(score) for score, source in found if source == "trigram"]
    assert len(scores) == 41
    assert scores[:20] == sorted(scores[:20])
    assert scores[20:40] == sorted(scores[20:40], reverse=True)
    assert part.count('class="rest"') == 2 * 28


def test_all_sections_but_the_first_three_are_folded_and_generators_have_a_colour() -> None:
    names = ("trigram", "5-gram")
    page = _page(make_comparison(names, explained=True), names)
    opened = re.findall(r'<details class="section"( open)?>', page)
    assert opened[:4] == [" open"] * 3 + [""]
    assert set(opened[3:]) == {""}
    main = page.split('id="table-main"')[1].split("</table>")[0]
    assert re.findall(r'--series: var\(--(\w+)\)">([^<]*)<', main) == [("generated", "trigram"), ("green", "5-gram")]
    for figure in ("overview", "overlap-with-real-text"):
        drawn = page.split(f'id="figure-{figure}"' if figure == "overview" else f'id="figure-forest-{figure}"')[1]
        assert {"var(--generated)", "var(--green)"} <= set(re.findall(r"var\(--\w+\)", drawn.split("</svg>")[0]))
    assert page.count("data-latex=") == 1  # the table that a paper prints
    assert not re.search(r"\d\.\d+ <[^>]*>[\N{MINUS SIGN}+-]\d", page)  # an arm that reads as a subtraction


def test_one_generator_without_evidence_or_pairs_is_a_page_too() -> None:
    comparison = Comparison.from_dict(make_comparison(("only",)).to_dict())
    page = to_html(comparison_document(comparison))
    assert "only scores" in page
    assert 'id="pairs-and-ranks' not in page
    assert "Most lifelike" not in page


def test_no_estimate_at_all_is_said() -> None:
    comparison = make_comparison(("a", "b"))
    document = comparison.to_dict()
    for result in document["results"]:
        result.update(signature=None, matched=None, value=None, error="too few sentences")
    document["ranks"] = document["pairs"] = []
    page = to_html(comparison_document(Comparison.from_dict(json.loads(json.dumps(document)))))
    assert "No metric that has a direction could be computed." in page
    assert "too few sentences" in page
