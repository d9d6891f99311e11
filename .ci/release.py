"""Make what is published, and prove that it is what it should be.

``build`` writes wheel and source archive of the tracked files into a folder; ``check`` does so in a temporary one,
looks at both, installs the wheel in an environment without anything else and runs the demo there. Neither publishes
anything.

The address of the repository is given, not kept: links and images of the README, relative in the repository, must be
absolute on a package index, and the project's addresses stand beside them there.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)\s]+)(?=\))")  # the target of a link or an image in Markdown
LARGEST = 5e6  # bytes of a file that is published
SECONDS = 60  # that the demo may take, as the README promises


def main() -> int:
    """Build, and check if asked to; print what is wrong, and return 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("build", "check"))
    parser.add_argument("--address", required=True, help="of the repository, such as https://github.com/owner/name")
    parser.add_argument("--tag", help="that is released: v and the version")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "dist")
    given = parser.parse_args()
    version = project(REPOSITORY)["version"]
    if given.tag not in (None, f"v{version}"):
        print(f"the tag is {given.tag}, the version of pyproject.toml {version}")
        return 1
    with tempfile.TemporaryDirectory() as name:
        out = given.out if given.action == "build" else Path(name) / "dist"
        files = stage(Path(name) / "textassay", given.address.rstrip("/"), f"v{version}")
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, Path(name) / "textassay")
        if given.action == "build":
            return 0
        wrong = [*built(out, files, given.address), *first_minute(out, Path(name))]
    print("\n".join(wrong) or f"textassay {version} can be published; nothing has been")
    return int(bool(wrong))


def project(folder: Path) -> dict[str, str]:
    found: dict[str, str] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def run(*command: object, **options: object) -> str:
    """Run a command, and return what it printed; end with that if it fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def stage(folder: Path, address: str, tag: str) -> set[str]:
    """Copy the tracked files to `folder`, the README's links absolute there; return their names."""
    files = set(run("git", "-C", REPOSITORY, "ls-files").splitlines())
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name)
    readme, settings = folder / "README.md", folder / "pyproject.toml"
    readme.write_text(absolute(readme.read_text(encoding="utf-8"), address, tag), encoding="utf-8")
    urls = {"Repository": "", "Documentation": f"/tree/{tag}/docs", "Changelog": f"/blob/{tag}/CHANGELOG.md"}
    lines = [f'{name} = "{address}{path}"' for name, path in {**urls, "Issues": "/issues"}.items()]
    settings.write_text(
        "\n".join([settings.read_text(encoding="utf-8"), "[project.urls]", *lines, ""]), encoding="utf-8"
    )
    return files


def absolute(text: str, address: str, tag: str) -> str:
    """Return Markdown with absolute links; those that climb out of the files are pages of the host, such as badges."""

    def linked(found: re.Match[str]) -> str:
        target = found[1]
        if target.startswith("../../"):
            return f"{address}/{target.removeprefix('../../')}"
        kind = "raw" if target.endswith((".png", ".svg")) else "blob"
        return f"{address}/{kind}/{tag}/{target}"

    return LINK.sub(linked, text)


