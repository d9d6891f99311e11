"""A study: pages of texts for people to judge, in one file used by server, exports and imports.

The file says who wrote each text, so it is for the owner of the study only. Participants see `StudyItem.id`, `text` and
`labels` alone.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from textassay.errors import InputError, OutputError
from textassay.storage import draft_of
from textassay_lab.human.reading import read_json_document

STUDY_FILE = "study.json"
NONE_OF_THEM = "none of them"
_FORMAT = 1

Kind = Literal["real-or-fake", "next-word"]


@dataclass(frozen=True)
class StudyItem:
    """One text or prefix to judge."""

    id: str  # Unique in the study: page and slot from 0, such as ``17/3``
    text: str  # The text, or the prefix of the next-word task
    generator: str | None = None  # None for a person
    check: bool = False  # An attention check, which tells the reader to answer ``fake``
    # Next-word task: the words to choose from, before `NONE_OF_THEM`
    choices: tuple[str, ...] = ()
    top: int | None = None  # Next-word task: index in `choices` of the model's most probable word

    @property
    def labels(self) -> tuple[str, ...]:
        """Valid answers: real and fake, or the indices of the choices, the last for `NONE_OF_THEM`."""
        if not self.choices:
            return ("real", "fake")
        return tuple(str(place) for place in range(len(self.choices) + 1))


@dataclass(frozen=True)
class StudyPage:
    """The items that one participant judges together, in this order."""

    id: str
    items: tuple[StudyItem, ...]


@dataclass(frozen=True)
class Study:
    kind: Kind  # The task
    # For participants, in plain text; blank lines separate paragraphs
    title: str
    instructions: str
    pages: tuple[StudyPage, ...]  # At least one
    judgements_per_page: int  # Participants per page, at least 1
    seed: int  # Of the random pages
    # Other settings of the pages, and descriptions of the texts; JSON-ready
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"the kind of a study must be {' or '.join(get_args(Kind))}, got '{self.kind}'")
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
                raise InputError(f"{what} ids must be unique, got {twice} twice")
        for item in self.items:
            if bool(item.choices) != (self.kind == "next-word"):
                raise InputError(f"item {item.id}: items of the next-word task, and only these, must have choices")
            if item.choices and item.top not in range(len(item.choices)):
                raise InputError(f"item {item.id}: top must be from 0 to {len(item.choices) - 1}, got {item.top}")

    @property
    def items(self) -> tuple[StudyItem, ...]:
        """All items of all pages, including attention checks."""
        return tuple(item for page in self.pages for item in page.items)

    @property
    def fingerprint(self) -> str:
        """Hash of everything that participants see of the items; results carry it to identify their study."""
        visible = [[page.id, [[item.id, item.text, item.choices] for item in page.items]] for page in self.pages]
        return hashlib.sha256(json.dumps(visible).encode()).hexdigest()[:12]


def save_study(study: Study, folder: Path) -> Path:
    """Write `study` atomically to `STUDY_FILE` in `folder`, which is created if necessary; return the path.

    Only the owner may read them, because the file says who wrote what; an existing folder keeps its mode.
    """
    path = folder / STUDY_FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with draft_of(path) as draft:
            draft.touch(mode=0o600)
            draft.write_text(json.dumps({"format": _FORMAT, **asdict(study)}, indent=1, allow_nan=False), "utf-8")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another --out") from error
    return path


def load_study(folder: Path) -> Study:
    """Return the study in `folder`, checked."""
    path = folder / STUDY_FILE if folder.is_dir() else folder
    if not path.is_file():
        raise InputError(f"no study in {folder}: create one with 'textassay human build'")
    document = read_json_document(path)
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError(f"{path} is not a study of this version of textassay: build it again")
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
