"""The page in a real browser: sorting, columns, tooltips, colours, a phone, paper, hostile text, no script."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from made_up_comparisons import HOSTILE, MANY_METRICS, make_comparison, make_findings, make_texts
from textassay.comparison.document import comparison_document
from textassay.comparison.sentence_scores import examples_of, sentence_table
from textassay.report.document import Document, Pair, Pairs, Paragraph, Part, Section, Terms, TextEntry, Texts
from textassay.report.latex import latex_table
from textassay.report.page import to_fragment, to_html
from textassay.report.table import Cell, Column, Row, Table

SET = "globalThis.hacked = true"
PAYLOADS = (
    f"<script>{SET}</script>",
    f"<img src=x onerror='{SET}'>",
    f'" onmouseover="{SET}" x="',
    f"</script><script>{SET}</script>",
    f"</style><script>{SET}</script><style>",
    f"<svg onload={SET}>",
    f"javascript:{SET}",
    f"</textarea><iframe srcdoc='<script>parent.{SET}</script>'>",
    f"<!-- --><a href='javascript:{SET}'>x</a>",
    "\u202eright to left\u2066",
    "\x1b[31mred\x1b]0;title\x07",
    "=HYPERLINK(1)",
    *HOSTILE,
)
CONTRAST = """one => {  // by the definition of WCAG 2
  const numbers = text => text.match(/[\\d.]+/g).map(Number);
  const linear = value => (value /= 255) <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
  const found = [getComputedStyle(one).color, getComputedStyle(document.body).backgroundColor].map(numbers).map(light);
  return (Math.max(...found) + .05) / (Math.min(...found) + .05);
}"""
Open = Callable[..., Any]


def _table(name: str = "scores") -> Table:
    columns = (
        Column("generator", numeric=False),
        Column("order=4", group="bleu", better="higher"),
        Column("order=5", group="bleu", better="higher", hidden=True),
        Column("value"),
        Column("size"),
    )
    rows = [
        ("second", 0.3104, "0.310", 10),
        ("first", 0.3096, "0.310", 9),
        ("absent", None, "n/a", 1_000),
        ("third", 0.4, "0.400", 200),
        ("least", -0.05, "-0.050", 1),
    ]
    lines = [
        Row((
            Cell(one), Cell(text, value, "±0.012", note="95 % interval [0.300, 0.322]\nsignature: tok|seed:0"),
            Cell("5", 5), Cell(text, value), Cell(f"{size:,}", size),
        ))
        for one, value, text, size in rows
    ]  # fmt: skip
    real = [Row((Cell(f"(real{n})"), Cell("0.9", 0.9), Cell("6", 6), Cell("0.1", 0.1), Cell("5", 5)), "reference")
            for n in (1, 2)]  # fmt: skip
    heading = Row((Cell("Others"),), "heading")
    others = [Row((Cell(one), Cell("1", n), Cell("1", n), Cell("1", n), Cell("1", n))) for n, one in enumerate("zyx")]
    return Table(name, columns, (*lines, *real, heading, *others), title="Scores", notes=("A note.",))


def _document(*parts: Any) -> Document:
    return Document("A report", ("The answer.",), sections=(Section("One", parts), Section("Two", (Paragraph("p"),))))


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Return what opens a document as a page in a browser of its own, that must not complain of anything."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def open_page(document: Document, *, script: str = "", **settings: Any) -> Any:
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(to_html(document), encoding="utf-8")
        context = browser.new_context(**settings)
        contexts.append(context)
        context.set_default_timeout(8000)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda line: complaints.append(line.text))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: complaints.extend([request.url] * (not request.url.startswith("file:"))))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def _names(page: Any) -> list[str]:
    found: list[str] = page.locator("#table-scores tbody th").all_inner_texts()
    return found


def test_a_click_sorts_by_full_precision_and_reference_rows_stay(open_page: Open) -> None:
    page = open_page(_document(_table()))
    head = page.locator('#table-scores thead th[data-column="3"]')
    before = _names(page)
    head.click()
    assert head.get_attribute("aria-sort") == "ascending"
    kept = ["(real1)", "(real2)", "Others"]
    assert _names(page) == ["least", "first", "second", "third", "absent", *kept, "z", "y", "x"]
    head.click()
    assert head.get_attribute("aria-sort") == "descending"
    assert _names(page) == ["third", "second", "first", "least", "absent", *kept, "x", "y", "z"]
    size = page.locator('#table-scores thead th[data-column="4"]')
    size.focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") is None
    assert _names(page)[:5] == ["least", "first", "second", "third", "absent"]  # 1, 9, 10, 200, 1,000: not as text
    page.locator('#table-scores thead th[data-column="0"]').click()
    assert _names(page)[:5] == ["absent", "first", "least", "second", "third"]
    assert sorted(_names(page)) == sorted(before)


def test_a_hidden_column_appears_by_its_box_and_groups_span_what_shows(open_page: Open) -> None:
    page = open_page(_document(_table()))
    column = page.locator('#table-scores [data-column="2"]')
    cells = page.locator("#table-scores tbody tr:not(.heading) td:nth-child(3)")
    group = page.locator("#table-scores th.group")
    assert not column.is_visible()
    assert not any(cell.is_visible() for cell in cells.all())
    assert group.get_attribute("colspan") == "1"
    page.locator("#table-scores .columns summary").click()
    boxes = page.locator("#table-scores .columns label")
    assert [text.strip() for text in boxes.all_inner_texts()] == ["bleu ↑ order=4", "bleu ↑ order=5", "value", "size"]
    assert [box.is_checked() for box in boxes.locator("input").all()] == [True, False, True, True]
    boxes.nth(1).locator("input").check()
    assert column.is_visible()
    assert all(cell.is_visible() for cell in cells.all())
    assert group.get_attribute("colspan") == "2"
    for place in (0, 1):
        boxes.nth(place).locator("input").uncheck()
    assert not group.is_visible()
    assert page.locator("#table-scores tbody tr").first.locator("td:visible").count() == 2


@pytest.mark.slow
def test_hovering_and_focus_show_interval_and_signature(open_page: Open) -> None:
    page = open_page(_document(_table()))
    cell = page.locator("#table-scores tbody td").first
    tip = page.locator("#tip")
    assert not tip.is_visible()
    cell.hover()
    assert tip.is_visible()
    assert tip.inner_text() == "95 % interval [0.300, 0.322]\nsignature: tok|seed:0"
    assert cell.get_attribute("aria-describedby") == "tip"
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["y"] >= 0
    page.locator("h1").hover()
    assert not tip.is_visible()
    cell.focus()
    assert tip.is_visible()


def test_every_value_of_a_comparison_has_interval_and_signature(open_page: Open) -> None:
    comparison = make_comparison(("a", "b"), metrics=MANY_METRICS)
    page = open_page(comparison_document(comparison))
    notes = page.locator("#table-main tbody td.noted")
    assert notes.count() == 3 * 5  # two generators and real text by five metrics
    for note in notes.all():
        note.hover()
        text = page.locator("#tip").inner_text()
        assert "95 % interval [" in text
        assert "tok:whitespace" in text


@pytest.mark.slow
def test_dark_light_and_paper_have_colours_of_their_own_that_can_be_read(open_page: Open) -> None:
    document = comparison_document(make_comparison(("a", "b"), explained=True))
    looks = {}
    page = open_page(document, viewport={"width": 1000, "height": 800})
    for name, settings in {
        "light": {"color_scheme": "light", "media": "screen"},
        "dark": {"color_scheme": "dark", "media": "screen"},
        "paper": {"color_scheme": "dark", "media": "print"},
    }.items():
        page.emulate_media(**settings)
        looks[name] = page.evaluate(
            """() => ['paper', 'ink', 'real', 'generated'].map(
              name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim())"""
        )
        for kind in ("#answer p", "td", ".note", "figcaption", "tr.reference td", "thead th"):
            assert page.locator(kind).first.evaluate(CONTRAST) >= 4.5, (name, kind)
        marks = page.locator("figure svg use, figure svg path").evaluate_all(
            "marks => new Set(marks.map(mark => getComputedStyle(mark).fill)).size"
        )
        assert marks > 2
        assert page.locator(".tools").first.is_visible() == (name != "paper")
    assert len({tuple(colours) for colours in looks.values()}) == 3
    assert looks["paper"][:2] == ["#fff", "#000"]


@pytest.mark.slow
def test_on_a_phone_tables_scroll_and_the_page_does_not(open_page: Open) -> None:
    comparison = make_comparison(
        ("a-generator-with-a-long-name", "b" * 60, HOSTILE[2]), metrics=MANY_METRICS, explained=True,
        findings=make_findings(("a", "b")),
    )  # fmt: skip
    for width in (400, 320):
        page = open_page(comparison_document(comparison), viewport={"width": width, "height": 800})
        page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        frame = page.locator("#table-main .scroll")
        assert frame.evaluate("one => one.scrollWidth > one.clientWidth + 50")
        assert "more-right" in frame.get_attribute("class")
        frame.evaluate("one => { one.scrollLeft = one.scrollWidth; }")
        page.wait_for_timeout(100)
        assert "more-left" in frame.get_attribute("class")
        assert "more-right" not in frame.get_attribute("class")


def _hostile() -> Document:
    rows = [Row((Cell(text), Cell(text, note=text), Cell(text, text, below=text), Cell("0.1", 0.1, text)))
            for text in PAYLOADS]  # fmt: skip
    columns = tuple(Column(text, group=text, note=text, numeric=n > 1) for n, text in enumerate(PAYLOADS[:4]))
    parts: tuple[Part, ...] = (
        Table("hostile", columns, tuple(rows), title=PAYLOADS[3], notes=PAYLOADS),
        Terms(tuple((text, text) for text in PAYLOADS)),
        *(Paragraph(text, kind) for text in PAYLOADS for kind in ("", "note", "warning", "item", "code")),
        Texts("texts", tuple(TextEntry(text, text, 0.5, 2, text) for text in PAYLOADS), PAYLOADS, PAYLOADS[0], "x"),
        Pairs(
            "pairs",
            (PAYLOADS[0], PAYLOADS[1]),
            tuple(Pair(text, text, ((text, True), (text, False)), ((text, True),)) for text in PAYLOADS),
        ),
    )
    sections = tuple(Section(text, parts if not n else (), extra=bool(n % 2)) for n, text in enumerate(PAYLOADS))
    return Document(PAYLOADS[3], PAYLOADS, tuple((text, text) for text in PAYLOADS), sections)


def test_hostile_text_runs_nothing_and_is_shown(open_page: Open) -> None:
    names = PAYLOADS[:5]
    comparison = make_comparison(names, findings=make_findings(names), explained=True, missing=True)
    table = sentence_table(comparison, make_texts(names))
    assert table is not None
    for document in (_hostile(), comparison_document(comparison, examples_of(table, "dd", n_examples=15))):
        page = open_page(document, viewport={"width": 1000, "height": 800})
        page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
        page.evaluate(
            "() => document.querySelectorAll('.noted').forEach(one => one.dispatchEvent(new Event('mouseenter')))"
        )
        page.locator(".noted:visible").first.hover()
        for head in page.locator("thead tr:last-child th:visible").all()[:8]:
            head.click()
        for field in page.locator(".filter input[type=search]").all():
            field.fill("<script>")
        page.wait_for_timeout(50)
        assert page.evaluate("() => typeof globalThis.hacked") == "undefined"
        assert page.locator("script").count() == 1
        assert page.locator("main img, main iframe, main textarea, main a").count() == 0
        text = page.locator("body").text_content()
        for payload in PAYLOADS[:3]:
            assert payload in text
        assert not set(text) & set("\x1b\x07\u202e\u2066")


def test_a_script_of_anyone_else_would_be_refused(browser: Any, tmp_path: Path) -> None:
    """The policy is the second wall: a script that stood in the page in spite of all would not run."""
    path = tmp_path / "page.html"
    broken = to_html(_document(Paragraph("here"))).replace(
        ">here<", f"><script>{SET}</script><img src=x onerror={SET}><"
    )
    path.write_text(broken, encoding="utf-8")
    context = browser.new_context()
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text))
    page.goto(path.as_uri())
    assert page.evaluate("() => typeof globalThis.hacked") == "undefined"
    assert any("Content Security Policy" in line for line in complaints)
    context.close()


def _entries(page: Any) -> list[str]:
    found: list[str] = page.locator(".texts li:visible .text").all_inner_texts()
    return found


def test_texts_are_filtered_by_words_score_and_length(open_page: Open) -> None:
    entries = tuple(
        TextEntry(f"text number {n} {'I hope this helps!' if n % 3 == 0 else 'x' * n}", "lstm", n / 40, 1 + n % 2,
                  "Most clearly generated" if n < 20 else "Most lifelike")
        for n in range(40)
    )  # fmt: skip
    page = open_page(_document(Texts("texts", entries, ("hope this helps",), score="probability of being real")))
    assert len(_entries(page)) == 24  # the first twelve of each list
    assert page.locator("mark").first.inner_text() == "hope this helps"
    assert page.locator("mark").count() == 14
    words, low, high, shortest, _ = page.locator(".filter input").all()
    told = page.locator(".filter .times")
    words.fill("HOPE this")
    assert len(_entries(page)) == 14
    assert told.inner_text() == "14 of 40 texts"
    low.fill("0.5")
    assert [entry.split()[2] for entry in _entries(page)] == ["21", "24", "27", "30", "33", "36", "39"]
    high.fill("0.75")
    assert [entry.split()[2] for entry in _entries(page)] == ["21", "24", "27", "30"]
    for field in (words, low, high):
        field.fill("")
    assert len(_entries(page)) == 24
    shortest.fill("50")
    assert [entry.split()[2] for entry in _entries(page)] == ["35", "37", "38"]
    shortest.fill("")
    page.get_by_role("button", name="Show all 40").click()
    assert len(_entries(page)) == 40


def test_pairs_are_filtered_by_whose_they_are(open_page: Open) -> None:
    same = ("the same ", False)
    entries = tuple(
        Pair("lstm" if n % 3 else "gpt2", f"label {n}", (same, (f"word{n}", True)), (same,)) for n in range(30)
    )
    page = open_page(_document(Pairs("pairs", ("generated", "training"), entries)))
    assert page.locator(".pairs li:visible").count() == 12
    assert page.locator("mark").first.inner_text() == "word0"
    page.locator(".filter select").select_option("gpt2")
    assert page.locator(".pairs li:visible").count() == 10
    assert page.locator(".filter .times").inner_text() == "10 of 30 texts"
    page.locator(".filter input").first.fill("word3")
    assert page.locator(".pairs li:visible").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [True, False])
def test_a_table_is_copied_as_latex(open_page: Open, allowed: bool) -> None:
    write = "copied.push(text); return Promise.resolve();" if allowed else "return Promise.reject(new Error('no'));"
    script = f"""globalThis.copied = [];
    Object.defineProperty(navigator, 'clipboard', {{value: {{writeText(text) {{ {write} }}}}}});
    document.addEventListener('copy', () => copied.push(document.activeElement.value));"""
    table = _table()
    page = open_page(_document(table), script=script)
    button = page.get_by_role("button", name="Copy LaTeX")
    button.click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("() => copied") == [latex_table(table)]


def test_the_page_is_whole_without_script(open_page: Open) -> None:
    entries = tuple(TextEntry(f"text number {n}", score=n / 40, group="Most lifelike") for n in range(30))
    extra = Section("More", (Paragraph("the rest"),), extra=True)
    page = open_page(_document(_table(), Texts("texts", entries), extra), java_script_enabled=False)
    assert len(_names(page)) == 11
    assert page.locator("#table-scores td").first.get_attribute("title") == (
        "95 % interval [0.300, 0.322]\nsignature: tok|seed:0"
    )
    assert page.locator(".texts li:visible").count() == 30
    assert page.locator(".tools, .filter").count() == 0
    assert not page.get_by_text("the rest").is_visible()
    page.get_by_text("More").click()
    assert page.get_by_text("the rest").is_visible()


def test_the_answer_and_the_main_figure_stand_on_the_first_screen(open_page: Open) -> None:
    page = open_page(comparison_document(make_comparison()), viewport={"width": 1300, "height": 900})
    for part in ("#answer", "#figure-overview"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] < 900
    assert page.locator("#figure-overview").count() == 1  # and not once more below
    for link in page.locator("nav a").all():
        target = link.get_attribute("href")
        assert page.locator(f"[id='{target[1:]}']").count() == 1


@pytest.mark.parametrize("dark", [False, True])
def test_facts_in_a_notebook_stand_on_their_lines(browser: Any, tmp_path: Path, dark: bool) -> None:
    """JupyterLab has a rule of its own for what lists of facts are made of."""
    rule = (
        ".jp-OutputArea-output {{ color: {0}; background: {1} }} .jp-OutputArea-output dt {{ float: left; width: 20% }}"
    )
    style = rule.format("white", "black") if dark else rule.format("black", "white")
    fragment = to_fragment(Document("a title", facts=(("tokeniser", "whitespace"), ("95 % interval", "[0.1, 0.2]"))))
    path = tmp_path / "notebook.html"
    path.write_text(f'<style>{style}</style><div class="jp-OutputArea-output">{fragment}</div>', encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    lines = page.evaluate("[...document.querySelectorAll('dt, dd')].map(one => one.getClientRects()[0].height)")
    assert len(lines) == 4
    assert max(lines) < 1.5 * min(lines) < 40
    page.close()


def test_links_and_print_open_sections_and_texts_are_found_by_their_generator(open_page: Open) -> None:
    names = ("alpha", "beta")
    metrics: Any = {"dd": "lower", "length": "lower"}
    made = make_comparison(names, explained=True, metrics=metrics)
    table = sentence_table(made, make_texts(names))
    assert table is not None
    page = open_page(comparison_document(made, examples_of(table, "dd", n_examples=20)))
    texts, dd = page.locator("#texts"), page.locator("#dd > details")
    assert not texts.locator("ol").first.is_visible()
    page.locator('nav a[href="#texts"]').click()
    texts.locator("ol").first.wait_for(state="visible")
    assert dd.get_attribute("open") is None
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert dd.get_attribute("open") is not None
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert dd.get_attribute("open") is None
    n = texts.locator("li").count()
    assert texts.locator('li[hidden="until-found"]').count() > 0
    texts.locator("select").select_option("beta")
    sources = texts.locator("li:visible").evaluate_all("found => found.map(one => one.dataset.source)")
    assert set(sources) == {"beta"}
    assert len(sources) == n // 2
    texts.locator("select").select_option("")
    texts.get_by_text(f"Show all {n}").click()
    assert texts.locator("li:visible").count() == n
