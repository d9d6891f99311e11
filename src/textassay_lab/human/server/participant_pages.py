"""Participants' pages: joining, instructions, the page to judge, thanks.

Who wrote a text, which one is a check, and whether a page counted never leave the server. Everything works without
JavaScript; with it, each answer is saved at once.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textassay_lab.human.server.pool import PageNotHeld, ParticipantState
from textassay_lab.human.server.security import form_proof, hash_token, is_forged, new_token, read_form
from textassay_lab.human.server.service import Service, is_secure
from textassay_lab.human.study import NONE_OF_THEM

if TYPE_CHECKING:
    from fastapi import FastAPI, Response


_COOKIE, _JOINING = "participant", "joining"
_MONTH = 30 * 24 * 3600
_TOKEN = re.compile(r"[\w-]{43}", re.ASCII)
_ANSWER = re.compile(r"item-([0-9]{1,4})")
_SHEET = re.compile(r"[0-9]{1,9}")
_Work = Callable[[Any, int, dict[str, str]], Any]


def add_participant_pages(app: "FastAPI", service: Service) -> None:
    """Add the participants' routes to `app`."""
    from fastapi import Request, Response
    from fastapi.responses import JSONResponse, RedirectResponse

    pool, run, limit = service.pool, service.database.run, service.address_limit
    assert limit is not None

    def by_invitation() -> Response:
        return service.message(
            403,
            "By invitation only",
            "You need a personal link to take part in this study. Please open the link you were sent.",
        )

    async def act(request: Request, token: str, work: _Work) -> Any:
        """Return the result of `work` for the participant with this link, or an error page."""
        if not service.own_rate.allows(hash_token(token)):
            return service.too_often()
        form: dict[str, str] = {}
        if request.method == "POST":
            sent = await read_form(request)
            if sent is None:
                return service.message(413, "This form could not be read", "Please go back and try again.")
            if is_forged(request, sent, token):
                return service.message(
                    403, "This form is out of date", "Please open your link again and continue from there."
                )
            form = sent

        def step(connection: Any) -> Any:
            participant = pool.participant(connection, hash_token(token))
            return None if participant is None else work(connection, participant, form)

        result = await run(step)
        if result is not None:
            return result
        if not service.stranger_rate.allows(service.address(request)):
            return service.too_often()
        return service.message(
            404, "This link is not valid", "Please check that you copied the whole link, or ask for a new one."
        )

    @app.get("/")
    async def root() -> Response:
        return RedirectResponse("/join", 303)

    @app.get("/join")
    async def invitation(request: Request) -> Response:
        token = request.cookies.get(_COOKIE, "")
        if token and await run(lambda connection: pool.participant(connection, hash_token(token))) is not None:
            return RedirectResponse(f"/p/{token}", 303)
        if service.invite_only:
            return by_invitation()
        joining = request.cookies.get(_JOINING, "")
        if not _TOKEN.fullmatch(joining):  # otherwise another tab shows the same page, and either may be used
            joining = new_token()
        response = _welcome(service, "/join", joining, ParticipantState("new"))
        response.set_cookie(
            _JOINING, joining, path="/join", httponly=True, samesite="strict", secure=is_secure(request)
        )
        return response

    @app.post("/join")
    async def join(request: Request) -> Response:
        address = service.address(request)
        if not service.stranger_rate.allows(address):
            return service.too_often()
        known = request.cookies.get(_COOKIE, "")
        if known and await run(lambda connection: pool.participant(connection, hash_token(known))) is not None:
            return RedirectResponse(f"/p/{known}", 303)  # started in another tab
        if service.invite_only:
            return by_invitation()
        form, joining = await read_form(request), request.cookies.get(_JOINING, "")
        if form is None or not joining or is_forged(request, form, joining):
            return service.message(
                403,
                "This form is out of date",
                "Please open the study's link again. Your browser must allow cookies for this site.",
            )
        token = new_token()

        def enter_and_start(connection: Any) -> bool:
            if not limit.admits(connection, address):
                return False
            pool.join(connection, hash_token(token))
            participant = pool.participant(connection, hash_token(token))
            assert participant is not None
            limit.note(address, participant)
            pool.start(connection, participant)
            return True

        if not await run(enter_and_start):
            return service.message(
                429,
                "Too many people from your network",
                "This study limits how many people may start from one internet address, and yours has reached the "
                "limit. Please try again later. If you are taking part as a group, tell the person who runs the study.",
                {"retry-after": "300"},
            )
        response = RedirectResponse(f"/p/{token}", 303)
        response.set_cookie(
            _COOKIE, token, max_age=_MONTH, path="/", httponly=True, samesite="lax", secure=is_secure(request)
        )
        response.delete_cookie(_JOINING, path="/join")
        return response

    @app.get("/p/{token}")
    async def look(request: Request, token: str) -> Response:
        result = await act(request, token, lambda connection, participant, _: pool.look(connection, participant))
        return result if isinstance(result, Response) else _show(service, token, result)

    @app.post("/p/{token}/start")
    async def start(request: Request, token: str) -> Response:
        result = await act(request, token, lambda connection, participant, _: pool.start(connection, participant))
        return result if isinstance(result, Response) else RedirectResponse(f"/p/{token}", 303)

    @app.post("/p/{token}/answer")
    async def answer(request: Request, token: str) -> Response:
        def save(connection: Any, participant: int, form: dict[str, str]) -> int | Exception:
            try:
                return pool.judge(connection, participant, *_answers(form))
            except (
                PageNotHeld,
                ValueError,
            ) as error:  # nothing was written, so the transaction can be shared with others
                return error

        result = await act(request, token, save)
        if isinstance(result, Response):
            return result
        if isinstance(result, PageNotHeld):
            return JSONResponse({"error": "this page is no longer yours"}, 409)
        if isinstance(result, ValueError):
            return JSONResponse({"error": "no such answer"}, 400)
        return JSONResponse({"saved": result})

    @app.post("/p/{token}/submit")
    async def submit(request: Request, token: str) -> Response:
        def hand_in(connection: Any, participant: int, form: dict[str, str]) -> Any:
            try:
                missing = pool.hand_in(connection, participant, *_answers(form))
            except (PageNotHeld, ValueError) as error:
                return error
            return (pool.look(connection, participant), missing) if missing else PageNotHeld()

        result = await act(request, token, hand_in)
        if isinstance(result, Response):
            return result
        if isinstance(result, ValueError):
            return service.message(
                400, "This answer is not valid", "Please open your link again and continue from there."
            )
        if isinstance(result, PageNotHeld):  # submitted or passed on: the participant's page says which
            return RedirectResponse(f"/p/{token}", 303)
        return _show(service, token, *result)


