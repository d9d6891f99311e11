"""Differences of characters that a reader hardly sees are found on either side and named; normalising removes them."""

import unicodedata
from collections.abc import Callable

import pytest

from textassay.corpus.corpus import corpora_from_texts
from textassay.inspection.finding import Finding
from textassay.inspection.inspection import inspect
from unspaced import LATIN, chains, sentences, words

N = 120
LETTERS = LATIN + "éüñ"
REAL, OTHER = (
    [f'"{text}" isn\'t.' for text in sentences(words(LETTERS, 90, 2, 9, seed=seed) + ["caf\u00e9"] * 9, " ", N)]
    for seed in (1, 2)
)
NAMED = {"composition", "character-forms", "invisible-characters", "mixed-script-words", "quotes", "special-spaces",
         "scripts", "line-breaks", "carriage-returns", "alphabet", "word-spacing"}  # fmt: skip
CHANGES: dict[str, tuple[str, Callable[[str], str], str]] = {
    "decomposed": ("composition", lambda text: unicodedata.normalize("NFD", text), "U+0301 combining acute accent"),
    "full width": ("character-forms", lambda text: text.replace(".", "\uff0e"), "\uff0e (U+FF0E fullwidth full stop)"),
    "bold": ("character-forms", lambda text: text.replace("a", "\U0001d41a"), "mathematical bold small a"),
    "zero width": ("invisible-characters", lambda text: text.replace(" ", "\u200b "), "U+200B zero width space"),
    "joiner": ("invisible-characters", lambda text: text.replace("a", "a\u200d"), "U+200D zero width joiner"),
    "direction": ("invisible-characters", lambda text: f"\u200e{text}", "U+200E left-to-right mark"),
    "byte order mark": ("invisible-characters", lambda text: f"\ufeff{text}", "U+FEFF zero width no-break space"),
    "nul": ("invisible-characters", lambda text: text.replace(".", "\0."), "U+0000 control character"),
    "homoglyph": ("mixed-script-words", lambda text: text.replace("a", "\u0430"), "U+0430 cyrillic small letter a"),
    "quotes": ("quotes", lambda text: text.replace("'", "\u2019").replace('"', "\u201d"), "have curly ones"),
}
SPACES = {"no-break": "\xa0", "ideographic": "\u3000"}


def found(generated: list[str], real: list[str], **text: object) -> dict[str, Finding]:
    corpora = corpora_from_texts({"real": real, "generated": generated}, **text)  # type: ignore[arg-type]
    findings = inspect({"g": corpora["generated"]}, corpora["real"])
    return {finding.kind: finding for finding in findings if finding.kind in NAMED}


def some(change: Callable[[str], str], texts: list[str]) -> list[str]:
    return [change(text) if number % 2 else text for number, text in enumerate(texts)]


@pytest.mark.parametrize("name", CHANGES)
def test_a_difference_is_one_finding_on_either_side(name: str) -> None:
    kind, change, characters = CHANGES[name]
    for sides in ((some(change, OTHER), REAL), (OTHER, some(change, REAL))):
        findings = found(*sides)
        assert findings.keys() == {kind}
        finding = findings[kind]
        assert finding.severity == "warning"
        assert characters in finding.message
        assert abs(finding.count_generated - finding.count_real) > 30
        assert finding.example_generated != finding.example_real
        shown = finding.example_generated if finding.count_generated else finding.example_real
        assert shown is not None


@pytest.mark.parametrize("name", CHANGES)
def test_normalising_removes_it_but_for_homoglyphs(name: str) -> None:
    kind, change, _ = CHANGES[name]
    assert found(some(change, OTHER), REAL, normalize=True).keys() == ({kind} if name == "homoglyph" else set())


@pytest.mark.parametrize("name", SPACES)
def test_spaces_that_tokens_do_not_show_are_a_note(name: str) -> None:
    def change(text: str) -> str:
        return text.replace(" ", SPACES[name])

    (finding,) = found(some(change, OTHER), REAL).values()
    assert (finding.kind, finding.severity) == ("special-spaces", "note")
    (finding,) = found(some(change, OTHER), REAL, tokenizer="chars").values()
    assert (finding.kind, finding.severity) == ("special-spaces", "warning")


