"""The page: one file that loads nothing, runs nothing, and shows hostile text as text."""

import itertools
import re
from html.parser import HTMLParser

import pytest

from made_up_comparisons import HOSTILE, MANY_METRICS, make_comparison, make_findings, make_texts
from textassay.comparison import Comparison
from textassay.report import draw_figures, examples_of, sentence_table, to_html

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
        self.text.append(data)


def _page(comparison: Comparison, names: tuple[str, ...]) -> str:
    table = sentence_table(comparison, make_texts(names))
    assert table is not None
    return to_html(comparison, draw_figures(comparison), examples_of(table, "dd", n_examples=20))


def _parsed(page: str) -> _Page:
    parsed = _Page()
    parsed.feed(page)
    assert parsed.open == []
    return parsed


@pytest.fixture(scope="module")
def hostile() -> str:
    comparison = make_comparison(
        NAMES, heldout=True, missing=True, findings=make_findings(NAMES), metrics=MANY_METRICS, explained=True
    )
    return _page(comparison, NAMES)


def test_loads_nothing_and_runs_nothing(hostile: str) -> None:
    parsed = _parsed(hostile)
    assert not {tag for tag, _ in parsed.elements} & {"script", "img", "link", "iframe", "object", "b", "image"}
    for _, attributes in parsed.elements:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith("#")
        assert "url(" not in (attributes.get("style") or "")
    urls = re.findall(r"\w+://[^\s\"'<&]+", hostile)
    assert {url for url in urls if "example.org" not in url} == set()  # the one is part of a sentence
    assert "default-src 'none'" in hostile


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
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in parsed.elements if tag == "th")
    assert ("html", {"lang": "en"}) in parsed.elements


def test_colours_follow_light_dark_and_paper(hostile: str) -> None:
    assert "prefers-color-scheme: dark" in hostile
    assert "@media print" in hostile
    figures = "".join(re.findall(r"<svg.*?</svg>", hostile, flags=re.DOTALL))
    assert "var(--generated)" in figures
    assert re.findall(r"#[0-9a-f]{6}\b", figures) == []


def test_holds_every_number_reason_and_signature() -> None:
    names = ("trigram", "shuffler")
    comparison = make_comparison(names, missing=True)
    page = _page(comparison, names)
    for result in comparison.results:
        if result.estimate is None:
            assert result.error is not None
            assert result.error.split(" needs ")[1] in page
        elif result.estimate.value == result.estimate.value:
            shown = result.matched if result.ranked_by == "matched_value" else result.estimate
            assert f"{(shown or result.estimate).value:.3f}" in page
            assert str(result.estimate.signature) in page
    assert "3 sentences are empty" in page


def test_explanations_stand_once_with_both_lists_and_the_curve() -> None:
    names = ("trigram", "5-gram", "shuffler")
    comparison = make_comparison(names, explained=True, metrics=MANY_METRICS)
    page = _page(comparison, names)
    for name in names:
        cards = page.split('class="card"')
        (card,) = [card for card in cards if f"<h3><bdi>{name}</bdi></h3>" in card]
        assert card.count("Most generated-looking") == 1
        assert card.count("Says too often") == card.count("Says too rarely") == 1
        assert "12,345 n-grams were tested" in card
        assert ("No n-gram stands out." in card) == (name == "shuffler")
        assert ("Real, mistaken for generated" in card) == (name != "shuffler")
    assert "<td>24</td><td>1.2</td>" in page  # in 1,000 sentences
    assert "sentence 3" not in page  # of the file of sentences: the explanations' own stand here
    for section in ("planes", "giveaways", "kind-variety", "kind-neighbours-of-sentence-vectors"):
        assert f'id="{section}"' in page


def test_one_generator_without_evidence_or_pairs_is_a_page_too() -> None:
    comparison = Comparison.from_dict(make_comparison(("only",)).to_dict())
    page = to_html(comparison, draw_figures(comparison), {})
    assert "only scores" in page
    assert 'id="pairs"' not in page
    assert "Most lifelike" not in page


def test_no_estimate_at_all_is_said() -> None:
    comparison = make_comparison(("a", "b"))
    document = comparison.to_dict()
    for result in document["results"]:
        result.update(signature=None, matched=None, value=None, error="too few sentences")
    document["ranks"] = document["pairs"] = []
    empty = Comparison.from_dict(document)
    page = to_html(empty, draw_figures(empty), {})
    assert "No metric that has a direction could be computed." in page
    assert "too few sentences" in page
