"""What CI relies on: with TEXTASSAY_NO_SKIPS set, whatever is skipped fails, but for absent real data."""

from pathlib import Path

import pytest

from no_skips import VARIABLE

pytest_plugins = ["pytester"]

SUPPORT = Path(__file__).parent / "support"
KINDS = """
    import pytest

    def test_inside():
        pytest.skip("no chromium")

    @pytest.mark.skipif(True, reason="no real databases")
    def test_mark():
        pass

    @pytest.fixture
    def data_dir():
        pytest.skip("no real data at /nowhere")

    def test_data(data_dir):
        pass

    @pytest.fixture
    def browser():
        pytest.importorskip("no_such_module")

    def test_fixture(browser):
        pass

    @pytest.mark.xfail
    def test_expected():
        raise ValueError

    def test_fine():
        pass
"""
MODULE = """
    import pytest

    pytest.importorskip("no_such_module")

    def test_never_seen():
        pass
"""


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    monkeypatch.delenv(VARIABLE, raising=False)


def _run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(
        "-p", "no_skips", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *arguments
    )


def test_without_it_a_skip_is_a_skip(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_kinds=KINDS, test_module=MODULE)
    result = _run(pytester)
    result.assert_outcomes(passed=1, skipped=5, xfailed=1)
    assert result.ret == 0


def test_with_it_only_real_data_may_be_absent(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    pytester.makepyfile(test_kinds=KINDS)
    result = _run(pytester, "-n", "1")
    result.assert_outcomes(passed=1, skipped=1, xfailed=1, failed=1, errors=2)
    result.stdout.fnmatch_lines(["*Skipped: no chromium*", "*only absent real data may skip a test*"])
    assert result.ret == 1


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_module_that_is_skipped_fails(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    pytester.makepyfile(test_module=MODULE)
    result = _run(pytester, "-n", workers)
    result.stdout.fnmatch_lines(["*could not import 'no_such_module'*"])
    assert result.ret != 0
