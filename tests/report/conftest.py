"""What tests of reports share."""

import pickle
from hashlib import sha256

import pytest

from textassay.report.document import Figure
from textassay.report.drawing import draw_svg

_DRAWINGS: dict[bytes, str] = {}


@pytest.fixture(autouse=True)
def drawings(monkeypatch: pytest.MonkeyPatch) -> dict[bytes, str]:
    """Draw the figures of pages and files once a process where they are equal to the bit; return what is drawn.

    Whoever calls `draw_svg` draws. A test that draws the same twice on purpose clears the drawings in between.
    """

    def drawn_once(figure: Figure) -> str:
        key = sha256(pickle.dumps(figure)).digest()
        if key not in _DRAWINGS:
            _DRAWINGS[key] = draw_svg(figure)
        return _DRAWINGS[key]

    monkeypatch.setattr("textassay.report.drawing.draw_svg", drawn_once)
    return _DRAWINGS
