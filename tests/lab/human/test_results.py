"""Files of judgements there and back: long CSV, Label Studio, the single-file form; and files that are none."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from textassay.errors import InputError
from textassay_lab.human.html_form import html_form
from textassay_lab.human.judgements import Comment, Item, Judgements
from textassay_lab.human.label_studio import label_studio_files
from textassay_lab.human.pages import build_study
from textassay_lab.human.ratings_file import ratings_csv, read_ratings
from textassay_lab.human.results import read_judgements, read_submissions
from textassay_lab.human.study import Study
from textassay_lab.human.submissions import accept, collect

NASTY = '</script><script>alert(1)</script>, "quoted"\n\u00e9 \U0001f600 ]]>'


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("scale", ["real-or-fake", "number"])
def test_judgements_there_and_back(tmp_path: Path, scale: Any) -> None:
    rng = np.random.default_rng(0)
    value = rng.integers(2, size=6).astype(float) if scale == "real-or-fake" else rng.normal(size=6) * 1e-7
    judgements = Judgements(
        items=(Item("1/0", "1", NASTY, None), Item("1/1", "1", "", "a,b"), Item("2/0", "2", " x", "lm")),
        raters=("ann", "b\u00e9,b"),
        item=np.array([0, 1, 2, 0, 1, 2]),
        rater=np.array([0, 0, 0, 1, 1, 1]),
        value=value,
        scale=scale,
        comments=(Comment("1", "ann", "two\nlines"), Comment("2", "ann", "x")),
    )
    again = read_ratings(_write(tmp_path / "long.csv", ratings_csv(judgements)))
    assert again.items == judgements.items
    assert again.raters == judgements.raters
    assert again.comments == judgements.comments
    assert again.scale == scale
    assert (again.value == judgements.value).all()
    assert (again.item == judgements.item).all()
    few = judgements.select(np.array([True, False, True]))
    none = Judgements(few.items, (), np.arange(0), np.arange(0), np.zeros(0), "real-or-fake")
    assert read_ratings(_write(tmp_path / "none.csv", ratings_csv(none))).items == few.items


def test_the_smallest_file(tmp_path: Path) -> None:
    judgements = read_judgements(_write(tmp_path / "a.csv", "\ufeffitem,rater,label\r\nx,1, Real \r\ny,1,fake\r\n"))
    assert judgements.votes().tolist() == [[0, 1], [1, 0]]
    assert [item.page for item in judgements.items] == ["x", "y"]
    assert "no column 'generator'" in judgements.notes[0]
    ratings = read_judgements(
        _write(tmp_path / "a.tsv", "item\trater\tlabel\tgenerator\nx\t1\t4.5\t\ny\t1\t-3e2\tlm\n")
    )
    assert ratings.value.tolist() == [4.5, -300]
    assert ratings.scale == "number"
    assert ratings.is_real.tolist() == [True, False]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"item,rater\nx,1\n", "contains no judgements"),
        (b"item,rater,label\n", "no row"),
        (b"", "is empty"),
        (b"\x00\x01\x02", "binary"),
        (b"item,rater,label\nx,1,\xff\n", "not UTF-8: byte 0xFF in line 2"),
        (b"item,rater,label\nx,1,maybe\n", "line 2: a label must be real, fake or a number, got 'maybe'"),
        (b"item,rater,label\nx,1,nan\n", "line 2: a label must be"),
        (b"item,rater,label\nx,1,real\ny,1,3\n", "line 3: labels must be all real or fake, or all numbers, got '3'"),
        (b"item,rater,label\nx,,real\n", "line 2: the rater is missing"),
        (b"item,rater,label\n,1,real\n", "line 2: the item is missing"),
        (b"item,rater,label\nx,1\n", "line 2: 2 fields, but the first line has 3"),
        (b'item,rater,label\nx,1,"real\n', "quotes"),
        (b"item,rater,label,label\nx,1,real,real\n", "two columns called 'label'"),
        (
            b"item,rater,label,page\nx,1,real,1\nx,2,real,2\n",
            "line 3: generator, page or text of item x differ from those in",
        ),
    ],
)
def test_damaged_files_are_refused_in_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_judgements(path)
    assert "\n" not in str(caught.value)


def test_ratings_are_written_to_the_last_digit(tmp_path: Path) -> None:
    values = [12.34567, 1234567.0, 0.1 + 0.2, -3.0, 1e22]
    item = Item("x", "x", "", "g")
    given = Judgements((item,), tuple("abcde"), np.zeros(5, dtype=int), np.arange(5), np.array(values), "number")
    _write(tmp_path / "a.csv", ratings_csv(given))
    assert read_judgements(tmp_path / "a.csv").value.tolist() == values
    assert ",-3,g" in ratings_csv(given)


def test_a_file_that_is_not_there_and_a_folder(tmp_path: Path) -> None:
    _write(tmp_path / "results.csv", "x")
    with pytest.raises(InputError, match=r"does not exist; did you mean .*results.csv"):
        read_judgements(tmp_path / "result.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_judgements(tmp_path)


@pytest.fixture
def study() -> Study:
    """Return a study of two pages with a nasty text."""
    return build_study([NASTY, "r1", "r2", "r3"], {"lm": ["g0", "g1", "g2", "g3"]}, page_size=4, seed=1)


def _annotated(study: Study) -> list[dict[str, Any]]:
    """Return Label Studio's export after two people did all tasks rightly, and one skipped them."""
    tasks = json.loads(label_studio_files(study)["tasks.json"])
    for number, (task, page) in enumerate(zip(tasks, study.pages, strict=True)):
        result = [
            {
                "id": "x",
                "type": "choices",
                "from_name": f"judgement_{slot}",
                "to_name": f"text_{slot}",
                "value": {"choices": ["fake" if item.check or item.generator else "real"]},
            }
            for slot, item in enumerate(page.items)
        ]
        comment = {"type": "textarea", "from_name": "comment", "to_name": "text_0", "value": {"text": ["so", "so"]}}
        task["id"] = 50 + number
        task["annotations"] = [
            {"completed_by": {"id": 7, "email": "a@b"}, "was_cancelled": False, "result": [*result, comment]},
            {"completed_by": 8, "result": result},
            {"completed_by": 9, "was_cancelled": True, "result": []},
        ]
    return tasks  # type: ignore[no-any-return]


