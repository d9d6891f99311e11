"""``textassay report``: write the report of a finished comparison again, or set several side by side."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from textassay.cli.declarations import MaxInput, Output
from textassay.cli.options import check_writable
from textassay.cli.results import print_result, save_or_keep, save_result, then
from textassay.errors import OptionError
from textassay.storage import with_addresses

if TYPE_CHECKING:
    from textassay.comparison.comparison import Comparison


@dataclass(frozen=True, kw_only=True)
class Report(Output):
    """Write the report of a finished comparison again, or set several comparisons side by side.

    With several folders, show what changed from the first to the last, by how much, and whether it exceeds noise.
    """

    folders: Annotated[list[Path], Argument(metavar="DIR", help="Folders written by 'compare --out'.")]
    max_input: MaxInput = "4GB"

    def run(self) -> int:
        """Write and print the report of one comparison, or of several side by side, and return 0."""
        from textassay.comparison.document import read_comparison

        comparisons = [read_comparison(folder) for folder in self.folders]
        if len(comparisons) == 1:
            self._again(comparisons[0])
        else:
            self._side_by_side(dict(zip(self._names(), comparisons, strict=True)))
        return 0

    def _again(self, comparison: "Comparison") -> None:
        from rich.console import Console

        from textassay.comparison.document import screen_document, write_report

        folder = self.out or self.folders[0]
        check_writable(folder)
        screen = screen_document(comparison, where=with_addresses(folder / "report.html"), console=Console())
        with then(lambda: save_or_keep(lambda place: write_report(comparison, place), folder)):
            print_result(screen, comparison.to_dict(), as_json=self.json)

    def _side_by_side(self, comparisons: "dict[str, Comparison]") -> None:
        from textassay.comparison.side_by_side import side_by_side

        document = side_by_side(comparisons)
        with then(lambda: save_result(self.out, document, "changes", {}, quiet=self.json)):
            print_result(document, document.to_dict(), as_json=self.json)

    def _names(self) -> list[str]:
        """Return the folders' names, with as many of their parents as tell them apart."""
        places = [folder.resolve() for folder in self.folders]
        if len(set(places)) < len(places):
            raise OptionError("the same folder is given twice: give the folders of different comparisons")
        for n_parts in range(1, max(len(place.parts) for place in places) + 1):
            names = ["/".join(place.parts[-n_parts:]) for place in places]
            if len(set(names)) == len(names):
                break
        return names
