"""What is published, and what runs on the public host: the README of a package index, the action of pull requests."""

import importlib.util
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from made_up import sentences

REPOSITORY = Path(__file__).resolve().parents[1]
ACTION = REPOSITORY / ".github" / "actions" / "compare" / "action.yml"
GH = """#!/usr/bin/env bash
printf '%s ' "$@" >> "$GH_LOG"; echo >> "$GH_LOG"
if [[ $* == *--jq* ]]; then echo "$EARLIER"; fi
"""


def _release() -> Any:
    spec = importlib.util.spec_from_file_location("release", REPOSITORY / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_readme_of_a_package_index_has_absolute_links_to_what_there_is() -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    address = "https://example.org/textassay"
    made = _release().absolute(text, address, "v1")
    targets = re.findall(r"\]\(([^)\s]+)\)", made)
    assert f"{address}/raw/v1/docs/images/report.png" in targets
    assert f"{address}/actions/workflows/tests.yml/badge.svg" in targets
    for target in targets:
        assert target.startswith("https://")
        place = re.fullmatch(rf"{address}/(?:raw|blob)/v1/([^#]+)(?:#.*)?", target)
        assert place is None or (REPOSITORY / place[1]).is_file(), target
    assert not [line for line in text.splitlines() if re.search(r"<img|\[\w+\]: ", line)]  # links of other forms


def test_every_python_that_is_declared_is_tested() -> None:
    classifiers = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    declared = re.findall(r"Python :: (3\.\d+)", " ".join(classifiers))
    jobs = yaml.safe_load((REPOSITORY / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]
    assert [jobs[name]["strategy"]["matrix"]["python"] for name in ("tests", "package")] == [declared, declared]


def _script(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    (folder / name).chmod(0o755 | stat.S_IXUSR)


@pytest.mark.parametrize("earlier", ["", "17"])
def test_the_action_comments_a_comparison_and_ends_as_it_did(earlier: str, tmp_path: Path) -> None:
    """The second run renews the comment of the first; a stand-in takes what would go to the host."""
    for name, seed in {"real": 1, "a": 2}.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(sentences(60, seed)), encoding="utf-8")
    code = "import sys; from textassay.cli.main import main; sys.exit(main(sys.argv[1:]))"
    _script(tmp_path, "textassay", f"#!/usr/bin/env bash\n'{sys.executable}' -c '{code}' \"$@\"\n")
    _script(tmp_path, "gh", GH)
    steps = {step["name"]: step["run"] for step in yaml.safe_load(ACTION.read_text(encoding="utf-8"))["runs"]["steps"]}
    said = tmp_path / "said"
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path / "runner temp"),
        "GITHUB_OUTPUT": str(said),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "REAL": "real.txt",
        "GENERATED": "a=a.txt\n",
        "OPTIONS": "--metrics length\n--fail-if length<10\n--quiet\n",
        "TITLE": "the model",
        "REPOSITORY": "owner/name",
        "NUMBER": "5",
        "EARLIER": earlier,
        "GH_LOG": str(tmp_path / "log"),
    }
    (tmp_path / "runner temp").mkdir()

    def run(step: str, **more: str) -> int:
        command = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps[step])
        return subprocess.run(command, cwd=tmp_path, env={**environment, **more}, check=False).returncode

    if earlier:
        (tmp_path / "runner temp" / "comment.md").write_text("<!-- textassay: the model -->\n", encoding="utf-8")
    else:
        assert run("compare") == 0
        assert said.read_text(encoding="utf-8") == "status=1\n"  # the comment comes first
        comment = (tmp_path / "runner temp" / "comment.md").read_text(encoding="utf-8")
        assert comment.startswith("<!-- textassay: the model -->\n## the model\n")
        assert "length" in comment
        assert comment == (tmp_path / "summary").read_text(encoding="utf-8")
    assert run("comment") == 0
    asked, sent = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert "repos/owner/name/issues/5/comments" in asked
    place = "PATCH repos/owner/name/issues/comments/17" if earlier else "POST repos/owner/name/issues/5/comments"
    assert sent.startswith(f"api --method {place} ")
    assert f"body=@{tmp_path}/runner temp/comment.md" in sent
    assert run("status", STATUS="1") == 1