def test_label_studio_there_and_back(tmp_path: Path, study: Study) -> None:
    files = label_studio_files(study)
    interface = ElementTree.fromstring(files["interface.xml"])
    shown = {element.get("name"): element.get("value") for element in interface.iter("Text")}
    assert shown == {f"text_{slot}": f"$text_{slot}" for slot in range(5)}
    assert all(element.get("required") == "true" for element in interface.iter("Choices"))
    assert [element.get("value") for element in interface.iter("Choice")] == ["real", "fake"] * 5
    assert "lm" not in files["tasks.json"].replace("xml", "") + files["interface.xml"].replace("xml", "")
    path = _write(tmp_path / "export.json", json.dumps(_annotated(study)))
    found = accept(study, read_submissions(path, study), most_pages=2)
    assert not found.refusals
    judgements = collect(study, found.submissions)
    assert judgements.raters == ("7", "8")
    assert (judgements.value == judgements.is_real[judgements.item]).all()
    assert judgements.comments == (Comment("1", "7", "so\nso"), Comment("2", "7", "so\nso"))
    with pytest.raises(InputError, match="task 50: the task belongs to another study"):
        read_submissions(path, build_study(["a"], {"lm": ["b"]}, page_size=2))
    with pytest.raises(InputError, match="human import STUDY"):
        read_judgements(path)


