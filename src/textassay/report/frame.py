"""A result as a data frame: one long table in full precision, whose columns `docs/integrations.md` lists."""

from typing import TYPE_CHECKING, Any

from textassay.comparison.explanation import Explanation
from textassay.comparison.planning import Plan
from textassay.display import Displayed
from textassay.errors import InputError
from textassay.estimate import Estimate
from textassay.inspection.finding import Finding, Findings
from textassay.report.document import Document, Table
from textassay.report.show import document

if TYPE_CHECKING:
    import pandas as pd

_ESTIMATE = ("metric", "value", "low", "high", "level", "interval_method", "unit", "better", "n_generated", "n_real",
             "signature")  # fmt: skip
_PHRASES = ("side", "ngram", "order", "n_real", "n_generated", "share_real", "share_generated", "p_adjusted")


def as_frame(result: Displayed) -> "pd.DataFrame":
    """Return `result` as a data frame; raise for a document without a table of numbers."""
    import pandas as pd

    if isinstance(result, Estimate):
        row = result.to_dict()
        sizes = {key: result.sizes.get(key) for key in ("n_generated", "n_real")}
        frame = pd.DataFrame([{**row, **sizes}], columns=list(_ESTIMATE))
        return frame.astype(dict.fromkeys(("value", "low", "high", "level"), float))
    if isinstance(result, Finding | Findings):
        findings = [result] if isinstance(result, Finding) else list(result)
        return pd.DataFrame(
            [one.to_dict() for one in findings],
            columns=[name for name in Finding.__dataclass_fields__ if name != "pairs"],
        )
    if isinstance(result, Explanation):
        return pd.DataFrame(_phrases(result), columns=list(_PHRASES))
    if isinstance(result, Plan):
        return pd.DataFrame(result.to_dict()["requirements"])
    records = (result if isinstance(result, Document) else document(result)).records
    if records:
        return _frame(records[0])
    to_dict = getattr(result, "to_dict", None)
    if isinstance(result, Document) or to_dict is None:
        raise InputError(
            f"this {type(result).__name__} has no table of numbers: take that of the result it was made of"
        )
    return pd.json_normalize(to_dict())


def _phrases(explanation: Explanation) -> list[dict[str, Any]]:
    """Return a row for each phrase that one side has more often, under the side that does."""
    sides = (("generated", explanation.overused), ("real", explanation.more_real))
    return [{"side": side, **vars(phrase)} for side, phrases in sides for phrase in phrases]


def _frame(table: Table) -> "pd.DataFrame":
    import pandas as pd

    rows = [[cell.value for cell in row.cells] for row in table.rows]
    return pd.DataFrame(rows, columns=[column.name for column in table.columns])