def built(out: Path, files: set[str], address: str) -> list[str]:
    """Return what is wrong with wheel and source archive."""
    wrong: list[str] = []
    (wheel,), (archive,) = out.glob("*.whl"), out.glob("*.tar.gz")
    print(run(sys.executable, "-m", "twine", "check", "--strict", wheel, archive).strip())
    with zipfile.ZipFile(wheel) as opened:
        inside = {name for name in opened.namelist() if ".dist-info/" not in name}
        (metadata,) = (opened.read(name) for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
    with tarfile.open(archive) as opened_archive:
        found = {member.name.partition("/")[2] for member in opened_archive.getmembers() if member.isfile()}
        members = {name for name in found if name not in ("PKG-INFO", "setup.cfg") and ".egg-info/" not in name}
    packages = {name.removeprefix("src/") for name in files if name.startswith("src/")}
    compiled = {name for name in packages if name.endswith((".pyx", ".pxd"))}
    kernels = {name.removesuffix(".pyx") for name in compiled if name.endswith(".pyx")} | {"textassay/_cyutility"}
    inside = {name.partition(".")[0] if name.endswith((".so", ".pyd")) else name for name in inside}
    wrong += unequal("wheel", inside, (packages - compiled) | kernels)
    wrong += unequal("source archive", members, {name for name in files if not name.startswith((".ci/", ".github/"))})
    described = message_from_bytes(metadata)
    text = str(described.get_payload())
    wrong += [f"the README links to {target}, which no package index can follow" for target in LINK.findall(text)]
    wrong += [] if f"]({address}/raw/" in text else ["the README has no image that a package index shows"]
    names = ("Author", "License-Expression", "Project-URL", "Requires-Python")
    wrong += [f"the metadata have no {name}" for name in names if name not in described]
    for file in (wheel, archive):
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")
        wrong += [f"{file.name} is larger than {LARGEST / 1e6:g} MB"] if file.stat().st_size > LARGEST else []
    return wrong


def unequal(name: str, found: set[str], wanted: set[str]) -> list[str]:
    """Return a line for each file that is there and should not be, and that is not and should."""
    return [f"the {name} holds {each}, which is not tracked for it" for each in sorted(found - wanted)] + [
        f"the {name} lacks {each}" for each in sorted(wanted - found)
    ]


def first_minute(out: Path, folder: Path) -> list[str]:
    """Install the wheel as a user does, with the newest of what it needs; run the demo twice, and say what all took."""
    python = folder / "fresh" / "bin" / "python"
    if os.name == "nt":
        python = folder / "fresh" / "Scripts" / "python.exe"
    venv.create(folder / "fresh", with_pip=True)
    home = {"HOME": str(folder), "USERPROFILE": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MPL"))}
    options = {"cwd": folder, "env": {**kept, **home}}
    (wheel,) = out.glob("*.whl")
    downloads = folder / "downloads"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run(*pip, "download", "--only-binary", ":all:", "--dest", downloads, wheel, **options)
    size = sum(file.stat().st_size for file in downloads.iterdir()) / 1e6
    begun = time.perf_counter()
    run(*pip, "install", "--no-index", "--find-links", downloads, wheel, **options)
    print(f"{size:.0f} MB of downloads, {len([*downloads.iterdir()])} packages, installed in {since(begun):.0f} s")
    run(*pip, "check", **options)
    command = python.with_name("textassay")
    print(run(command, "--version", **options).strip())
    for time_of in ("first", "second"):
        begun, used = time.perf_counter(), processor_seconds()
        said = run(command, "demo", "--out", folder / "demo-report", **options)
        seconds, used = since(begun), processor_seconds() - used
        print(f"the {time_of} demo took {seconds:.0f} s, {used:.0f} s of processors")
        if time_of == "first":
            # Two processors that others keep busy say little by the clock: wrong is what they could not do if idle.
            is_slow = min(seconds, used / 2 or seconds) > SECONDS
            if seconds > SECONDS and not is_slow:
                print(f"so that it takes at most {SECONDS} s is not shown: repeat on a machine with nothing else to do")
        shutil.rmtree(folder / "demo-report")
    print(f"{said.strip().splitlines()[0]} [...]")
    wrong = [] if "real text against itself" in " ".join(said.split()) else ["the demo gives no verdict"]
    return wrong + ([f"the first demo takes more than {SECONDS} s"] if is_slow else [])


def since(begun: float) -> float:
    return time.perf_counter() - begun


def processor_seconds() -> float:
    """Return what ended processes have used; 0 on Windows, which does not say."""
    return os.times().children_user + os.times().children_system


if __name__ == "__main__":
    sys.exit(main())
