"""Remove the folder of ``--out`` while a command runs, or let the clock jump by days, forwards and backwards.

A command whose folder is removed may end, or say in one line what it could not write; run again, it must end on the
files of an undisturbed run. One whose clock jumps must end on them at once.
"""

import shutil
import sys
from collections import Counter

from runs import chosen, draws, finishes, parser, refusal, say, scratch, table

_DAY = 24 * 3600.0


def main() -> int:
    """Disturb each command so many times in each way and print a table."""
    options = parser(__doc__, times=10).parse_args()
    rows = []
    with scratch(options) as place:
        for command in chosen(options):
            whole = place.undisturbed(command)
            random = draws(options.seed, f"{command} surroundings")
            outcome: Counter[str] = Counter()
            for number in range(2 * options.times):
                at = random.randint(1, whole.n_changes)
                jump = random.choice((-400, -3, 3, 400)) * _DAY
                out = place.new()
                if number % 2:
                    ended = place.run(command, out, {"jump": [at, jump]})
                    problems = [f"status {ended.status}: {ended.stderr}"] if ended.status else []
                    kind = "clock jumps: ended, equal"
                else:
                    ended = place.run(command, out, {"remove_at": at})
                    problems = refusal(ended) if ended.status else []
                    kind = f"folder removed: {'refused in one line' if ended.status else 'ended'}, then equal"
                problems += finishes(place, command, out, whole)
                outcome["wrong" if problems else kind] += 1
                for problem in problems:
                    say(f"  {command}, {kind}, change {at} of {whole.n_changes}, jump {jump}: {problem}")
                shutil.rmtree(out, ignore_errors=True)
            n_wrong = outcome.pop("wrong", 0)
            rows.append({"command": command, **dict(sorted(outcome.items())), "wrong": n_wrong})
            say(table([rows[-1]]))
    print(table(rows))
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
