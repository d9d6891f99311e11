"""Judging in a terminal: one text at a time, one key per answer, saved after every answer."""

from collections.abc import Callable
from pathlib import Path

from textassay.errors import InputError, OutputError
from textassay.storage import atomic_write
from textassay_lab.human.study import NONE_OF_THEM, Study, StudyItem, StudyPage
from textassay_lab.human.submissions import answers_csv, read_answers

BACK, QUIT = "b", "q"


class TerminalSession:
    """The answers of all raters in one file; each is written to disk before the next text is shown."""

    def __init__(self, study: Study, rater: str, path: Path) -> None:
        if not rater.strip() or not rater.isprintable():
            raise InputError(f"the name of a rater must be printable and not empty, got {rater!r}")
        self.study, self.rater, self.path = study, rater.strip(), path
        self.answers: dict[tuple[str, str], str] = {}
        if path.exists():
            for one in read_answers(path, study):
                self.answers |= {(one.rater, item): label for item, label in one.answers.items()}

    def next_page(self) -> StudyPage | None:
        """Return the rater's next page: an unfinished one, else the one with the fewest raters; None at the end."""
        own = {page.id: self.n_judged(page) for page in self.study.pages}
        begun = [page for page in self.study.pages if 0 < own[page.id] < len(page.items)]
        fresh = [page for page in self.study.pages if own[page.id] == 0]
        judged = {item for _, item in self.answers}
        fresh.sort(key=lambda page: sum(item.id in judged for item in page.items))
        return next(iter([*begun, *fresh]), None)

    def n_judged(self, page: StudyPage) -> int:
        """Return the number of items of `page` that the rater has judged."""
        return sum((self.rater, item.id) in self.answers for item in page.items)

    def answer(self, item: StudyItem, label: str | None) -> None:
        """Store an answer, or remove it if `label` is None, and write the file atomically."""
        self.answers.pop((self.rater, item.id), None)
        if label is not None:
            self.answers[self.rater, item.id] = label
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as file:
                file.write(answers_csv(self.study, self.answers).encode())
        except OSError as error:
            raise OutputError(f"cannot write {self.path}: {error.strerror or error}; choose another --out") from error


def keys_of(item: StudyItem) -> dict[str, tuple[str, str]]:
    """Return key to label and its text, such as r to real."""
    if not item.choices:
        return {"r": ("real", "real"), "f": ("fake", "fake")}
    return {label: (label, word) for label, word in zip(item.labels, (*item.choices, NONE_OF_THEM), strict=True)}


def judge_pages(
    session: TerminalSession,
    *,
    n_pages: int,
    show: Callable[[StudyPage, int], None],
    read_key: Callable[[], str],
) -> bool:
    """Ask until `n_pages` pages are judged, none is left, or the rater quits; return whether the rater did not quit."""
    for _ in range(n_pages):
        page = session.next_page()
        if page is None:
            return True
        place = session.n_judged(page)
        while place < len(page.items):
            item = page.items[place]
            keys = keys_of(item)
            show(page, place)
            key = read_key()
            while key and key not in (BACK, QUIT, *keys):
                key = read_key()
            if key in ("", QUIT):
                return False
            if key == BACK:
                place = max(0, place - 1)
                session.answer(page.items[place], None)
            else:
                session.answer(item, keys[key][0])
                place += 1
    return True
