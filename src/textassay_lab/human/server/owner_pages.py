"""The owner's pages: progress, agreement, rejected submissions, downloads."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from textassay_lab.human.agreement import krippendorff_alpha
from textassay_lab.human.server.results import (
    SubmittedPage,
    raw_answers_csv,
    read_submitted,
    to_csv,
    to_json,
    to_judgements,
    to_progress,
)
from textassay_lab.human.server.security import equal_secrets, form_proof, hash_token, is_forged, new_token, read_form
from textassay_lab.human.server.service import Service, is_secure
from textassay_lab.human.study import Study

if TYPE_CHECKING:
    from fastapi import FastAPI


_COOKIE, _ENTERING = "owner", "entering"
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
        """Compute it for `rows`."""
        judgements = to_judgements(self._study, rows)
        is_shared = np.bincount(judgements.item, minlength=len(judgements.items))[judgements.item] > 1
        units, values = judgements.item[is_shared], judgements.value[is_shared]
        varies = bool(np.any(values != values[:1]))  # otherwise alpha is undefined
        self.value = krippendorff_alpha(units, values) if varies else None
        self.n_seen = len(rows)


def add_owner_pages(app: "FastAPI", service: Service) -> None:
    """Add the owner's routes to `app`."""
    from fastapi import Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import JSONResponse, RedirectResponse

    pool, run, study = service.pool, service.database.run, service.study
    agreement = RunningAgreement(study)

    def is_owner(request: Request) -> bool:
        return equal_secrets(hash_token(request.cookies.get(_COOKIE, "")), service.owner_hash)

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
        token = request.cookies[_COOKIE]
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
        response.set_cookie(_COOKIE, token, path="/owner", httponly=True, samesite="strict", secure=is_secure(request))
        response.delete_cookie(_ENTERING, path="/owner")
        return response

    @app.post("/owner/leave")
    async def leave(request: Request) -> Response:
        form = await read_form(request)
        if form is None or is_forged(request, form, request.cookies.get(_COOKIE, "")):
            return login_page(request, 403)
        response = RedirectResponse("/owner", 303)
        response.delete_cookie(_COOKIE, path="/owner")
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
