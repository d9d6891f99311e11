"""Run two commands in one ``--out`` at the same time: twice the same, or with different generators.

Both must end; the report must be whole, and that of one of them; what both computed must be kept, so that a command
that asks for both ends on the files of an undisturbed run. With ``--s3``, ``--out`` is an address on a server of
objects that runs on this machine, and what is there must be what an undisturbed run leaves in a folder.
"""

import os
import shutil
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

from runs import (
    COMMANDS,
    ROOT,
    Contents,
    Scratch,
    Whole,
    chosen,
    contents,
    differences,
    draws,
    end,
    parser,
    say,
    scratch,
    table,
)

_KEPT = ("estimates/",)
_SECONDS_APART = 0.5  # with --s3, at most


def main() -> int:
    """Run each command twice at once so many times and print a table."""
    arguments = parser(__doc__, times=5)
    arguments.add_argument("--s3", action="store_true", help="write to an address")
    options = arguments.parse_args()
    rows = []
    with scratch(options) as place, _folders(place, options) as folders:
        for command in chosen(options):
            whole = place.undisturbed(command)
            random = draws(options.seed, f"{command} writers")
            most = _SECONDS_APART if options.s3 else whole.seconds / 2
            outcome: Counter[str] = Counter()
            for _ in range(options.times):
                delay = random.uniform(0, most)
                problems = _same(folders, command, whole, delay)
                outcome["wrong" if problems else "both ended, equal"] += 1
                for problem in problems:
                    say(f"  {command}, {delay:.2f} s apart: {problem}")
            rows.append({"commands": f"{command} twice", **outcome, "wrong": outcome["wrong"]})
            say(table([rows[-1]]))
            if command == "compare":
                two = _two_generators(folders, whole.contents, options.times, random.uniform(0, min(most, 1)))
                rows.append({"commands": "compare a, compare b", **two, "wrong": two["wrong"]})
                say(table([rows[-1]]))
    print(table(rows))
    return int(any(row["wrong"] for row in rows))


@dataclass
class _Folders:
    """Folders of results, or addresses where there is a server."""

    place: Scratch
    server: Any = None

    def new(self) -> Path | str:
        """Return where nothing is yet."""
        path = self.place.new()
        return path if self.server is None else f"s3://bucket/{path.name}"

    def contents(self, out: Path | str) -> Contents:
        """Return the files there."""
        if isinstance(out, Path):
            return contents(out)
        begin = out.removeprefix("s3://bucket/") + "/"
        objects = dict(self.server.objects)
        return {key.removeprefix(begin): content for key, content in objects.items() if key.startswith(begin)}

    def n_waits(self) -> int:
        """Return how often a run had to wait for another one's lock."""
        return 0 if self.server is None else self.server.n_refused

    def remove(self, out: Path | str) -> None:
        """Remove all that is there."""
        if isinstance(out, Path):
            shutil.rmtree(out)
        else:
            self.server.objects.clear()


@contextmanager
def _folders(place: Scratch, options: Namespace) -> Iterator[_Folders]:
    """Yield what makes folders; the server, if any, runs inside the ``with`` block."""
    if not options.s3:
        yield _Folders(place)
        return
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    import s3_server

    with s3_server.serve() as (server, environment):
        cache = place.folder / "cache"
        os.environ.update(environment, XDG_CACHE_HOME=str(cache))
        yield _Folders(place, server)
        left = [path for path in (cache / "textassay").rglob("*") if path.is_file()]
        if left:
            raise SystemExit(f"files are left: {left}")


def _same(folders: _Folders, command: str, whole: Whole, delay: float) -> list[str]:
    out = folders.new()
    problems = _together(folders, (command, command), out, delay)
    problems += differences(folders.contents(out), whole.contents)
    folders.remove(out)
    return problems


def _two_generators(folders: _Folders, of_first: Contents, times: int, delay: float) -> Counter[str]:
    """Compare two generators with the same real text at once, each for itself, then both."""
    first = COMMANDS["compare"]
    second = first.replace("a=generated.txt", "b=other.txt")
    both = first.replace("a=generated.txt", "a=generated.txt b=other.txt")
    alone = [of_first, folders.place.undisturbed(second).contents]
    whole = folders.place.undisturbed(both)
    outcome: Counter[str] = Counter()
    for number in range(times):
        out = folders.new()
        problems = _together(folders, (first, second) if number % 2 else (second, first), out, delay)
        ours = folders.contents(out)
        if not any(_report(ours) == _report(each) for each in alone):
            problems.append("the report is neither that of a nor that of b")
        kept = {name for each in alone for name in each if name.startswith(_KEPT)}
        problems += [f"{name} was not kept" for name in kept if name not in ours]
        ended = folders.place.run(both, out)
        if ended.status != 0:
            problems.append(f"run again, it has status {ended.status}: {ended.stderr[-1500:]}")
        problems += differences(folders.contents(out), whole.contents)
        outcome["wrong" if problems else "both ended, equal"] += 1
        for problem in problems:
            say(f"  compare a, compare b: {problem}")
        folders.remove(out)
    return outcome


def _report(files: Contents) -> Contents:
    return {name: content for name, content in files.items() if not name.startswith(_KEPT)}


def _together(folders: _Folders, commands: tuple[str, str], out: Path | str, delay: float) -> list[str]:
    """Run both at once, the second a little later; return what is wrong with either."""
    before = folders.n_waits()
    first = folders.place.start(commands[0], out)
    sleep(delay)
    second = folders.place.start(commands[1], out)
    ended = end(first), end(second)
    if folders.n_waits() > before:
        say(f"  a run found the other one's lock {folders.n_waits() - before} times")
    return [f"status {each.status}: {each.stderr}" for each in ended if each.status != 0]


if __name__ == "__main__":
    sys.exit(main())
