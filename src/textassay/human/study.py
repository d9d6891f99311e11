"""A study: pages of texts for people to judge, kept in one file that everything else (server, exports, imports) reads.

The file holds the answers (who wrote what), so it is for the owner of the study: what participants see is made from
`StudyItem.id`, `text` and `labels` alone.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from textassay.errors import InputError, OutputError
from textassay.human.json_file import read_json_document

STUDY_FILE = "study.json"
NONE_OF_THEM = "none of them"
_FORMAT = 1

Kind = Literal["real-or-fake", "next-word"]


@dataclass(frozen=True)
class StudyItem:
    """One thing to judge on a page."""

    id: str  # Unique in the study: page and slot, such as ``17/3``; slots count from 0
    text: str  # What is shown: a text, or the prefix of the next-word task
    generator: str | None = None  # Who wrote it; none for a person
    # Whether it is an attention check, which says itself what to answer (``fake``) and counts for nothing else
    check: bool = False
    # Of the next-word task: the words to choose from, as they are shown; after them comes `NONE_OF_THEM`
    choices: tuple[str, ...] = ()
    top: int | None = None  # Of the next-word task: the place in `choices` of the model's most probable word

    @property
    def labels(self) -> tuple[str, ...]:
        """The answers that are valid: real and fake, or the places of the choices, the last being `NONE_OF_THEM`."""
        if not self.choices:
            return ("real", "fake")
        return tuple(str(place) for place in range(len(self.choices) + 1))


@dataclass(frozen=True)
class StudyPage:
    """What one participant judges in one go, in this order."""

    id: str
    items: tuple[StudyItem, ...]


@dataclass(frozen=True)
class Study:
    """Everything there is to ask."""

    kind: Kind  # The task
    # What participants read; plain text, an empty line parts paragraphs
    title: str
    instructions: str
    pages: tuple[StudyPage, ...]  # At least one
    judgements_per_page: int  # How many participants shall judge each page, at least 1
    seed: int  # What the pages were drawn with
    # What else the pages depend on, and what is known of the texts; JSON-ready
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"the kind of a study is {' or '.join(get_args(Kind))}, got '{self.kind}'")
        if not self.pages or not all(page.items for page in self.pages):
            raise InputError("a study needs at least one page, and a page at least one item")
        if self.judgements_per_page < 1:
            raise InputError(f"judgements_per_page must be at least 1, got {self.judgements_per_page}")
        for what, ids in (
            ("page", [page.id for page in self.pages]),
            ("item", [item.id for page in self.pages for item in page.items]),
        ):
            if len(set(ids)) != len(ids):
                twice = next(name for place, name in enumerate(ids) if name in ids[:place])
                raise InputError(f"the study has two {what}s called {twice}")
        for item in self.items:
            if bool(item.choices) != (self.kind == "next-word"):
                raise InputError(f"item {item.id}: choices belong to the next-word task, and to all of its items")
            if item.choices and item.top not in range(len(item.choices)):
                raise InputError(f"item {item.id}: top must be the place of a choice, got {item.top}")

    @property
    def items(self) -> tuple[StudyItem, ...]:
        """All items of all pages, checks among them."""
        return tuple(item for page in self.pages for item in page.items)

    @property
    def fingerprint(self) -> str:
        """Hash of all that participants see of the items; results carry it, so that they meet their own study only."""
        shown = [[page.id, [[item.id, item.text, item.choices] for item in page.items]] for page in self.pages]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:12]


def save_study(study: Study, folder: Path) -> Path:
    """Write `study` to `STUDY_FILE` in `folder`, which is made, whole or not at all; return the file.

    Both are for their owner alone, since the file says who wrote what; a folder that was there keeps its mode.
    """
    path = folder / STUDY_FILE
    draft = folder / f".{STUDY_FILE}.{os.getpid()}.tmp"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"format": _FORMAT, **asdict(study)}, file, indent=1, allow_nan=False)
        draft.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another --out") from error
    finally:
        if draft.parent.is_dir():
            draft.unlink(missing_ok=True)
    return path


def load_study(folder: Path) -> Study:
    """Return the study that stands in `folder`, checked."""
    path = folder / STUDY_FILE if folder.is_dir() else folder
    if not path.is_file():
        raise InputError(f"no study in {folder}: make one with 'textassay human build'")
    document = read_json_document(path)
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{path} is not a study that this version of textassay reads: build it again")
    try:
        return _study(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}): build the study again") from None


def _study(document: Mapping[str, Any]) -> Study:
    pages = tuple(
        StudyPage(_text(page["id"]), tuple(_item(item) for item in page["items"])) for page in document["pages"]
    )
    return Study(
        kind=document["kind"],
        title=_text(document["title"]),
        instructions=_text(document["instructions"]),
        pages=pages,
        judgements_per_page=_number(document["judgements_per_page"]),
        seed=_number(document["seed"]),
        settings=dict(document["settings"]),
    )


def _item(document: Mapping[str, Any]) -> StudyItem:
    generator, top = document["generator"], document["top"]
    if not isinstance(document["check"], bool):
        raise TypeError("check must be true or false")
    return StudyItem(
        id=_text(document["id"]),
        text=_text(document["text"]),
        generator=None if generator is None else _text(generator),
        check=document["check"],
        choices=tuple(_text(choice) for choice in document["choices"]),
        top=None if top is None else _number(top),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {value!r:.40}")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected a whole number, got {value!r:.40}")
    return value
