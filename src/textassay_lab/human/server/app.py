"""The web application of a study: participants join, read the instructions, judge a page; the owner sees the progress.

Who wrote a text, which one is a check, and whether a page counted never leave the server. Everything works without
JavaScript; with it, each answer is saved at once.
"""

import ipaddress
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

from textassay.errors import MissingExtraError
from textassay_lab.human.agreement import krippendorff_alpha
from textassay_lab.human.server.database import Database
from textassay_lab.human.server.pool import PageNotHeld, ParticipantState, Pool
from textassay_lab.human.server.results import (
    SubmittedPage,
    raw_answers_csv,
    read_submitted,
    to_csv,
    to_json,
    to_judgements,
    to_progress,
)
from textassay_lab.human.server.security import (
    AddressLimit,
    RateLimit,
    SecurityHeaders,
    address_name,
    equal_secrets,
    form_proof,
    hash_token,
    is_forged,
    new_token,
    read_form,
    usual_limit,
)
from textassay_lab.human.study import NONE_OF_THEM, Study

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response


def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("textassay_lab.human.server"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass(frozen=True)
class Service:
    pool: Pool  # The study and its rules
    database: Database
    owner_hash: str  # The hash of the owner's token
    # Requests of one participant
    own_rate: RateLimit = field(default_factory=lambda: RateLimit(10, 60, time.monotonic))
    # Requests of one address to join or for unknown links; and attempts with wrong owner's tokens
    stranger_rate: RateLimit = field(default_factory=lambda: RateLimit(20, 400, time.monotonic))
    owner_rate: RateLimit = field(default_factory=lambda: RateLimit(0.1, 20, time.monotonic))
    # Participants per address; by default `usual_limit`
    address_limit: AddressLimit | None = None
    invite_only: bool = False  # Whether participants need a link that the owner made for them
    trusts_proxy: bool = False  # Whether a proxy sets the address of requests
    notify: Callable[[str], None] = lambda line: None  # Prints a line for the owner
    templates: Environment = field(default_factory=_templates)
    _notified: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.address_limit is None:
            n_places = len(self.study.pages) * self.study.judgements_per_page
            object.__setattr__(self, "address_limit", AddressLimit(usual_limit(n_places), time.monotonic))

    @property
    def study(self) -> Study:
        return self.pool.study

    def address(self, request: "Request") -> str:
        """Return the address under which `request` is counted."""
        host = request.client.host if request.client is not None else ""
        if not self.trusts_proxy and "x-forwarded-for" in request.headers and _is_private(host) and not self._notified:
            self._notified.add("proxy")
            self.notify(
                f"warning: requests come through a proxy at {host}, so all participants count as one address. If the "
                f"proxy is yours and sets X-Forwarded-For, serve with --trust-proxy {host}"
            )
        return address_name(host)

    def page(self, template: str, status: int = 200, **values: Any) -> "Response":
        from fastapi.responses import HTMLResponse

        return HTMLResponse(self.templates.get_template(template).render(title=self.study.title, **values), status)

    def message(self, status: int, heading: str, text: str, headers: Mapping[str, str] | None = None) -> "Response":
        response = self.page("message.html.j2", status, heading=heading, text=text)
        response.headers.update(headers or {})
        return response

    def too_often(self) -> "Response":
        return self.message(429, "Please slow down", "You sent too many requests. Please try again in a minute; "
                            "everything that was saved is safe.", {"retry-after": "10"})  # fmt: skip

    def paragraphs(self) -> list[str]:
        return [part.strip() for part in re.split(r"\n\s*\n", self.study.instructions) if part.strip()]


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def is_secure(request: "Request") -> bool:
    """Return whether the browser uses TLS, if a proxy reports it."""
    return request.url.scheme == "https"


_COOKIE, _JOINING = "participant", "joining"
_MONTH = 30 * 24 * 3600
_TOKEN = re.compile(r"[\w-]{43}", re.ASCII)
_ANSWER = re.compile(r"item-([0-9]{1,4})")
_SHEET = re.compile(r"[0-9]{1,9}")
_Work = Callable[[Any, int, dict[str, str]], Any]


def add_participant_pages(app: "FastAPI", service: Service) -> None:
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


_OWNER_COOKIE, _ENTERING = "owner", "entering"
_N_LATEST = 50  # submissions on the dashboard; the files have all


class RunningAgreement:
    """Krippendorff's alpha of the answers that count, recomputed after each submission.

    `value`: None until two judges have judged a text, and while all answers are equal; `n_seen`: submissions at the
    last computation.
    """

    def __init__(self, study: Study) -> None:
        self._study = study
        self.value: float | None = None
        self.n_seen = 0

    def update(self, rows: Sequence[SubmittedPage]) -> None:
        judgements = to_judgements(self._study, rows)
        is_shared = np.bincount(judgements.item, minlength=len(judgements.items))[judgements.item] > 1
        units, values = judgements.item[is_shared], judgements.value[is_shared]
        varies = bool(np.any(values != values[:1]))  # otherwise alpha is undefined
        self.value = krippendorff_alpha(units, values) if varies else None
        self.n_seen = len(rows)


def add_owner_pages(app: "FastAPI", service: Service) -> None:
    from fastapi import Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import JSONResponse, RedirectResponse

    pool, run, study = service.pool, service.database.run, service.study
    agreement = RunningAgreement(study)

    def is_owner(request: Request) -> bool:
        return equal_secrets(hash_token(request.cookies.get(_OWNER_COOKIE, "")), service.owner_hash)

    def login_page(request: Request, status: int = 200, *, is_wrong: bool = False) -> Response:
        token = new_token()
        response = service.page("owner_login.html.j2", status, proof=form_proof(token), is_wrong=is_wrong)
        response.set_cookie(
            _ENTERING, token, path="/owner", httponly=True, samesite="strict", secure=is_secure(request)
        )
        return response

    async def progress() -> dict[str, Any]:
        state = await run(lambda connection: to_progress(connection, pool))
        if agreement.n_seen != len(state["handed_in"]):
            rows = await run(read_submitted)
            await run_in_threadpool(agreement.update, rows)
        return {**state, "agreement": agreement.value}

    def template_values(state: dict[str, Any]) -> dict[str, Any]:
        """Return the progress for the templates, with readable times."""
        latest = [
            {**row, "at": datetime.fromtimestamp(row["at"], UTC).strftime("%d %b %H:%M")}
            for row in state["handed_in"][:_N_LATEST]
        ]
        return {**state, "handed_in": latest, "n_handed_in": len(state["handed_in"])}

    @app.get("/owner")
    async def dashboard(request: Request) -> Response:
        if not is_owner(request):
            return login_page(request)
        token = request.cookies[_OWNER_COOKIE]
        values = template_values(await progress())
        return service.page("owner.html.j2", proof=form_proof(token), study=study, **values)

    @app.get("/owner/progress")
    async def fragment(request: Request) -> Response:
        if not is_owner(request):
            return Response(status_code=401)
        return service.page("progress.html.j2", study=study, **template_values(await progress()))

    @app.get("/owner/progress.json")
    async def progress_json(request: Request) -> Response:
        return JSONResponse(await progress()) if is_owner(request) else Response(status_code=401)

    @app.post("/owner/enter")
    async def enter(request: Request) -> Response:
        form = await read_form(request)
        if form is None or is_forged(request, form, request.cookies.get(_ENTERING, "")):
            return login_page(request, 403)
        token = form.get("token", "").strip()
        if not equal_secrets(
            hash_token(token), service.owner_hash
        ):  # correct tokens are never counted, so nobody can lock the owner out
            if not service.owner_rate.allows(service.address(request)):
                return service.too_often()
            return login_page(request, 403, is_wrong=True)
        response = RedirectResponse("/owner", 303)
        response.set_cookie(
            _OWNER_COOKIE, token, path="/owner", httponly=True, samesite="strict", secure=is_secure(request)
        )
        response.delete_cookie(_ENTERING, path="/owner")
        return response

    @app.post("/owner/leave")
    async def leave(request: Request) -> Response:
        form = await read_form(request)
        if form is None or is_forged(request, form, request.cookies.get(_OWNER_COOKIE, "")):
            return login_page(request, 403)
        response = RedirectResponse("/owner", 303)
        response.delete_cookie(_OWNER_COOKIE, path="/owner")
        return response

    @app.get("/owner/{name}")
    async def download(request: Request, name: str) -> Response:
        makers = {
            "judgements.csv": lambda rows: to_csv(study, rows),
            "answers.csv": lambda rows: raw_answers_csv(study, rows),
            "judgements.json": lambda rows: json.dumps(to_json(study, rows), indent=1, allow_nan=False),
        }
        if not is_owner(request):
            return login_page(request, 401)
        if name not in makers:
            return service.message(404, "Page not found", "The dashboard is at /owner.")
        rows = await run(read_submitted)
        content = await run_in_threadpool(makers[name], rows)
        kind = "application/json" if name.endswith("json") else "text/csv; charset=utf-8"
        return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def create_app(service: Service) -> "FastAPI":
    """Return the application; its shutdown closes the database of `service`."""
    try:
        from fastapi import FastAPI, Request, Response
        from fastapi.staticfiles import StaticFiles
        from sqlalchemy.exc import SQLAlchemyError
    except ImportError as error:
        raise MissingExtraError("the web application", "human") from error

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.database.close()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_middleware(SecurityHeaders)
    app.mount("/static", StaticFiles(directory=str(files("textassay_lab.human.server") / "static")))
    add_participant_pages(app, service)
    add_owner_pages(app, service)

    @app.exception_handler(SQLAlchemyError)
    async def not_saved(request: Request, error: Exception) -> Response:
        return service.message(
            503, "This could not be saved", "Please try again in a moment. Everything that was saved before is safe.",
            {"retry-after": "5"},
        )  # fmt: skip

    @app.exception_handler(404)
    @app.exception_handler(405)
    @app.exception_handler(422)
    async def elsewhere(request: Request, error: Exception) -> Response:
        return service.message(404, "Page not found", "Please check that you copied the whole address.")

    return app