def test_label_studio_with_one_text_a_task(tmp_path: Path) -> None:
    def task(number: int, label: dict[str, Any], **data: str) -> dict[str, Any]:
        return {"id": number, "data": data, "annotations": [{"completed_by": 1, "result": [label]}]}

    vote = {"type": "choices", "from_name": "a", "value": {"choices": ["Fake"]}}
    rating = {"type": "rating", "from_name": "a", "value": {"rating": 4}}
    path = _write(tmp_path / "a.json", json.dumps([task(1, vote, text="x", generator="lm"), task(2, vote, text="y")]))
    judgements = read_judgements(path)
    assert judgements.votes().tolist() == [[1, 0], [1, 0]]
    assert judgements.is_real.tolist() == [False, True]
    assert read_judgements(_write(path, json.dumps([task(1, rating, text="x")]))).value.tolist() == [4]
    with pytest.raises(InputError, match="mixes"):
        read_judgements(_write(path, json.dumps([task(1, rating, text="x"), task(2, vote, text="y")])))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "not valid JSON"),
        ("{}", "list of tasks"),
        ('[{"data": {"text": "\\ud800"}, "annotations": []}]', "lone surrogate"),
        ("[1]", "task 1 has no annotations"),
        ('[{"id": 3, "annotations": []}]', "task 3 has no data"),
        ('[{"id": 3, "text": "x", "annotator": 1}]', "contains no judgements"),
        ('[{"id": 3, "data": {"text": "x"}}]', "as JSON, which names the raters"),
        ('[{"data": {"text": "x"}, "annotations": [{"result": []}]}]', "task 1: an annotation is damaged"),
        ('[{"data": {"text": "x"}, "annotations": [3]}]', "task 1: an annotation is damaged"),
        ('[{"data": {"text": "x"}, "annotations": [{"completed_by": 1, "result": []}]}]', "one judgement, got 0"),
        ('[{"data": {"text": "x"}, "annotations": []}]', "contains no annotation"),
    ],
)
def test_damaged_label_studio_files(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_judgements(_write(tmp_path / "a.json", content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("9/9,ann,real", "line 2: the study has no item '9/9'; does the file belong to another study"),
        ("1/0,ann,real\n1/0,ann,real", "line 3: ann judged item 1/0 before"),
        ("1/0,,real", "line 2: the rater is missing"),
    ],
)
def test_damaged_answers(tmp_path: Path, study: Study, rows: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_submissions(_write(tmp_path / "a.csv", f"item,rater,label\n{rows}\n"), study)


def test_answers_to_another_study_are_refused(tmp_path: Path, study: Study) -> None:
    with pytest.raises(InputError, match="another study"):
        read_submissions(_write(tmp_path / "a.csv", "item,rater,label,study\n1/0,ann,real,123\n"), study)


def test_the_form_in_one_file_shows_text_as_text_and_allows_no_address(study: Study) -> None:
    form = html_form(study)
    (data,) = re.findall(r'<script type="application/json" id="study">(.*?)</script>', form)
    shown = json.loads(data)
    assert [[item["text"] for item in page["items"]] for page in shown["pages"]] == [
        [item.text for item in page.items] for page in study.pages
    ]
    assert set(shown["pages"][0]["items"][0]) == {"id", "text", "options"}
    assert form.count("<script") == 2
    assert "innerHTML" not in form
    assert "http" not in form.replace('http-equiv="Content-Security-Policy"', "")
    (policy,) = re.findall(r'Security-Policy" content="(.*?)"', form)
    for tag in ("script", "style"):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", form, re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("label", ["\u0663", "\uff11.5", "1_0", "nan", "1e999"])
def test_numbers_have_ascii_digits(tmp_path: Path, label: str) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(f"item,rater,label\na,r,2\nb,r,{label}\n", encoding="utf-8")
    with pytest.raises(InputError, match="a label must be real, fake or a number"):
        read_judgements(path)
    result = {"type": "choices", "from_name": "label", "value": {"choices": [label]}}
    tasks = [{"id": 1, "data": {"text": "x"}, "annotations": [{"completed_by": 1, "result": [result]}]}]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    with pytest.raises(InputError, match="a judgement must be real, fake or a number"):
        read_judgements(path)
