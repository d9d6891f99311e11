"""The plugin of pytest: the fixture `real_texts`, and a line for each check of `assert_close` under the results.

pytest loads it in every run where textassay is installed, so it imports nothing else of textassay until it is used.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from textassay.corpus.text_file import TextFile

_PROPERTY = "textassay"
_REAL, _COLUMN = "textassay_real", "textassay_column"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add where the real text of the tests is."""
    parser.addini(_REAL, "file of real text for the fixture real_texts, beside the configuration file or an address")
    parser.addini(_COLUMN, "text column of that file")
    parser.getgroup("textassay").addoption("--textassay-real", metavar="FILE", help="instead of the ini option")


@pytest.fixture(scope="session")
def real_texts(pytestconfig: pytest.Config) -> "TextFile":
    """Return the real text that ``textassay_real`` of the configuration, or ``--textassay-real``, names."""
    from textassay.addresses import is_address
    from textassay.corpus.texts import read_texts
    from textassay.errors import OptionError

    named = pytestconfig.getoption("--textassay-real")
    source = str(named or pytestconfig.getini(_REAL) or "")
    if not source:
        raise OptionError(f"the fixture real_texts needs {_REAL} in pytest's configuration, or --textassay-real FILE")
    if not named and not is_address(source):
        source = str(pytestconfig.rootpath / source)
    return read_texts(source, column=str(pytestconfig.getini(_COLUMN) or "") or None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Keep what the checks of the test found, as properties, which reports of processes and JUnit files hold, too."""
    try:
        return (yield)
    finally:
        closeness = sys.modules.get("textassay.testing.closeness")
        if closeness is not None:
            item.user_properties += [(_PROPERTY, line) for check in closeness.checks for line in check.lines()]
            closeness.checks.clear()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the checks of all tests."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    lines = [
        f"{report.nodeid}: {line}"
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, line in report.user_properties
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("closeness of generated text")
        for line in lines:
            terminalreporter.line(line)
