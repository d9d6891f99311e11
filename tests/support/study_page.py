"""Put the results of a study into its page of docs: what stands below its mark is made from a folder of ``--out``.

    python tests/support/study_page.py docs/studies/gan-as-lm.md FOLDER "textassay study gan-as-lm --data ..."

What stands above the mark says what the study does, without a figure of a result. Below it stand the command, when it
ended and what its stages took, then of the report the findings with their most telling numbers, the figures, which are
copied beside the pages, the tables where ours stand beside the paper's, and the notes. A wide table keeps the rows and
columns that the paper has, a value its interval, or else its spread. Samples quote texts that belong to others, so they
are left out.
"""

import json
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

KEPT = ("Findings of the paper", "Figures", "Tables", "Notes")  # beginnings of the titles of sections
LEFT_OUT = (  # in titles of tables that no finding needs
    "Ranks.",
    "Models: settings",
    "Numbers of generated reviews",
    "Perplexity, held-out",
    "BLEU of translation",
)
NOT_NEEDED = re.compile(r"(rho|r) |.*, all references ")  # names of columns that no finding needs, in wide tables
MOST_COLUMNS = 6  # of a table that is shown whole
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
        f"Everything below was written by\n\n<!-- not run: needs the data sets -->\n```sh\n{command}\n```\n\n"
        f"of version {settings['version']} on "
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
    text = re.sub(r"^(Not published|Published, not).*: .*\n\n?", "", text, flags=re.MULTILINE)  # empty cells say so
    text = re.sub(r"^(Figure.*, with intervals\.) .*", r"\1", text, flags=re.MULTILINE)  # averages: see findings
    text = re.sub(r"(\d [±+-][\d.,]+) \(seeds [^)]*\)", r"\1", text)  # it allows for these
    text = re.sub(r"\(seeds ([^)]*)\)", r"(\1)", text).replace("; (seeds): the spread over trainings", "")
    text = re.sub(r"^\| .* \| .* \| (.*;.*) \|$", _most_telling, text, flags=re.MULTILINE)
    text = re.sub(r" Paper: true(, in [a-z ]+)?\.", "", text)
    text = re.sub(r"(### When a finding holds\n\n- )[A-Z].*?: (Holds.*\n)(?!- )", r"\1\2", text)  # one rule for all
    text = re.sub(r"!\[([^\]]*)\]\((?:[\w/-]+/)?([\w.-]+\.svg)\)", lambda found: _image(found[1], found[2], name), text)
    return "\n\n".join(dict.fromkeys(_published(part) for part in text.strip().split("\n\n")))


def _most_telling(row: re.Match[str]) -> str:
    """Return the row of a finding with two or three of its numbers."""
    numbers = re.split(r"(?<!&amp); ", re.sub(r"(\d+) of \1 parts hold; |numbers compared \d+; ", "", row[1]))
    many = len(numbers) > 3 or numbers[-1].startswith("and ")
    numbers = [number for number in numbers if not number.startswith("and ")]
    return row[0].replace(row[1], "; ".join(numbers[: 2 if many and "| does not hold |" not in row[0] else 3]))


def _published(part: str) -> str:
    """Return a wide table with the rows and columns alone that the paper has, too; anything else as it is."""
    head, *rows = [line[2:-2].split(" | ") for line in part.split("\n")]
    papers = [column for column, name in enumerate(head) if name.endswith(" paper")]
    if not papers or len(head) <= MOST_COLUMNS:
        return part
    names = {head[column].removesuffix(" paper") for column in papers if not NOT_NEEDED.match(head[column])}
    columns = [column for column, name in enumerate(head) if not column or name.rpartition(" ")[0] in names]
    kept = [row for row in (head, *rows) if any(row[column] for column in papers)]
    return "\n".join(f"| {' | '.join(row[column] for column in columns)} |" for row in kept)


def _is_beside_the_papers(table: str) -> bool:
    title, _, rows = table.partition("\n")
    head = rows.lstrip().split("\n")[0]
    return " ours |" in head and " paper |" in head and not any(word in title for word in LEFT_OUT)


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
