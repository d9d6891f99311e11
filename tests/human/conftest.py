"""A browser for the pages that people judge."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

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
