"""Put the results of a study into its page of docs: what stands below its mark is made from a folder of ``--out``.

    python tests/support/study_page.py docs/studies/gan-as-lm.md FOLDER "textassay study gan-as-lm --data ..."

What stands above the mark says what the study does, without a figure of a result. Below it stand the command, when it
ended and what its stages took, then the report; figures are copied beside the pages. Sections that quote the texts are
left out, since these belong to others.
"""

import json
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

QUOTING = ("Samples",)  # beginnings of the titles of sections that quote texts
MARK = "<!-- results: made by tests/support/study_page.py -->"


def page(text: str, folder: Path, command: str, name: str) -> str:
    """Return the page with the results in `folder` below its mark."""
    above, mark, _ = text.partition(MARK)
    if not mark:
        raise SystemExit(f"the page has no line {MARK}")
    document = json.loads((folder / "study.json").read_text())
    settings, seconds = document["settings"], sum(document["seconds"].values())
    ended = datetime.fromtimestamp((folder / "study.json").stat().st_mtime, UTC)
    report = (folder / "study.md").read_text().partition("\n")[2].strip()  # without its title
    first, *sections = re.split(r"^(?=## )", report, flags=re.MULTILINE)
    report = "".join([first, *(one for one in sections if not one.removeprefix("## ").startswith(QUOTING))]).strip()
    report = re.sub(r"\]\((?:figures/)?([\w.-]+\.svg)\)", rf"](images/{name}/\1)", report)
    workers = re.search(r"--workers (\d+)", command)
    at_a_time = "one after the other" if workers is None or workers[1] == "1" else f"up to {workers[1]} at a time"
    run = (
        f"Everything below was written by\n\n```sh\n{command}\n```\n\nof version {settings['version']} on "
        f"{ended.day} {ended:%B %Y}, with seed {settings['seed']}. Its stages took {seconds:,.0f} seconds together, "
        f"{at_a_time}, on two cores of a shared machine."
    )
    return f"{above}{MARK}\n\n## The run\n\n{run}\n\n## In brief\n\n{report}\n"


def main(path: Path, folder: Path, command: str) -> None:
    """Write the page and copy its figures."""
    name = path.stem
    path.write_text(page(path.read_text(), folder, command, name))
    images = path.parent / "images" / name
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir(parents=True)
    for figure in sorted((folder / "figures").glob("*.svg")):
        if figure.name in path.read_text():
            shutil.copyfile(figure, images / figure.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
