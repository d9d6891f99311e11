"""The web application of a study."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING

from textassay.errors import MissingExtraError
from textassay_lab.human.server.owner_pages import add_owner_pages
from textassay_lab.human.server.participant_pages import add_participant_pages
from textassay_lab.human.server.security import SecurityHeaders
from textassay_lab.human.server.service import Service

if TYPE_CHECKING:
    from fastapi import FastAPI


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