@pytest.mark.parametrize(
    ("mark", "kind", "severity", "message"),
    [
        ("\n", "line-breaks", "note", "60 of 120 generated (50.0 %) and 0 of 120 real texts (0.0 %) have a line break"),
        ("\r\n", "carriage-returns", "note", "have those of Windows (\\r\\n)"),
        ("\r", "carriage-returns", "warning", "have a \\r without \\n, which ends no text: line ends of old Macs"),
    ],
)
def test_line_ends_inside_texts_are_named_by_their_cause(mark: str, kind: str, severity: str, message: str) -> None:
    def change(text: str) -> str:
        return text.replace(" ", mark)

    findings = found(some(change, OTHER), some(lambda text: text.replace(" ", "\n"), REAL) if mark == "\r\n" else REAL)
    assert findings.keys() == {kind}
    assert findings[kind].severity == severity
    assert message in findings[kind].message
    shown = findings[kind].example_generated, findings[kind].example_real
    assert all(shown)
    assert repr(mark)[1:-1] in str(shown[0])
    assert repr(mark)[1:-1] not in str(shown[1])
    assert findings[kind].remedy
    assert found(some(change, OTHER), some(change, REAL)).keys() == ({kind} if mark == "\r" else set())  # its own
    assert found(some(change, OTHER), REAL, tokenizer="chars")[kind].severity == "warning"


def test_line_breaks_of_documents_are_a_warning() -> None:
    """Judges of documents see them: which texts are is told by the real ones."""
    broken = [text.replace(" ", "\n") for text in REAL]
    assert found(OTHER, broken)["line-breaks"].severity == "warning"
    assert found(some(lambda text: text.replace(" ", "\n"), OTHER), broken)["line-breaks"].severity == "warning"


def test_carriage_returns_of_the_real_text_are_its_own_finding() -> None:
    real = some(lambda text: text.replace(" ", "\r"), REAL)
    (finding,) = found(OTHER, real).values()
    assert (finding.generator, finding.severity, finding.count_real) == ("(real)", "warning", 60)
    assert "\\r" in str(finding.example_real)


def test_two_samples_have_none_of_it() -> None:
    assert found(OTHER, REAL) == {}
    joined = ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f468\u200d\U0001f469 \u2764"]
    assert found([f"{joined[0]} {text}" for text in OTHER], [f"{joined[0]} {text}" for text in REAL]) == {}


def test_other_scripts_are_named_with_their_shares_and_once() -> None:
    mixed = [chains(N, seed=3)[number] if number % 4 == 0 else text for number, text in enumerate(OTHER)]
    findings = found(mixed, REAL)
    assert findings.keys() == {"scripts", "word-spacing"}
    message = findings["scripts"].message
    assert "30 of 120 generated (25.0 %) and 0 of 120 real texts (0.0 %) are mostly Han" in message
    assert "(generated: Latin 75.0 %, Han 25.0 %; real: Latin 100.0 %)" in message
    russian = [text.translate(str.maketrans(LATIN, "абвгдежзийклмнопрстуфхцчшщ")) for text in OTHER]
    assert "real: Latin 100.0 %" in found(russian, REAL)["scripts"].message
    japanese = [f"{line}です" for line in chains(N, seed=3)]
    assert "Japanese 100.0 %" in found(japanese, REAL)["scripts"].message


def test_case_is_compared_where_letters_have_it() -> None:
    texts = [f"{line}。" for line in chains(N, seed=3)]
    some_latin = [f"{line}iPhone" if number % 10 == 0 else line for number, line in enumerate(texts)]
    findings = inspect({"g": some_latin}, [text.upper() for text in REAL])
    case = [finding for finding in findings if finding.kind == "case"]
    assert all(finding.n_generated == N // 10 for finding in case)


@pytest.mark.filterwarnings("ignore::textassay.corpus.tokenizer.SpacingWarning")
def test_a_short_text_of_an_unspaced_script_says_nothing_of_spaces() -> None:
    lines = [f"{line}。" for line in chains(N, seed=3)]
    short = [line[:2] if number % 3 == 0 else line for number, line in enumerate(lines)]
    assert "word-spacing" not in found(short, [f"{line}。" for line in chains(N, seed=4)])
    spaced = [" ".join(line) if number % 3 == 0 else line for number, line in enumerate(lines)]
    assert "word-spacing" in found(spaced, [f"{line}。" for line in chains(N, seed=4)])
