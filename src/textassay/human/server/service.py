"""What the pages of participants and of the owner share: the study, its database, templates, rates, simple answers."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from textassay.human.server.database import Database
from textassay.human.server.pool import Pool
from textassay.human.server.security import RateLimit
from textassay.human.study import Study

if TYPE_CHECKING:
    from fastapi import Request, Response

__all__ = ["Service", "is_secure"]


def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("textassay.human.server"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass(frozen=True)
class Service:
    """Everything a request needs.

    Attributes
    ----------
    pool
        The study and its rules.
    database
        Where answers go.
    owner_hash
        The hash of the owner's token.
    own_rate, shared_rate
        How often one participant may ask for anything; how often all strangers together may (who joins, who has a link
        that does not exist, who tries an owner's token).
    """

    pool: Pool
    database: Database
    owner_hash: str
    own_rate: RateLimit = field(default_factory=lambda: RateLimit(10, 60, time.monotonic))
    shared_rate: RateLimit = field(default_factory=lambda: RateLimit(20, 400, time.monotonic))
    templates: Environment = field(default_factory=_templates)

    @property
    def study(self) -> Study:
        """The study."""
        return self.pool.study

    def page(self, template: str, status: int = 200, **values: Any) -> "Response":
        """Return `template`, filled."""
        from fastapi.responses import HTMLResponse

        return HTMLResponse(self.templates.get_template(template).render(title=self.study.title, **values), status)

    def message(self, status: int, heading: str, text: str, headers: Mapping[str, str] | None = None) -> "Response":
        """Return a page that only says something."""
        response = self.page("message.html.j2", status, heading=heading, text=text)
        response.headers.update(headers or {})
        return response

    def too_often(self) -> "Response":
        """Return what is said to somebody who asks too often."""
        return self.message(429, "A little slower, please", "Too many requests at once. Try again in a minute; "
                            "nothing that was saved is lost.", {"retry-after": "10"})  # fmt: skip

    def paragraphs(self) -> list[str]:
        """Return the paragraphs of the instructions."""
        return [part.strip() for part in re.split(r"\n\s*\n", self.study.instructions) if part.strip()]


def is_secure(request: "Request") -> bool:
    """Return whether the participant's browser speaks TLS, as far as a proxy tells."""
    return request.url.scheme == "https"
