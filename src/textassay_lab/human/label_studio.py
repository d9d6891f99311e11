"""Export studies to Label Studio, and import its annotations.

A page is one task, so that a rater judges a whole page with its attention check. Files from elsewhere, with one text
per task, are read without a study: the task's data has ``text`` and, if known, ``generator`` and ``page``.

Source: Label Studio's task format (``annotations`` with ``result``, ``completed_by``, ``was_cancelled``) in its JSON
export. Shorter exports do not name the raters.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from textassay.corpus.formats import form_of
from textassay.corpus.source import Source
from textassay.errors import InputError
from textassay_lab.human.judgements import Item, Judgements
from textassay_lab.human.reading import finite_number, read_json_document
from textassay_lab.human.study import NONE_OF_THEM, Study
from textassay_lab.human.submissions import Submission

_NUMBERS = ("rating", "number")


def label_studio_files(study: Study) -> dict[str, str]:
    """Return file name to content: ``tasks.json`` to import, and ``interface.xml``, the labelling interface.

    Neither says who wrote a text. All pages must have the same number of items.
    """
    sizes = {len(page.items) for page in study.pages}
    if len(sizes) > 1:
        raise InputError(
            f"Label Studio needs pages of one size, the study has {min(sizes)} to {max(sizes)} items per page"
        )
    tasks = [
        {
            "data": {"study": study.fingerprint, "page": page.id}
            | {f"text_{slot}": _display_text(item.text, item.choices) for slot, item in enumerate(page.items)}
        }
        for page in study.pages
    ]
    return {
        "tasks.json": json.dumps(tasks, indent=1, ensure_ascii=False) + "\n",
        "interface.xml": _interface(study, sizes.pop()),
    }


def read_label_studio_submissions(path: Path, study: Study) -> list[Submission]:
    """Return the submissions for the pages of `study`, in the order of the file, without skipped tasks."""
    pages = {page.id: page for page in study.pages}
    submissions = []
    for place, data, rater, results in _annotations(path):
        name = data.get("page")
        if not isinstance(name, str):
            raise InputError(f"{place}: the task has no page, so it does not belong to this study")
        if data.get("study", study.fingerprint) != study.fingerprint:
            raise InputError(f"{place}: the task belongs to another study")
        page = pages.get(name)
        answers, comment = {}, ""
        for control, value in results:
            if control == "comment":
                comment = value
            elif page is not None and control.startswith("judgement_"):
                slot = control.removeprefix("judgement_")
                if not re.fullmatch("[0-9]{1,6}", slot) or int(slot) >= len(page.items):
                    raise InputError(f"{place}: page {name} has no item {slot}")
                item = page.items[int(slot)]
                answers[item.id] = value
        submissions.append(Submission(name, rater, answers, comment, place))
    return submissions


def is_label_studio(path: Path) -> bool:
    """Return whether a file is a JSON document of tasks, and no rows of ratings."""
    if form_of(Source(path)) != "JSON":
        return False
    tasks = read_json_document(path)
    first = tasks[0] if isinstance(tasks, list) and tasks else None
    return not isinstance(first, Mapping) or "annotations" in first or isinstance(first.get("data"), Mapping)


def read_label_studio(path: Path) -> Judgements:
    """Return the judgements of a JSON export with one text per task."""
    items: dict[str, Item] = {}
    rows: list[tuple[str, str, float]] = []
    kinds = set()
    for place, data, rater, results in _annotations(path):
        if "text" not in data:
            remedy = "read it with 'textassay human import STUDY'" if "page" in data else "its data must have one"
            raise InputError(f"{place}: the task has no text; {remedy}")
        name = place.rpartition("task ")[2].partition(" ")[0]
        generator = str(data.get("generator") or "")
        item = Item(
            name,
            str(data.get("page") or name),
            str(data["text"]),
            None if generator.lower() in ("", "real") else generator,
        )
        items[name] = item
        labels = [value for control, value in results if control != "comment"]
        if len(labels) != 1:
            raise InputError(f"{place}: expected one judgement, got {len(labels)}")
        value, kind = _value(place, labels[0])
        kinds.add(kind)
        rows.append((name, rater, value))
    if len(kinds) > 1:
        raise InputError(f"{path} mixes real or fake with numbers: put each kind into a file of its own")
    if not rows:
        raise InputError(f"{path} contains no annotation")
    places = {name: place for place, name in enumerate(items)}
    raters = {name: place for place, name in enumerate(dict.fromkeys(rater for _, rater, _ in rows))}
    numbered = [(places[name], raters[rater], value) for name, rater, value in rows]
    return Judgements.of(list(items.values()), raters, numbered, "number" if kinds == {"number"} else "real-or-fake")


def _value(place: str, label: str) -> tuple[float, str]:
    if label.lower() in ("real", "fake"):
        return float(label.lower() == "real"), "vote"
    value = finite_number(label)
    if value is None:
        raise InputError(f"{place}: a judgement must be real, fake or a number, got {label[:40]!r}")
    return value, "number"


def _annotations(path: Path) -> Iterator[tuple[str, Mapping[str, Any], str, list[tuple[str, str]]]]:
    """Yield place (for messages), task data, rater, and (control, value) of each result."""
    tasks = read_json_document(path)
    if not isinstance(tasks, list):
        raise InputError(f"{path} must hold a list of tasks: export it from Label Studio as JSON")
    for number, task in enumerate(tasks, start=1):
        place = f"{path} task {task.get('id', number) if isinstance(task, Mapping) else number}"
        if not isinstance(task, Mapping) or not isinstance(task.get("annotations"), list):
            raise InputError(f"{place} has no annotations: export it from Label Studio as JSON, which names the raters")
        data = task.get("data")
        if not isinstance(data, Mapping):
            raise InputError(f"{place} has no data")
        for annotation in task["annotations"]:
            try:
                if not annotation.get("was_cancelled"):
                    yield place, data, _rater(annotation), _results(annotation["result"])
            except (AttributeError, KeyError, TypeError, IndexError):
                raise InputError(f"{place}: an annotation is damaged or of an unknown kind") from None


def _rater(annotation: Mapping[str, Any]) -> str:
    by = annotation["completed_by"]
    return str(by.get("id", by.get("email")) if isinstance(by, Mapping) else by)


def _results(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    values = []
    for result in results:
        value = result["value"]
        if result["type"] == "choices":
            (label,) = value["choices"] if len(value["choices"]) == 1 else ("",)
            values.append((result["from_name"], label))
        elif result["type"] == "textarea":
            values.append(("comment", "\n".join(value["text"])))
        elif result["type"] in _NUMBERS:
            values.append((result["from_name"], str(value[result["type"]])))
    return values


def _display_text(text: str, choices: Sequence[str]) -> str:
    if not choices:
        return text
    return "\n".join([text, *(f"{place}: {word}" for place, word in enumerate((*choices, NONE_OF_THEM)))])


def _interface(study: Study, size: int) -> str:
    labels = study.pages[0].items[0].labels
    choices = "".join(f'<Choice value="{label}"/>' for label in labels)
    lines = ["<View>", f"  <Header value={quoteattr(study.title)}/>"]
    lines += [f'  <Header size="6" value={quoteattr(part)}/>' for part in study.instructions.split("\n\n")]
    for slot in range(size):
        lines.append(f'  <Text name="text_{slot}" value="$text_{slot}"/>')
        lines.append(
            f'  <Choices name="judgement_{slot}" toName="text_{slot}" choice="single" required="true" '
            f'showInline="true">{choices}</Choices>'
        )
    lines.append('  <TextArea name="comment" toName="text_0" placeholder="Comment (optional)"/>')
    return "\n".join([*lines, "</View>", ""])
