"""The five commands of the documentation: from two files of text to a page judged in a browser and its analysis."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from made_up import sentences
from textassay.cli.main import main

pytest.importorskip("uvicorn")
PAGE = Path(__file__).resolve().parents[4] / "docs" / "human-studies.md"


@pytest.mark.feature("JJ-17")
def test_five_commands_lead_to_an_analysis(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    section = re.search(r"^## Five commands\n(.*?)^## ", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert section
    lines = "".join(re.findall(r"^```\w+\n(.*?)^```$", section[1], re.M | re.S)).splitlines()
    build, install, serve, *analyses = (shlex.split(line.removeprefix("$ "))[1:] for line in lines)
    assert install == ["install", "textassay[human]"]
    assert len(analyses) == 2
    monkeypatch.chdir(tmp_path)
    for name, lines in (("real", sentences(30, 1)), ("trigram", sentences(30, 2, shift=0.3))):
        Path(f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert main(build) == 0
    command = [sys.executable, "-m", "textassay", *serve, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = "".join(iter(server.stdout.readline, "Ctrl-C stops the server; saved answers are kept\n"))
        link = re.search(r"^participants +(\S+)$", said, re.M)
        assert link
        page = browser.new_page()
        page.goto(link[1])
        page.get_by_role("button", name="Begin").click()
        page.locator("#item-0").wait_for()
        for item in page.locator(".item").all():
            item.locator(".choice", has_text="Fake").click()
        page.get_by_role("button", name="Submit").click()
        page.get_by_text("Your completion code").wait_for()
        page.close()
        server.send_signal(signal.SIGINT)
        assert server.communicate()[0].startswith("stopped")
    assert server.returncode == 0
    for analysis in analyses:
        capsys.readouterr()
        assert main(analysis) == 0
        assert re.search(r"Judgements +20 by 1 rater", capsys.readouterr().out)
    assert Path("analysis/figures/generators.svg").is_file()
