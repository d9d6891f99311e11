"""What the owner sees: how far the study is, how far judges agree, who failed a check, and everything to take away."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from textassay.human.server.agreement_so_far import AgreementSoFar
from textassay.human.server.results import raw_answers_csv, read_handed_in, to_csv, to_json, to_progress
from textassay.human.server.security import form_proof, hash_token, is_forged, new_token, read_form, same
from textassay.human.server.service import Service, is_secure

if TYPE_CHECKING:
    from fastapi import FastAPI


_COOKIE, _ENTERING = "owner", "entering"
_SHOWN = 50  # pages handed in, on the dashboard; the files have all


def add_owner_pages(app: "FastAPI", service: Service) -> None:
    """Add the addresses that the owner uses to `app`."""
    from fastapi import Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import JSONResponse, RedirectResponse

    pool, run, study = service.pool, service.database.run, service.study
    agreement = AgreementSoFar(study)

    def is_owner(request: Request) -> bool:
        return same(hash_token(request.cookies.get(_COOKIE, "")), service.owner_hash)

    def knock(request: Request, status: int = 200, *, is_wrong: bool = False) -> Response:
        token = new_token()
        response = service.page("owner_login.html.j2", status, proof=form_proof(token), is_wrong=is_wrong)
        response.set_cookie(
            _ENTERING, token, path="/owner", httponly=True, samesite="strict", secure=is_secure(request)
        )
        return response

    async def progress() -> dict[str, Any]:
        found = await run(lambda connection: to_progress(connection, pool))
        if agreement.n_seen != len(found["handed_in"]):
            rows = await run(read_handed_in)
            await run_in_threadpool(agreement.update, rows)
        return {**found, "agreement": agreement.value}

    def shown(found: dict[str, Any]) -> dict[str, Any]:
        """Return `found` as the templates take it, times readable."""
        latest = [
            {**row, "at": datetime.fromtimestamp(row["at"], UTC).strftime("%d %b %H:%M")}
            for row in found["handed_in"][:_SHOWN]
        ]
        return {**found, "handed_in": latest, "n_handed_in": len(found["handed_in"])}

    @app.get("/owner")
    async def dashboard(request: Request) -> Response:
        if not is_owner(request):
            return knock(request)
        token = request.cookies[_COOKIE]
        values = shown(await progress())
        return service.page("owner.html.j2", proof=form_proof(token), study=study, **values)

    @app.get("/owner/progress")
    async def fragment(request: Request) -> Response:
        if not is_owner(request):
            return Response(status_code=401)
        return service.page("progress.html.j2", study=study, **shown(await progress()))

    @app.get("/owner/progress.json")
    async def progress_json(request: Request) -> Response:
        return JSONResponse(await progress()) if is_owner(request) else Response(status_code=401)

    @app.post("/owner/enter")
    async def enter(request: Request) -> Response:
        form = await read_form(request)
        if form is None or is_forged(request, form, request.cookies.get(_ENTERING, "")):
            return knock(request, 403)
        token = form.get("token", "").strip()
        if not same(hash_token(token), service.owner_hash):  # the right token is never counted, so none locks it out
            if not service.owner_rate.allows(service.address(request)):
                return service.too_often()
            return knock(request, 403, is_wrong=True)
        response = RedirectResponse("/owner", 303)
        response.set_cookie(_COOKIE, token, path="/owner", httponly=True, samesite="strict", secure=is_secure(request))
        response.delete_cookie(_ENTERING, path="/owner")
        return response

    @app.post("/owner/leave")
    async def leave(request: Request) -> Response:
        form = await read_form(request)
        if form is None or is_forged(request, form, request.cookies.get(_COOKIE, "")):
            return knock(request, 403)
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
            return knock(request, 401)
        if name not in makers:
            return service.message(404, "Page not found", "The dashboard is at /owner.")
        rows = await run(read_handed_in)
        content = await run_in_threadpool(makers[name], rows)
        kind = "application/json" if name.endswith("json") else "text/csv; charset=utf-8"
        return Response(content, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})
