"""``textassay discrepancy``."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from typer import Argument

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import Computing, Json, MaxInput, MaxText
from textassay.cli.options import check_writable
from textassay.cli.results import print_result, save_result, then
from textassay.fields import Above
from textassay.settings import Level, Seed

_MODEL = "A folder written by 'train', or pretrained:NAME_OR_PATH."


@dataclass(frozen=True, kw_only=True)
class Discrepancy(Computing):
    """Measure the discrepancy of two models from their own probabilities, without classifier or real text."""

    model_p: Annotated[str, Argument(metavar="MODEL_P", help=_MODEL)]
    model_q: Annotated[str, Argument(metavar="MODEL_Q", help="The other one.")]
    sentences: Annotated[
        int, option("Sentences drawn from each model.", "N", names=("-n", "--sentences")), Between(2)
    ] = 10_000
    temperature_p: Annotated[float, option("Temperature of MODEL_P, above 0.", "T"), Above(0)] = 1.0
    temperature_q: Annotated[float, option("Temperature of MODEL_Q, above 0.", "T"), Above(0)] = 1.0
    level: Level = 0.95
    seed: Seed = 0
    out: Annotated[Path | None, option("Write results, log-ratios.npz and a report here.", "DIR")] = None
    json: Json = False
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000

    def run(self) -> int:
        """Draw from both models, score both draws with both, print the estimates, and return 0."""
        import numpy as np

        from textassay.storage import Content
        from textassay_lab.cli.models import open_model
        from textassay_lab.meta_evaluation.discrepancy_document import discrepancy_document
        from textassay_lab.meta_evaluation.model_discrepancy import discrepancy

        if self.out is not None:
            check_writable(self.out)
        with self.computing():
            p, q = open_model(self.model_p), open_model(self.model_q)
            temperatures = (self.temperature_p, self.temperature_q)
            estimates = discrepancy(p, q, n=self.sentences, temperatures=temperatures, level=self.level, seed=self.seed)
        names = {"model_p": self.model_p, "model_q": self.model_q}
        values = {**names, "tokenizer": p.form.tokenizer.name, **estimates.to_dict()}
        document = discrepancy_document(estimates)
        log_ratios = dict(zip("pq", estimates.log_ratios, strict=True))
        contents: dict[str, Content] = {
            "discrepancy.json": json.dumps(values, indent=1, allow_nan=False),
            "log-ratios.npz": lambda file: np.savez(file, **cast(Any, log_ratios)),
        }
        with then(lambda: save_result(self.out, document, "discrepancy", contents, quiet=self.quiet)):
            print_result(document, values, as_json=self.json)
        return 0
