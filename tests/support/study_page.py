"""Put the results of a study into its page of docs: what stands below its mark is made from a folder of ``--out``.

    python tests/support/study_page.py docs/studies/gan-as-lm.md FOLDER "textassay study gan-as-lm --data ..."

What stands above the mark says what the study does, without a figure of a result. Below it stand the command, when it
ended and what its stages took, then of the report the findings, the figures, which are copied beside the pages, the
tables where ours stand beside the paper's, and the notes. Samples quote texts that belong to others, so they are left
out.
"""

import json
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

KEPT = ("What the paper found", "Figures", "Tables", "Notes")  # beginnings of the titles of sections
FOLLOWS = ("Ranks.",)  # in titles of tables that follow from others
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
    workers = re.search(r"--workers (\d+)", command)
    at_a_time = "one after the other" if workers is None or workers[1] == "1" else f"up to {workers[1]} at a time"
    run = (
        f"Everything below was written by\n\n```sh\n{command}\n```\n\nof version {settings['version']} on "
        f"{ended.day} {ended:%B %Y}, with seed {settings['seed']}. Its stages took {seconds:,.0f} seconds together, "
        f"{at_a_time}, on two cores of a shared machine."
    )
    return f"{above}{MARK}\n\n## The run\n\n{run}\n\n## In brief\n\n{brief(report, name)}\n"


def brief(report: str, name: str) -> str:
    """Return what the page shows of a report."""
    first, *sections = re.split(r"^(?=## )", report, flags=re.MULTILINE)
    parts = [first]
    for section in sections:
        title = section.removeprefix("## ")
        if title.startswith("Tables"):
            begin, *tables = re.split(r"^(?=\*\*[^*\n]+\*\*$)", section, flags=re.MULTILINE)
            parts += [begin, *(table for table in tables if _is_beside_the_papers(table))]
        elif title.startswith(KEPT):
            parts.append(section)
    text = re.sub(r"^- .* samples were cut at .*\n", "", "".join(parts), flags=re.MULTILINE)
    text = re.sub(r"^Not published: .*\n\n?", "", text, flags=re.MULTILINE)  # an empty cell says so
    text = re.sub(r"!\[([^\]]*)\]\((?:[\w/-]+/)?([\w.-]+\.svg)\)", lambda found: _image(found[1], found[2], name), text)
    return text.strip()


def _is_beside_the_papers(table: str) -> bool:
    title, _, rows = table.partition("\n")
    head = rows.lstrip().split("\n")[0]
    return " ours |" in head and " paper |" in head and not any(word in title for word in FOLLOWS)


def _image(description: str, file: str, name: str) -> str:
    words = re.split(r"[.:;] |, with|, a panel", description.replace("Figure ", "Figure\N{NO-BREAK SPACE}"))
    return f"![{': '.join(words[: 2 if words[0].startswith('Figure') else 1])}](images/{name}/{file})"


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
