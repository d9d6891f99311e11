"""What a model said of a text is kept on disk, so that no text is read twice and a run that was killed goes on.

A file a model holds a hash of each text and its columns, nothing of the text itself.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pooch

FloatArray = npt.NDArray[np.float64]

_AT_ONCE = 500  # keys a query
_WAIT = 60.0  # seconds, while another process writes


class ColumnCache:
    """Rows of `n_columns` numbers by key; what cannot be written is kept in memory."""

    def __init__(self, model: str, n_columns: int) -> None:
        self._n_columns = n_columns
        self._name = blake2b(f"{model} {n_columns}".encode(), digest_size=8).hexdigest()
        self._unwritten: dict[bytes, FloatArray] = {}

    @property
    def path(self) -> Path:
        return Path(pooch.os_cache("textassay")) / "prior" / f"{self._name}.sqlite"

    def get(self, keys: Sequence[bytes]) -> dict[bytes, FloatArray]:
        """Return the rows that are known."""
        rows = {key: self._unwritten[key] for key in keys if key in self._unwritten}
        if not self.path.exists():
            return rows
        try:
            with closing(self._open()) as base:
                for begin in range(0, len(keys), _AT_ONCE):
                    some = keys[begin : begin + _AT_ONCE]
                    marks = ",".join("?" * len(some))
                    for key, row in base.execute(f"SELECT key, row FROM texts WHERE key IN ({marks})", some):
                        rows[key] = np.frombuffer(row, dtype="<f8")
        except sqlite3.Error:  # a damaged file says nothing
            return rows
        return {key: row for key, row in rows.items() if len(row) == self._n_columns}

    def put(self, rows: Mapping[bytes, FloatArray]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as base, base:
                base.execute("CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID")
                pairs = [(key, np.ascontiguousarray(row, dtype="<f8").tobytes()) for key, row in rows.items()]
                base.executemany("INSERT OR REPLACE INTO texts VALUES (?, ?)", pairs)
        except (OSError, sqlite3.Error):
            self._unwritten |= rows

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=_WAIT)


def key_of(text: str, prompt: str | None) -> bytes:
    """Return the key of a text, with the prompt that it answers."""
    digest = blake2b(digest_size=16)
    for part in (text, prompt):
        digest.update(b"-" if part is None else part.encode("utf-8", "surrogatepass"))
        digest.update(b"\xff")  # in no UTF-8
    return digest.digest()
