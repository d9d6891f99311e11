"""The folder of an audit: its plan and looks in ``audit.json``, the answers in JSON lines beside it.

``reference.jsonl`` has the answers that are compared with, ``look-0001.jsonl`` those of the first look and so on, a row
an answer with its prompt. Each file is written whole or not at all. Answers of an endpoint are kept in ``answers/`` as
they come, too, so that none is asked for twice.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from textassay.audit.statistic import Sample
from textassay.corpus.documents import parse_json
from textassay.errors import InputError
from textassay.storage import checksum, write_file

PLAN, REFERENCE, ANSWERS = "audit.json", "reference.jsonl", "answers"
_VERSION = 1

Samples = list[list[Sample]]  # of each prompt


@dataclass(frozen=True)
class Look:
    """One look: when, on how many answers, what the test of them gave, and the evidence of all looks so far."""

    at: str  # ISO 8601, UTC
    n: int
    p_value: float
    e: float
    shown_by: str  # the statistic with the smallest p-value
    scores: tuple[float, ...]  # of each prompt
    checksum: str  # of the file of answers
    tokens: int | None = None  # of the answers, as the endpoint counts them


@dataclass(frozen=True)
class AuditPlan:
    """What is audited, and how it went so far; `model` is None where texts are given as files.

    `samples`: of each prompt in the reference; `budget`: requests that may be made in all; `n_pilot`: requests made to
    choose prompts; `open_samples`: of each prompt in a look that was begun.
    """

    prompts: tuple[str, ...]
    model: str | None = None
    samples: int = 0
    seed: int = 0
    log_probs: bool = False
    budget: int | None = None
    n_pilot: int = 0
    tokens: int | None = None  # of the reference
    started: str = ""
    looks: tuple[Look, ...] = ()
    open_samples: int | None = None
    version: int = field(default=_VERSION)


class AuditFolder:
    """Reads and writes the files of an audit."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        return (self.path / PLAN).exists()

    def look_path(self, number: int) -> Path:
        return self.path / f"look-{number:04}.jsonl"

    def write_plan(self, plan: AuditPlan) -> None:
        write_file(self.path / PLAN, json.dumps(asdict(plan), indent=1, allow_nan=False) + "\n")

    def read_plan(self) -> AuditPlan:
        """Return the plan; raises `InputError` where there is none, or one that cannot be read."""
        path = self.path / PLAN
        if not path.exists():
            raise InputError(f"{self.path} contains no audit: start one with 'textassay audit start --out {self.path}'")
        try:
            document: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
            looks = tuple(Look(**{**row, "scores": tuple(row["scores"])}) for row in document.pop("looks"))
            plan = AuditPlan(**{**document, "prompts": tuple(document["prompts"]), "looks": looks})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{path} is damaged: start a new audit in another folder") from None
        if plan.version != _VERSION:
            raise InputError(f"{path} was written by another version of textassay: start a new audit in another folder")
        return plan

    def write_answers(self, path: Path, prompts: Sequence[str], samples: Samples) -> str:
        """Write answers to each prompt; return the checksum of the file."""
        rows = (
            {
                "prompt": prompt,
                "text": sample.text,
                **({"log_probs": dict(sample.log_probs)} if sample.log_probs else {}),
            }
            for prompt, own in zip(prompts, samples, strict=True)
            for sample in own
        )
        content = "".join(json.dumps(row) + "\n" for row in rows)
        write_file(path, content)
        return checksum(content.encode())

    def read_answers(self, path: Path, prompts: Sequence[str]) -> Samples:
        """Return the answers of a file, those of each prompt together."""
        own: dict[str, list[Sample]] = {prompt: [] for prompt in prompts}
        try:
            for line in path.read_text(encoding="utf-8").split("\n"):
                if line:
                    row: Mapping[str, Any] = parse_json(line)
                    own[row["prompt"]].append(Sample(row["text"], row.get("log_probs") or {}))
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path} is missing or damaged: start a new audit in another folder") from None
        return list(own.values())


def with_look(plan: AuditPlan, look: Look) -> AuditPlan:
    """Return the plan after a look."""
    return replace(plan, looks=(*plan.looks, look), open_samples=None)
