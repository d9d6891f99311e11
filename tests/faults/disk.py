"""Let the disk of ``--out`` fill up at random moments, or turn read-only, and run the command again with room.

The command must say so in one line with status 1 or 2, and end on the same files once there is room. Needs Linux: the
disk is a tmpfs in a mount namespace of its own, so that nothing stays mounted.
"""

import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from runs import Ended, Scratch, Whole, chosen, contents, draws, finishes, parser, refusal, say, scratch, table

_INSIDE = "TEXTASSAY_FAULTS_MOUNTS"  # set in the namespace
_PAGE = 4096
_ROOM = "256m"


def main() -> int:
    """Disturb each command so many times and print a table."""
    if _INSIDE not in os.environ:
        unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
        return subprocess.run([*unshare, sys.executable, *sys.argv], env={**os.environ, _INSIDE: "1"}).returncode
    arguments = parser(__doc__, times=20)
    arguments.add_argument("--read-only", action="store_true", help="turn it read-only instead")
    options = arguments.parse_args()
    rows = []
    with scratch(options) as place:
        for command in chosen(options):
            whole = place.undisturbed(command)
            pages = sum(-(-len(content) // _PAGE) for content in whole.contents.values())
            say(f"{command}: {len(whole.contents)} files, {pages * _PAGE:,} bytes")
            random = draws(options.seed, f"{command} disk")
            outcome: Counter[str] = Counter()
            for _ in range(options.times):
                if options.read_only:
                    seconds = random.uniform(0, whole.seconds)
                    problems, kind = _read_only(place, command, whole, seconds)
                    moment = f"after {seconds:.2f} s"
                else:
                    size = random.randint(1, pages)
                    problems, kind = _full(place, command, whole, size)
                    moment = f"room for {size} of {pages} pages"
                outcome[kind] += 1
                outcome["wrong"] += bool(problems)
                for problem in problems:
                    say(f"  {command}, {moment}: {problem}")
            kinds = ("refused in one line, then equal", "ended nevertheless, equal", "wrong")
            rows.append({"command": command, **{kind: outcome[kind] for kind in kinds}})
            say(table([rows[-1]]))
    print(table(rows))
    return int(any(row["wrong"] for row in rows))


def _full(place: Scratch, command: str, whole: Whole, n_pages: int) -> tuple[list[str], str]:
    with _Disk(place, f"size={n_pages * _PAGE}") as disk:
        ended = place.run(command, disk.out)
        kept = contents(disk.out) if disk.out.exists() else {}
        disk.remount(f"size={_ROOM}")
        return _after(place, command, whole, disk.out, ended, kept)


def _read_only(place: Scratch, command: str, whole: Whole, seconds: float) -> tuple[list[str], str]:
    """Turn the disk read-only after so many seconds by the clock, at once where that is 0."""
    with _Disk(place, f"size={_ROOM}") as disk:
        timer = threading.Timer(seconds, disk.remount_soon, ["ro"])
        timer.start()
        ended = place.run(command, disk.out)
        timer.cancel()
        timer.join()
        disk.remount("rw")
        kept = contents(disk.out) if disk.out.exists() else {}
        return _after(place, command, whole, disk.out, ended, kept)


def _after(
    place: Scratch, command: str, whole: Whole, out: Path, ended: Ended, kept: dict[str, bytes]
) -> tuple[list[str], str]:
    if ended.status == 0:
        problems, kind = [], "ended nevertheless, equal"
    else:
        problems, kind = refusal(ended), "refused in one line, then equal"
    problems += finishes(place, command, out, whole)
    lost = [name for name in kept if name in whole.contents and not (out / name).exists()]
    return problems + [f"{name} is lost" for name in lost], "wrong" if problems else kind


class _Disk:
    """A disk of its own, with the folder of results on it."""

    def __init__(self, place: Scratch, options: str) -> None:
        self.root = place.folder / "disk"
        self.out = self.root / "out"
        self.root.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.root], check=True)

    def remount(self, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", self.root], check=True)

    def remount_soon(self, options: str) -> None:
        """Mount it anew as soon as no file on it is open for writing."""
        for _ in range(200):
            if subprocess.run(["mount", "-o", f"remount,{options}", self.root], capture_output=True).returncode == 0:
                return
            time.sleep(0.01)

    def __enter__(self) -> "_Disk":
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", self.root], check=True)
        shutil.rmtree(self.root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
