"""Limits on participants per internet address, so that nobody fills a study alone.

Addresses are kept in memory only, while the server runs.
"""

import ipaddress
from collections.abc import Callable
from typing import TYPE_CHECKING

from textassay_lab.human.server.security import RateLimit
from textassay_lab.human.server.tables import OPEN, tables

if TYPE_CHECKING:
    import sqlalchemy as sa


_DAY, _HOUR = 24 * 3600.0, 3600.0


def address_name(host: str) -> str:
    """Return the address under which requests are counted: for IPv6 the /64 network of a subscriber."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host[:100]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((int(address), 64), strict=False))
    return str(address)


def usual_limit(n_places: int) -> int:
    """Return the default limit on unfinished participants per address: half the places, from 5 to 50."""
    return min(50, max(5, n_places // 2))


class AddressLimit:
    """At most `most` participants of one address may join per hour, and at most `most` may be unfinished.

    Participants count for a day.
    """

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self.most, self._clock = most, clock
        self._joined: dict[str, dict[int, float]] = {}  # address to participants and when they joined
        self._rate = RateLimit(most / _HOUR, most, clock) if most else None
        self._room = 10_000  # addresses, before old ones are dropped

    def admits(self, connection: "sa.Connection", address: str) -> bool:
        """Return whether another participant may join from `address`, and count the request."""
        if self._rate is None:
            return True
        return self.n_unfinished(connection, address) < self.most and self._rate.allows(address)

    def note(self, address: str, participant: int) -> None:
        """Record that `participant` joined from `address`."""
        if self._rate is None:
            return
        if len(self._joined) > self._room:
            since = self._clock() - _DAY
            self._joined = {name: people for name, people in self._joined.items() if max(people.values()) > since}
            self._room = max(10_000, 2 * len(self._joined))
        self._joined.setdefault(address, {})[participant] = self._clock()

    def n_unfinished(self, connection: "sa.Connection", address: str) -> int:
        """Return the number of participants of `address` who have not submitted their page."""
        import sqlalchemy as sa

        since = self._clock() - _DAY
        people = {number: at for number, at in self._joined.get(address, {}).items() if at > since}
        if not people:
            self._joined.pop(address, None)
            return 0
        sheets = tables().sheets
        states: dict[int, set[str]] = {}
        for number, state in connection.execute(
            sa.select(sheets.c.participant, sheets.c.state).where(sheets.c.participant.in_(list(people)))
        ):
            states.setdefault(int(number), set()).add(str(state))
        left = {number: at for number, at in people.items() if OPEN in states.get(number, {OPEN})}
        self._joined[address] = left
        if not left:
            del self._joined[address]
        return len(left)
