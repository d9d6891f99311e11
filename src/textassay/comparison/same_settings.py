"""One folder, one setting: a report is not replaced by one of another seed, another real text or other settings.

Generators and metrics may come and go, and the version of the software may change.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from textassay.comparison.comparison import Comparison, RealText
from textassay.errors import InputError

RESULTS = "results.json"


def check_same_comparison(folder: Path, comparison: Comparison) -> None:
    """Raise where `folder` holds the report of another real text or of other settings than `comparison` has."""
    check_same_settings(
        folder, real=comparison.real, level=comparison.level, seed=comparison.seed, settings=comparison.settings
    )


def check_same_settings(
    folder: Path, *, real: RealText | None, level: float, seed: int, settings: Mapping[str, Any]
) -> None:
    """Raise where `folder` holds the report of another real text or of other settings; what it does not tell passes.

    Without `real`, settings alone are compared.
    """
    before = _before(folder)
    was = {"seed": before.get("seed"), "level": before.get("level"), **_mapping(before.get("settings"))}
    now = {"seed": seed, "level": level, **settings}
    changed = [
        f"{name} {was[name]}, now {now[name]}"
        for name in now
        if was.get(name) is not None and now[name] is not None and was[name] != now[name]
    ]
    old_real = _mapping(before.get("real"))
    prepared_alike = was.get("tokenizer") in (None, settings.get("tokenizer"))
    if real is not None and old_real and prepared_alike and old_real.get("fingerprint") != real.fingerprint:
        old, new = (f"{text.get('n_sentences')} sentences of {text.get('name')}" for text in (old_real, asdict(real)))
        changed.append(f"real text {old}, now {new if new != old else 'others'}")
    if changed:
        raise InputError(
            f"{folder} holds results of other settings ({'; '.join(changed)}): choose another --out, give the same "
            f"settings, or delete {folder / RESULTS}"
        )


def _before(folder: Path) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads((folder / RESULTS).read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
