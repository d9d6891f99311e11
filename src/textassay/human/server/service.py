"""What the pages of participants and of the owner share: the study, its database, templates, rates, simple answers."""

import ipaddress
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from textassay.human.server.addresses import AddressLimit, address_name, usual_limit
from textassay.human.server.database import Database
from textassay.human.server.pool import Pool
from textassay.human.server.security import RateLimit
from textassay.human.study import Study

if TYPE_CHECKING:
    from fastapi import Request, Response


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
    """Everything a request needs."""

    pool: Pool  # The study and its rules
    database: Database  # Where answers go
    owner_hash: str  # The hash of the owner's token
    # How often one participant may ask for anything
    own_rate: RateLimit = field(default_factory=lambda: RateLimit(10, 60, time.monotonic))
    # How often one address may join or ask for links that do not exist, and how often it may try wrong tokens
    stranger_rate: RateLimit = field(default_factory=lambda: RateLimit(20, 400, time.monotonic))
    owner_rate: RateLimit = field(default_factory=lambda: RateLimit(0.1, 20, time.monotonic))
    # How many participants of one address may join; by default as `usual_limit` has it
    address_limit: AddressLimit | None = None
    invite_only: bool = False  # Whether participants need a link that the owner made for them
    trusts_proxy: bool = False  # Whether the address of a request is what a proxy says
    tell: Callable[[str], None] = lambda line: None  # What the owner should know at once, said in a line
    templates: Environment = field(default_factory=_templates)
    _told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.address_limit is None:
            n_places = len(self.study.pages) * self.study.judgements_per_page
            object.__setattr__(self, "address_limit", AddressLimit(usual_limit(n_places), time.monotonic))

    @property
    def study(self) -> Study:
        """The study."""
        return self.pool.study

    def address(self, request: "Request") -> str:
        """Return what the address of `request` is counted as."""
        host = request.client.host if request.client is not None else ""
        if not self.trusts_proxy and "x-forwarded-for" in request.headers and _is_near(host) and not self._told:
            self._told.add("proxy")
            self.tell(
                f"warning: requests come through a proxy at {host}, so all participants count as one address; if it is "
                f"yours and sets X-Forwarded-For, serve with --trust-proxy {host}"
            )
        return address_name(host)

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
        return self.message(429, "Please slow down", "You sent too many requests. Please try again in a minute; "
                            "everything that was saved is safe.", {"retry-after": "10"})  # fmt: skip

    def paragraphs(self) -> list[str]:
        """Return the paragraphs of the instructions."""
        return [part.strip() for part in re.split(r"\n\s*\n", self.study.instructions) if part.strip()]


def _is_near(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return False


def is_secure(request: "Request") -> bool:
    """Return whether the participant's browser speaks TLS, as far as a proxy tells."""
    return request.url.scheme == "https"
