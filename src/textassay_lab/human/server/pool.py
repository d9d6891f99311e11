"""Assignment of pages to participants: taking a page, saving answers, submitting; each within one transaction.

A page has as many places as it needs judgements. A place is held by an accepted submission, or by a participant who was
active within the time limit and gave a first answer soon after taking the page. Participants who return later continue
with their page and all answers if a place is still free.
"""

import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from textassay_lab.human.server.database import ACCEPTED, OPEN, REFUSED, tables
from textassay_lab.human.study import Study, StudyPage
from textassay_lab.human.submissions import Submission, accept

if TYPE_CHECKING:
    import sqlalchemy as sa


Stage = Literal["new", "judging", "done", "all-taken", "complete"]
LONGEST_COMMENT = 4000
_LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"  # without similar characters


class PageNotHeld(Exception):  # noqa: N818
    """The page of an answer is no longer held by this participant."""


@dataclass(frozen=True)
class ParticipantState:
    # ``new``: may take a page; ``judging``: has one; ``done``: has submitted the allowed number; ``all-taken``: others
    # hold all places; ``complete``: no page needs more judgements, or this participant has judged all that do
    stage: Stage
    # The page being judged, the number of its sheet, item to label, and the comment so far
    page: StudyPage | None = None
    sheet: int = 0
    answers: Mapping[str, str] = field(default_factory=dict)
    comment: str = ""
    code: str = ""  # Completion code of the last submission
    n_done: int = 0  # Pages submitted
    was_late: bool = False  # Whether a page was passed on because the time limit had passed


