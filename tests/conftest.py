"""Fixtures and settings shared by all tests."""

import gc
import json
import os
import shutil
import signal
import zlib
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings

from no_skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401 - hooks

pytest_plugins = ["pytester"]

# One thread a process, set before anything that reads it is imported: two processes of tests with two threads each take
# half as long again on two cores. Commands that tests start inherit both settings.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

# A shell without job control starts what runs in the background with interrupts ignored, and every command started by a
# test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines that run tests are slow and shared: no deadline. The same examples every time; `--hypothesis-profile=random`
# looks for new ones.
settings.register_profile("fixed", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("random", deadline=None, max_examples=500)
settings.load_profile("fixed")


@pytest.fixture(autouse=True)
def _interrupts_are_heard() -> Iterator[None]:
    """Undo what a command run in this process does once it is interrupted: it ignores further interrupts."""
    yield
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:  # commands that tests start would ignore it, too
            signal.signal(number, usual)


REPOSITORY = Path(__file__).resolve().parents[1]


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was imported and collected: it lives as long as the process.

    Where little is left that it looks at, it would look at everything each time: a twentieth as often is enough.
    """
    gc.collect()
    gc.freeze()
    young, middle, old = gc.get_threshold()
    gc.set_threshold(20 * young, middle, old)


@pytest.fixture(scope="module")
def stand_in_model() -> Iterator[None]:
    """Let a prior that is a model say of each text what its characters decide: no model is needed, or read."""
    with pytest.MonkeyPatch.context() as patch:
        model = SimpleNamespace(key="stand-in", precision="float32")
        patch.setattr("textassay.prior.language_model.language_model", lambda name: model)
        patch.setattr("textassay.prior.catalog.model_columns", _columns_by_characters)
        yield


def _columns_by_characters(prior: str, texts: Sequence[str], *_: object) -> npt.NDArray[np.float64]:
    from textassay.prior.columns import COLUMNS

    seeds = (zlib.crc32(text.encode()) for text in texts)
    return np.array([np.random.default_rng(seed).random(len(COLUMNS)) for seed in seeds]).reshape(-1, len(COLUMNS))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of real data; skip where it is absent.

    It is named by the environment variable TEXTASSAY_DATA, else it is ``shared/data`` beside the repository.
    """
    named = os.environ.get("TEXTASSAY_DATA")
    folder = Path(named) if named else REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set TEXTASSAY_DATA to its folder)")
    return folder


class _Hub(BaseHTTPRequestHandler):
    """A model hub that knows no model."""

    def do_GET(self) -> None:
        body = json.dumps({"error": "Repository not found"}).encode()
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture(params=["404", "refused", "offline mode"])
def no_model_online(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Let the model hub answer that it has no model, refuse, or be out of reach; return what an error says of it."""
    from huggingface_hub import constants, hf_api

    hub = HTTPServer(("127.0.0.1", 0), _Hub)
    Thread(target=hub.serve_forever, daemon=True).start()
    port = hub.server_address[1] if request.param == "404" else 9
    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setattr(hf_api, "ENDPOINT", f"http://127.0.0.1:{port}", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", request.param == "offline mode")
    yield request.param
    hub.shutdown()
    hub.server_close()


# Beside Playwright's own switches, which turn off updates and background networking: no sandbox (root in a container),
# and no name is looked up but this machine's, so that the browser reaches nothing else.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-sync",
    "--disable-domain-reliability",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a headless Chromium that is installed already; skip where there is none.

    One a module: while Playwright holds one, no other event loop runs in this thread.
    """
    sync_api = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip(f"no browser on the path: {', '.join(names)}")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()
