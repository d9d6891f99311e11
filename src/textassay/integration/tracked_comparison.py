"""A comparison in a run of an experiment tracker: values, intervals, sizes, settings, signatures, the report."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

from textassay.comparison import Comparison
from textassay.report import comparison_summary, write_report
from textassay.tracking import Tracker, keys_of, opened

_FILES = ("report.html", "results.json", "results.csv")


def log_comparison(comparison: Comparison, tracker: str | Tracker, *, folder: Path | None = None) -> None:
    """Log a comparison to the run that is open, or to one of its own; `folder`: where its report is written already."""
    with opened(tracker) as run:
        run.settings(tracked_settings(comparison))
        run.values(tracked_values(comparison))
        if folder is not None:
            run.page(comparison_summary(comparison, depth=1), [folder / name for name in _FILES])
            return
        with TemporaryDirectory() as made:
            write_report(comparison, made, texts=comparison.texts)
            run.page(comparison_summary(comparison, depth=1), [Path(made) / name for name in _FILES])


def tracked_values(comparison: Comparison) -> dict[str, float]:
    """Return every defined number: ``METRIC/GENERATOR``, its ``.low`` and ``.high``, what real text scores, sizes."""
    values: dict[str, float] = {}
    metrics, generators = _keys(comparison)
    for result in comparison.results:
        if result.estimate is None:
            continue
        key, estimate = f"{metrics[result.metric]}/{generators[result.generator]}", result.estimate
        found = {"": estimate.value}
        if estimate.interval is not None:
            found |= {".low": estimate.interval.low, ".high": estimate.interval.high}
        if result.matched is not None and result.floor is not None:
            found |= {".matched": result.matched.value, ".floor": result.floor.value}
        values |= {f"{key}{end}": value for end, value in found.items() if math.isfinite(value)}
        n = estimate.sizes.get("n_generated")
        values |= {} if n is None else {f"n_generated/{generators[result.generator]}": n}
    return {**values, "n_real": comparison.real.n_sentences}


def tracked_settings(comparison: Comparison) -> dict[str, str]:
    """Return what the numbers depend on, the verdicts, and why values are missing."""
    settings = {
        "version": comparison.version,
        "real": comparison.real.name,
        "real.fingerprint": comparison.real.fingerprint,
        "generators": ", ".join(comparison.generators),
        "metrics": ", ".join(comparison.metrics),
        "level": f"{comparison.level:g}",
        "seed": str(comparison.seed),
        "n_warnings": str(len(comparison.warnings) + sum(one.severity == "warning" for one in comparison.findings)),
    }
    given = keys_of(comparison.settings)
    settings |= {f"setting.{given[name]}": str(value) for name, value in comparison.settings.items()}
    metrics, generators = _keys(comparison)
    for result in comparison.results:
        key = f"{metrics[result.metric]}/{generators[result.generator]}"
        if result.estimate is not None:
            settings[f"signature.{key}"] = str(result.estimate.signature)
        if result.error is not None:
            settings[f"undefined.{key}"] = result.error
    if comparison.headline is not None:
        verdicts = {name: comparison.verdict(name) for name in comparison.generators}
        settings |= {f"verdict.{generators[name]}": told for name, told in verdicts.items() if told is not None}
    return settings


def _keys(comparison: Comparison) -> tuple[dict[str, str], dict[str, str]]:
    """Return the parts of keys for metrics, and for generators and rows of reference."""
    return keys_of(comparison.metrics), keys_of(result.generator for result in comparison.results)
