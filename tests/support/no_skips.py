"""Where TEXTASSAY_NO_SKIPS is set, as in CI, a test or module that is skipped fails, unless real data is missing."""

import os
import re
from collections.abc import Generator

import pytest

VARIABLE = "TEXTASSAY_NO_SKIPS"
ALLOWED = re.compile(r"Skipped: no real data\b")

Report = pytest.TestReport | pytest.CollectReport


def _fail_if_skipped(report: Report) -> None:
    if not os.environ.get(VARIABLE) or not report.skipped or hasattr(report, "wasxfail"):
        return
    place, line, reason = report.longrepr if isinstance(report.longrepr, tuple) else (report.nodeid, 0, report.longrepr)
    if ALLOWED.match(str(reason)) is None:
        report.outcome = "failed"
        report.longrepr = f"{place}:{line}: {reason}\n{VARIABLE} is set: only absent real data may skip a test"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail what is skipped in a test, in its fixtures or by a mark."""
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail what is skipped as a module."""
    report = yield
    _fail_if_skipped(report)
    return report