def _answers(form: dict[str, str]) -> tuple[int, dict[int, str], str | None]:
    """Return sheet number, answers by position and comment of a form; raise ValueError without a sheet number."""
    places = {int(found[1]): label for name, label in form.items() if (found := _ANSWER.fullmatch(name))}
    sheet = form.get("sheet", "")
    if not _SHEET.fullmatch(sheet):
        raise ValueError("no such sheet")
    return int(sheet), places, form.get("comment")


def _show(service: Service, token: str, moment: ParticipantState, missing: list[int] | None = None) -> "Response":
    """Return the page for a participant in this state."""
    if moment.page is not None:
        return _sheet(service, token, moment, missing or [])
    if moment.stage == "new" and not moment.n_done:
        return _welcome(service, f"/p/{token}/start", token, moment)
    return service.page("done.html.j2", moment=moment, address=f"/p/{token}/start", proof=form_proof(token))


def _welcome(service: Service, address: str, token: str, moment: ParticipantState) -> "Response":
    study = service.study
    return service.page(
        "welcome.html.j2",
        address=address,
        proof=form_proof(token),
        paragraphs=service.paragraphs(),
        kind=study.kind,
        n_items=max(len(page.items) for page in study.pages),
        minutes=_minutes(service.pool.time_limit),
        first_minutes=_minutes(min(service.pool.first_answer_limit, service.pool.time_limit)),
        moment=moment,
    )


def _minutes(seconds: float) -> str:
    return f"{max(0.1, seconds / 60):.2g}" if seconds < 600 else f"{seconds / 60:.0f}"


def _sheet(service: Service, token: str, moment: ParticipantState, missing: list[int]) -> "Response":
    """Return the page to judge; only texts and answers of the items reach the template."""
    assert moment.page is not None
    kind = service.study.kind
    items = [
        {
            "place": place,
            "text": item.text,
            "given": moment.answers.get(item.id),
            "missing": place in missing,
            "answers": [("real", "Real", "by a person", "R"), ("fake", "Fake", "by a program", "F")]
            if kind == "real-or-fake"
            else [
                (label, word, "", str(number))
                for number, (label, word) in enumerate(
                    zip(item.labels, (*item.choices, NONE_OF_THEM.capitalize()), strict=True), 1
                )
            ],
        }
        for place, item in enumerate(moment.page.items)
    ]
    return service.page(
        "sheet.html.j2",
        422 if missing else 200,
        address=f"/p/{token}",
        proof=form_proof(token),
        sheet=moment.sheet,
        kind=kind,
        items=items,
        comment=moment.comment,
        n_given=sum(item["given"] is not None for item in items),
        paragraphs=service.paragraphs(),
    )