@dataclass(frozen=True)
class Pool:
    study: Study
    pages_per_participant: int = 1  # At least 1
    time_limit: float = 3600.0  # Seconds without activity after which a page may be passed on
    first_answer_limit: float = 600.0  # Seconds without a first answer after which it may; viewing does not count
    clock: Callable[[], float] = time.time  # Seconds since 1970

    def join(self, connection: "sa.Connection", token_hash: str) -> None:
        connection.execute(tables().participants.insert().values(token_hash=token_hash, joined=self.clock()))

    def participant(self, connection: "sa.Connection", token_hash: str) -> int | None:
        import sqlalchemy as sa

        people = tables().participants
        number = connection.execute(sa.select(people.c.id).where(people.c.token_hash == token_hash)).scalar()
        return None if number is None else int(number)

    def look(self, connection: "sa.Connection", participant: int) -> ParticipantState:
        """Return the state of `participant`; viewing a page counts as activity."""
        sheet, was_late = self._current(connection, participant)
        if sheet is not None:
            return self._judging(connection, sheet)
        handed_in = self._handed_in(connection, participant)
        code = handed_in[-1].code if handed_in else ""
        n_done = len(handed_in)
        if n_done >= self.pages_per_participant:
            stage: Stage = "done"
        else:
            stage = self._choose(connection, participant)[0]
        return ParticipantState(stage, code=code, n_done=n_done, was_late=was_late)

    def start(self, connection: "sa.Connection", participant: int) -> ParticipantState:
        """Give `participant` the free page with the fewest places held, unless one is held already."""
        moment = self.look(connection, participant)
        if moment.stage != "new":
            return moment
        _, page, earlier = self._choose(connection, participant)
        sheets, now = tables().sheets, self.clock()
        if earlier is not None:
            self._renew(connection, earlier)
        else:
            connection.execute(
                sheets.insert().values(participant=participant, page=page, state=OPEN, taken=now, seen=now, comment="")
            )
        return self.look(connection, participant)

    def judge(
        self,
        connection: "sa.Connection",
        participant: int,
        sheet: int,
        answers: Mapping[int, str],
        comment: str | None = None,
    ) -> int:
        """Save answers by position on the page, replacing earlier ones; return the number of answers."""
        import sqlalchemy as sa

        current, _ = self._current(connection, participant)
        if current is None or current.id != sheet:
            raise PageNotHeld
        items = self._page(current.page).items
        if any(place not in range(len(items)) or label not in items[place].labels for place, label in answers.items()):
            raise ValueError("no such answer")
        table, now = tables().answers, self.clock()
        for place, label in answers.items():
            one = (table.c.sheet == sheet) & (table.c.item == items[place].id)
            if not connection.execute(table.update().where(one).values(label=label, at=now)).rowcount:
                connection.execute(table.insert().values(sheet=sheet, item=items[place].id, label=label, at=now))
        if comment is not None and comment != current.comment:
            cleaned = comment.replace("\0", "")[:LONGEST_COMMENT]
            sheets = tables().sheets
            connection.execute(sheets.update().where(sheets.c.id == sheet).values(comment=cleaned))
        count = sa.select(sa.func.count()).select_from(table).where(table.c.sheet == sheet)
        return int(connection.execute(count).scalar_one())

    def hand_in(
        self, connection: "sa.Connection", participant: int, sheet: int, answers: Mapping[int, str], comment: str | None
    ) -> list[int]:
        """Save `answers` and submit the page if all items are judged; return the positions of open items.

        Submitted pages do not change. If `accept` rejects the page, its place is free again, but the participant is not
        told.
        """
        handed_in = {row.id for row in self._handed_in(connection, participant)}
        if sheet in handed_in:
            return []
        self.judge(connection, participant, sheet, answers, comment)
        row, _ = self._current(connection, participant)
        moment = self._judging(connection, row)
        assert moment.page is not None
        missing = [place for place, item in enumerate(moment.page.items) if item.id not in moment.answers]
        if missing:
            return missing
        submission = Submission(moment.page.id, str(participant), moment.answers, moment.comment)
        refusals = accept(self.study, [submission]).refusals
        sheets = tables().sheets
        connection.execute(
            sheets.update()
            .where(sheets.c.id == sheet)
            .values(
                state=REFUSED if refusals else ACCEPTED,
                reason=refusals[0].reason if refusals else None,
                handed_in=self.clock(),
                code="-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(3)),
            )
        )
        return []

    def held(self, connection: "sa.Connection", *, but: int = 0) -> Counter[str]:
        """Return the number of places held of each page, without sheet number `but`."""
        import sqlalchemy as sa

        sheets = tables().sheets
        is_live = (sheets.c.state == OPEN) & self._is_live()
        rows = connection.execute(
            sa.select(sheets.c.page, sa.func.count())
            .where((sheets.c.state == ACCEPTED) | is_live, sheets.c.id != but)
            .group_by(sheets.c.page)
        )
        return Counter({str(page): int(count) for page, count in rows})

    def _is_live(self) -> "sa.ColumnElement[bool]":
        """Return the condition for an open sheet to hold its place."""
        import sqlalchemy as sa

        sheets, answers, now = tables().sheets, tables().answers, self.clock()
        has_answers = sa.exists().where(answers.c.sheet == sheets.c.id)
        return (sheets.c.seen >= now - self.time_limit) & (
            (sheets.c.taken >= now - self.first_answer_limit) | has_answers
        )

    def _has_answers(self, connection: "sa.Connection", sheet: int) -> bool:
        import sqlalchemy as sa

        answers = tables().answers
        answer = connection.execute(sa.select(answers.c.item).where(answers.c.sheet == sheet).limit(1)).first()
        return answer is not None

    def _renew(self, connection: "sa.Connection", sheet: int) -> None:
        """Renew the place of a sheet; without answers, the time for the first answer starts again."""
        sheets, now = tables().sheets, self.clock()
        times = {"seen": now} if self._has_answers(connection, sheet) else {"seen": now, "taken": now}
        connection.execute(sheets.update().where(sheets.c.id == sheet).values(times))

    def _page(self, name: str) -> StudyPage:
        return next(page for page in self.study.pages if page.id == name)

    def _handed_in(self, connection: "sa.Connection", participant: int) -> list[Any]:
        import sqlalchemy as sa

        sheets = tables().sheets
        return list(
            connection.execute(
                sa.select(sheets.c.id, sheets.c.code)
                .where(sheets.c.participant == participant, sheets.c.state != OPEN)
                .order_by(sheets.c.handed_in, sheets.c.id)
            )
        )

    def _current(self, connection: "sa.Connection", participant: int) -> tuple[Any, bool]:
        """Return the sheet of `participant`, if any, recording activity; and whether one was passed on."""
        import sqlalchemy as sa

        sheets, now = tables().sheets, self.clock()
        row = connection.execute(
            sa.select(sheets)
            .where(sheets.c.participant == participant, sheets.c.state == OPEN)
            .order_by(sheets.c.seen.desc(), sheets.c.id.desc())
            .limit(1)
        ).first()
        if row is None:
            return None, False
        if row.seen < now - self.time_limit or (
            row.taken < now - self.first_answer_limit and not self._has_answers(connection, int(row.id))
        ):
            n_done = len(self._handed_in(connection, participant))
            places = self.study.judgements_per_page
            if n_done >= self.pages_per_participant or self.held(connection, but=row.id)[row.page] >= places:
                return None, True
            self._renew(connection, int(row.id))
            return row, False
        connection.execute(sheets.update().where(sheets.c.id == row.id).values(seen=now))
        return row, False

    def _judging(self, connection: "sa.Connection", sheet: Any) -> ParticipantState:
        import sqlalchemy as sa

        table = tables().answers
        rows = connection.execute(sa.select(table.c.item, table.c.label).where(table.c.sheet == sheet.id))
        answers = {str(item): str(label) for item, label in rows}
        sheets = tables().sheets
        comment = connection.execute(sa.select(sheets.c.comment).where(sheets.c.id == sheet.id)).scalar_one()
        return ParticipantState("judging", self._page(sheet.page), int(sheet.id), answers, str(comment))

    def _choose(self, connection: "sa.Connection", participant: int) -> tuple[Stage, str, int | None]:
        """Return the stage of `participant`, the page to take, and the number of its earlier sheet, if any."""
        import sqlalchemy as sa

        sheets = tables().sheets
        mine = {
            str(row.page): row
            for row in connection.execute(
                sa.select(sheets.c.page, sheets.c.id, sheets.c.state).where(sheets.c.participant == participant)
            )
        }
        held, places = self.held(connection), self.study.judgements_per_page
        possible = [page.id for page in self.study.pages if page.id not in mine or mine[page.id].state == OPEN]
        free = [page for page in possible if held[page] < places]
        if free:
            page = min(free, key=lambda name: held[name])
            return "new", page, int(mine[page].id) if page in mine else None
        accepted = self._accepted(connection)
        stage: Stage = "all-taken" if any(accepted[page] < places for page in possible) else "complete"
        return stage, "", None

    def _accepted(self, connection: "sa.Connection") -> Counter[str]:
        import sqlalchemy as sa

        sheets = tables().sheets
        rows = connection.execute(
            sa.select(sheets.c.page, sa.func.count()).where(sheets.c.state == ACCEPTED).group_by(sheets.c.page)
        )
        return Counter({str(page): int(count) for page, count in rows})
