"""Damage kept files of a run that has ended or was killed: cut at half, zeros, random bytes, empty; then run it again.

The command must end on the files of an undisturbed run, or refuse the damaged file in one line, leave the others as
they are, and end on those files once the damaged one is deleted.
"""

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from runs import Scratch, Whole, chosen, contents, differences, draws, finishes, parser, refusal, say, scratch, table

DAMAGES: Mapping[str, Callable[[bytes, Random], bytes]] = {
    "half": lambda content, _: content[: len(content) // 2],
    "zeros": lambda content, _: bytes(len(content)),
    "random": lambda content, random: random.randbytes(len(content)),
    "empty": lambda *_: b"",
}


_NOT_READ = (".md", ".html", ".svg", ".tex")  # reports, which are written anew or, of a model, stay as they are
_CHECKED = ("estimates", "values", "cells")  # folders of files with a checksum
_CHECKED_FILES = ("config.json", "model.safetensors", "checkpoint.safetensors")


def main() -> int:
    """Damage the files of each command so many times and print a table."""
    options = parser(__doc__, times=20).parse_args()
    rows = []
    with scratch(options) as place:
        for command in chosen(options):
            whole = place.undisturbed(command)
            random = draws(options.seed, f"{command} store")
            outcome: Counter[str] = Counter()
            for number in range(options.times):
                kind, problems, what = _damage(place, command, whole, random, was_killed=bool(number % 2))
                outcome["wrong" if problems else kind] += 1
                for problem in problems:
                    say(f"  {command}, {what}: {problem}")
            kinds = ("computed again, equal", "refused in one line, then equal", "wrong")
            rows.append({"command": command, **{kind: outcome[kind] for kind in kinds}})
            say(table([rows[-1]]))
    print(table(rows))
    return int(any(row["wrong"] for row in rows))


def _damage(
    place: Scratch, command: str, whole: Whole, random: Random, *, was_killed: bool
) -> tuple[str, list[str], str]:
    """Return what came of damage to one file, what is wrong with that, and which file it was."""
    out = place.new()
    place.run(command, out, {"die_at": random.randint(whole.n_changes // 3, whole.n_changes)} if was_killed else {})
    name = random.choice([name for name in contents(out) if Path(name).suffix not in _NOT_READ])
    has_checksum = name.split("/")[0] in _CHECKED or Path(name).name in _CHECKED_FILES
    changes = {**DAMAGES, **({"one bit": _flipped} if has_checksum else {})}
    damage = random.choice(list(changes))
    (out / name).write_bytes(changes[damage]((out / name).read_bytes(), random))
    damaged = contents(out)
    ended = place.run(command, out)
    what = f"{name} of a run that {'was killed' if was_killed else 'had ended'}, {damage}"
    if ended.status == 0:
        kind, problems = "computed again, equal", differences(contents(out), whole.contents)
    else:
        changed = [] if was_killed else differences(contents(out), damaged)
        kind, problems = "refused in one line, then equal", refusal(ended) + changed
        for each in _to_delete(name):
            (out / each).unlink(missing_ok=True)
        problems += finishes(place, command, out, whole)
    shutil.rmtree(out)
    return kind, problems, what


def _to_delete(name: str) -> list[str]:
    """Return what the refusal of a damaged file asks to delete: all of a model, or the file."""
    model = ("training.json", "config.json", "model.safetensors", "history.json")
    return list(model) if name in model else [name]


def _flipped(content: bytes, random: Random) -> bytes:
    """Return content with one bit the other way round."""
    if not content:
        return content
    place = random.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << random.randrange(8)]) + content[place + 1 :]


if __name__ == "__main__":
    sys.exit(main())
