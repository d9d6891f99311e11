"""The files of an analysis of judgements: the whole of it as JSON, texts and raters as CSV, figures."""

import json
from pathlib import Path

from textassay.corpus import csv_text
from textassay.human import HumanAnalysis
from textassay.report.human_figures import draw_analysis
from textassay.report.whole_files import write_whole


def write_analysis(analysis: HumanAnalysis, folder: Path) -> list[Path]:
    """Write ``analysis.json``, ``items.csv``, ``raters.csv``, ``disputed.csv`` and ``figures``; return their paths."""
    document = json.dumps(analysis.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    is_vote = analysis.by_majority is not None
    mean = "share_real" if is_vote else "mean_rating"
    columns = ("item", "generator", "n", mean, "agreement", "text")
    texts = [(text.id, text.generator or "", text.n, text.mean, text.agreement, text.text) for text in analysis.texts]
    disputed = [
        (text.id, text.generator or "", text.n, text.mean, text.agreement, text.text)
        for one in analysis.disputed
        for text in one.texts
    ]
    raters = [
        (one.rater, one.n, one.share_real, one.accuracy, one.agreement, one.p_value, one.p_adjusted, one.seconds,
         "; ".join(one.flags), "; ".join(one.reasons))
        for one in analysis.raters
    ]  # fmt: skip
    rater_columns = ("rater", "n", mean, "accuracy", "agreement", "p", "p_adjusted", "seconds", "flags", "reasons")
    paths = write_whole(
        folder,
        {
            "analysis.json": document + "\n",
            "items.csv": csv_text(columns, texts),
            "disputed.csv": csv_text(columns, disputed),
            "raters.csv": csv_text(rater_columns, raters),
        },
    )
    return paths + write_whole(folder / "figures", {one.file_name: one.svg for one in draw_analysis(analysis)})
