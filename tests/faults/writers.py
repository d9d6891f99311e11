"""Run two commands in one ``--out`` at the same time: twice the same, or with different generators.

Both must end; the report must be whole, and that of one of them; what both computed must be kept, so that a command
that asks for both ends on the files of an undisturbed run.
"""

import shutil
import sys
from collections import Counter
from pathlib import Path
from time import sleep

from runs import (
    COMMANDS,
    Contents,
    Scratch,
    Whole,
    chosen,
    contents,
    differences,
    draws,
    end,
    finishes,
    parser,
    say,
    scratch,
    table,
)

_KEPT = ("estimates/",)


def main() -> int:
    """Run each command twice at once so many times and print a table."""
    options = parser(__doc__, times=5).parse_args()
    rows = []
    with scratch(options) as place:
        for command in chosen(options):
            whole = place.undisturbed(command)
            random = draws(options.seed, f"{command} writers")
            outcome: Counter[str] = Counter()
            for _ in range(options.times):
                delay = random.uniform(0, whole.seconds / 2)
                problems = _same(place, command, whole, delay)
                outcome["wrong" if problems else "both ended, equal"] += 1
                for problem in problems:
                    say(f"  {command}, {delay:.2f} s apart: {problem}")
            rows.append({"commands": f"{command} twice", **outcome, "wrong": outcome["wrong"]})
            say(table([rows[-1]]))
            if command == "compare":
                two = _two_generators(place, options.times, random.random())
                rows.append({"commands": "compare a, compare b", **two, "wrong": two["wrong"]})
                say(table([rows[-1]]))
    print(table(rows))
    return int(any(row["wrong"] for row in rows))


def _same(place: Scratch, command: str, whole: Whole, delay: float) -> list[str]:
    out = place.new()
    problems = _together(place, (command, command), out, delay)
    problems += differences(contents(out), whole.contents)
    shutil.rmtree(out)
    return problems


def _two_generators(place: Scratch, times: int, delay: float) -> Counter[str]:
    """Compare two generators with the same real text at once, each for itself, then both."""
    first = COMMANDS["compare"]
    second = first.replace("a=generated.txt", "b=other.txt")
    both = first.replace("a=generated.txt", "a=generated.txt b=other.txt")
    alone = [place.undisturbed(command).contents for command in (first, second)]
    whole = place.undisturbed(both)
    outcome: Counter[str] = Counter()
    for _ in range(times):
        out = place.new()
        problems = _together(place, (first, second), out, delay)
        ours = contents(out)
        if not any(_report(ours) == _report(each) for each in alone):
            problems.append("the report is neither that of a nor that of b")
        kept = {name for each in alone for name in each if name.startswith(_KEPT)}
        problems += [f"{name} was not kept" for name in kept if name not in ours]
        problems += finishes(place, both, out, whole)
        outcome["wrong" if problems else "both ended, equal"] += 1
        for problem in problems:
            say(f"  compare a, compare b: {problem}")
        shutil.rmtree(out)
    return outcome


def _report(files: Contents) -> Contents:
    return {name: content for name, content in files.items() if not name.startswith(_KEPT)}


def _together(place: Scratch, commands: tuple[str, str], out: Path, delay: float) -> list[str]:
    """Run both at once, the second a little later; return what is wrong with either."""
    first = place.start(commands[0], out)
    sleep(delay)
    second = place.start(commands[1], out)
    return [f"status {ended.status}: {ended.stderr}" for ended in (end(first), end(second)) if ended.status != 0]


if __name__ == "__main__":
    sys.exit(main())
