"""A folder holds one set of settings: its report is not replaced by one with another seed, real text or settings.

Generators, metrics and the version of textassay may change.
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
    """Raise if `folder` holds the report of another real text or of other settings; unknown settings pass.

    Without `real`, only settings are compared.
    """
    before = _before(folder)
    old_settings = {"seed": before.get("seed"), "level": before.get("level"), **_mapping(before.get("settings"))}
    new_settings = {"seed": seed, "level": level, **settings}
    changed = [
        f"{name} {old_settings[name]}, now {new_settings[name]}"
        for name in new_settings
        if old_settings.get(name) is not None
        and new_settings[name] is not None
        and old_settings[name] != new_settings[name]
    ]
    old_real = _mapping(before.get("real"))
    prepared_alike = old_settings.get("tokenizer") in (None, settings.get("tokenizer"))
    if real is not None and old_real and prepared_alike and old_real.get("fingerprint") != real.fingerprint:
        old_text, new_text = (
            f"{text.get('n_sentences')} sentences of {text.get('name')}" for text in (old_real, asdict(real))
        )
        changed.append(f"real text {old_text}, now {new_text if new_text != old_text else 'others'}")
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
