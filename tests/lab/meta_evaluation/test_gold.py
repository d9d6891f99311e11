"""Known orders from text and files, and judgements put beside the lines they are of."""

from pathlib import Path

import numpy as np
import pytest

from textassay.errors import InputError, OptionError
from textassay_lab.human.judgements import Item, Judgements
from textassay_lab.meta_evaluation.evaluation import Evaluation, place_judgements, read_gold


def test_an_order_in_words() -> None:
    found = read_gold("a > b=c>d")
    assert found.generators == ("a", "b", "c", "d")
    assert found.values.tolist() == [3.0, 2.0, 2.0, 1.0]
    assert found.name == "known order"


def test_a_file_of_values(tmp_path: Path) -> None:
    (tmp_path / "volume.csv").write_text("generator,value,note\nsmall,10,x\nlarge,1e3,y\n")
    found = read_gold(str(tmp_path / "volume.csv"))
    assert (found.name, found.order) == ("volume", ("large", "small"))
    assert found.terms is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("generator,value\na,1\na,2\n", "each generator must occur once, got a twice"),
        ("generator,value\na,1\nb,much\n", "finite number, got 'much'"),
        ("generator,value\na,1\n,2\n", "the generator is missing"),
        ("generator,value\na,1\n", "at least 2 generators, got 1"),
        ("name,value\na,1\n", "generator"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "gold.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_gold(str(tmp_path / "gold.csv"))


@pytest.mark.parametrize(("text", "message"), [("a>>b", "cannot read the order"), ("a>b>a", "got a twice")])
def test_damaged_orders_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_gold(text)


def _judged(*ids: str, text: str = "") -> Judgements:
    items = tuple(Item(name, name, text, None) for name in ids)
    n = len(items)
    return Judgements(items, ("r",), np.arange(n), np.zeros(n, dtype=int), np.ones(n), "real-or-fake")


def test_items_find_their_lines() -> None:
    texts = {"m": ["one", "two", "three"], "k": ["four", "five"]}
    found = place_judgements(_judged("k:1", "m:3", "real:7"), texts)
    assert [(item.id, item.text, item.generator) for item in found.items] == [
        ("m:1", "one", "m"), ("m:2", "two", "m"), ("m:3", "three", "m"), ("k:1", "four", "k"), ("k:2", "five", "k"),
        ("real:7", "", None),
    ]  # fmt: skip
    assert found.item.tolist() == [3, 2, 5]
    evaluation = Evaluation.of_judgements(found)
    assert evaluation.texts is not None
    assert np.isnan(evaluation.texts["m"]).tolist() == [True, True, False]
    assert len(evaluation.terms["m"]) == 3  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "message"), [("m:4", "m has 3 texts"), ("m3", "must be named NAME:LINE"), ("m:x", "NAME:LINE")]
)
def test_items_without_a_line_are_refused(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        place_judgements(_judged(name), {"m": ["one", "two", "three"]})


def test_items_of_other_generators_or_texts_are_refused() -> None:
    with pytest.raises(OptionError, match="generator of item x:1"):
        place_judgements(_judged("x:1"), {"m": ["one"]})
    with pytest.raises(InputError, match="another text than line 1 of m"):
        place_judgements(_judged("m:1", text="other"), {"m": ["one"]})
