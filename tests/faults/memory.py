"""Let a command run out of memory at random moments, by a limit on its address space, and run it again without.

It must say so in one line with status 1, and end on the files of an undisturbed run without the limit.
"""

import shutil
import sys
from collections import Counter

from runs import chosen, draws, finishes, one_line, parser, say, scratch, table

_MOST = 400_000_000  # bytes beyond what the imports take


def main() -> int:
    """Limit each command so many times and print a table."""
    options = parser(__doc__, times=10).parse_args()
    rows = []
    with scratch(options) as place:
        for command in chosen(options):
            whole = place.undisturbed(command)
            random = draws(options.seed, f"{command} memory")
            outcome: Counter[str] = Counter()
            for _ in range(options.times):
                limit = random.randint(1, _MOST)
                out = place.new()
                ended = place.run(command, out, {"memory": limit})
                problems = []
                kind = "ended, equal"
                if ended.status < 0 or (ended.status == 1 and not one_line(ended)):
                    kind = f"status {ended.status} of a library"
                    say(f"  {command}, {limit:,} bytes: status {ended.status}: {ended.stderr[-600:]}")
                elif ended.status != 0:
                    kind = "one line, then equal"
                    if ended.status != 1 or not one_line(ended):
                        problems.append(f"status {ended.status}: {ended.stderr[-1500:]}")
                problems += finishes(place, command, out, whole)
                outcome["wrong" if problems else kind] += 1
                for problem in problems:
                    say(f"  {command}, {limit:,} bytes: {problem}")
                shutil.rmtree(out, ignore_errors=True)
            n_wrong = outcome.pop("wrong", 0)
            rows.append({"command": command, **dict(sorted(outcome.items())), "wrong": n_wrong})
            say(table([rows[-1]]))
    print(table(rows))
    return int(any(row["wrong"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
