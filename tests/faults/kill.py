"""Kill a command at random moments and run it again, until it ends: the files must be those of an undisturbed run.

Half of the moments are drawn by processor time, half by changes of files: right before a file is made, renamed or
removed. With ``--signal INT`` or ``TERM`` the command must say in one line that it was stopped, with status 130 or 143.
"""

import shutil
import signal
import sys
from collections import Counter

from runs import (
    Ended,
    Scratch,
    Whole,
    chosen,
    contents,
    differences,
    draws,
    end,
    one_line,
    parser,
    say,
    scratch,
    signal_at,
    table,
)

_CACHE = "torchinductor_"  # a folder of PyTorch's own
STATUS = {"KILL": -9, "INT": 130, "TERM": 143}


def main() -> int:
    """Kill each command so many times and print a table."""
    arguments = parser(__doc__, times=40)
    arguments.add_argument("--signal", choices=list(STATUS), default="KILL", help="what to send; KILL by default")
    options = arguments.parse_args()
    rows = []
    with scratch(options) as place:
        for command in chosen(options):
            outcomes = _kill(place, command, options.times, options.signal, options.seed)
            rows.append({"command": command, **outcomes})
            say(table([rows[-1]]))
    print(table(rows))
    return int(any(row["wrong"] for row in rows))


def _kill(place: Scratch, command: str, times: int, name: str, seed: int) -> dict[str, int]:
    """Return how often what happened."""
    whole = place.undisturbed(command)
    say(f"{command}: {whole.seconds:.1f} s of a processor, {whole.n_changes} changes of files")
    random = draws(seed, f"{command} {name}")
    outcome: Counter[str] = Counter()
    out = place.new()
    sent = 0
    while sent < times or out.exists():
        by_change = name == "KILL" and random.random() < 0.5
        if sent >= times:
            ended, was_sent, moment = place.run(command, out), False, "the last run"
        elif by_change:
            at = random.randint(1, whole.n_changes)
            moment = f"change {at} of {whole.n_changes}"
            ended = place.run(command, out, {"die_at": at})
            was_sent = ended.status == STATUS[name]
        else:
            at_seconds = random.uniform(0, whole.seconds)
            moment = f"{at_seconds:.2f} s of {whole.seconds:.2f} s"
            process = place.start(command, out)
            signal_at(process, getattr(signal, f"SIG{name}"), at_seconds)
            ended = end(process)
            was_sent = ended.status == STATUS[name]
        if was_sent:
            sent += 1
            outcome["killed before a change" if by_change else "killed by time" if name == "KILL" else "stopped"] += 1
        problems = _problems(place, ended, was_sent, name, out, whole)
        if not was_sent:
            outcome["ended"] += 1
            outcome["equal"] += not problems
            shutil.rmtree(out, ignore_errors=True)
        outcome["wrong"] += bool(problems)
        for problem in problems:
            say(f"  {command}, {moment}: {problem}")
    keys = ("killed by time", "killed before a change") if name == "KILL" else ("stopped",)
    return {key: outcome[key] for key in (*keys, "ended", "equal", "wrong")}


def _problems(place: Scratch, ended: Ended, was_sent: bool, name: str, out: "object", whole: Whole) -> list[str]:
    """Return what is wrong with a run that was killed or has ended."""
    if was_sent and name == "KILL":
        return []
    if was_sent:
        return [] if one_line(ended) else [f"status {ended.status}, and says: {ended.stderr[-1500:]}"]
    if ended.status != 0:
        return [f"status {ended.status}: {ended.stderr[-1500:]}"]
    left = [path.name for path in (place.folder / "tmp").iterdir() if not path.name.startswith(_CACHE)]
    return differences(contents(out), whole.contents) + [f"tmp/{path} is left" for path in left]  # type: ignore[arg-type]


if __name__ == "__main__":
    sys.exit(main())
