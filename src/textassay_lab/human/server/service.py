"""State shared by all pages: the study, its database, templates, rate limits, simple messages."""

import ipaddress
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from textassay_lab.human.server.addresses import AddressLimit, address_name, usual_limit
from textassay_lab.human.server.database import Database
from textassay_lab.human.server.pool import Pool
from textassay_lab.human.server.security import RateLimit
from textassay_lab.human.study import Study

if TYPE_CHECKING:
    from fastapi import Request, Response


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
    """Everything that requests need."""

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
        """The study."""
        return self.pool.study

    def address(self, request: "Request") -> str:
        """Return the address under which `request` is counted."""
        host = request.client.host if request.client is not None else ""
        if not self.trusts_proxy and "x-forwarded-for" in request.headers and _is_private(host) and not self._notified:
            self._notified.add("proxy")
            self.notify(
                f"warning: requests come through a proxy at {host}, so all participants count as one address; if it is "
                f"yours and sets X-Forwarded-For, serve with --trust-proxy {host}"
            )
        return address_name(host)

    def page(self, template: str, status: int = 200, **values: Any) -> "Response":
        """Return a rendered template."""
        from fastapi.responses import HTMLResponse

        return HTMLResponse(self.templates.get_template(template).render(title=self.study.title, **values), status)

    def message(self, status: int, heading: str, text: str, headers: Mapping[str, str] | None = None) -> "Response":
        """Return a page with a message."""
        response = self.page("message.html.j2", status, heading=heading, text=text)
        response.headers.update(headers or {})
        return response

    def too_often(self) -> "Response":
        """Return the response to too many requests."""
        return self.message(429, "Please slow down", "You sent too many requests. Please try again in a minute; "
                            "everything that was saved is safe.", {"retry-after": "10"})  # fmt: skip

    def paragraphs(self) -> list[str]:
        """Return the paragraphs of the instructions."""
        return [part.strip() for part in re.split(r"\n\s*\n", self.study.instructions) if part.strip()]


def _is_private(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def is_secure(request: "Request") -> bool:
    """Return whether the browser uses TLS, if a proxy reports it."""
    return request.url.scheme == "https"
