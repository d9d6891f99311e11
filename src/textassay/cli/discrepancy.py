"""``textassay discrepancy``."""

import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated

from typer import Argument

from textassay.cli.adapter import Between, option
from textassay.cli.declarations import Above, Computing, Json, Level, MaxInput, MaxText, Seed
from textassay.cli.messages import not_saved, print_json, print_line
from textassay.cli.options import check_writable

_MODEL = "A folder written by 'train', or pretrained:NAME_OR_PATH."


@dataclass(frozen=True, kw_only=True)
class Discrepancy(Computing):
    """Measure how far apart two models are by their own probabilities, without classifier or real text."""

    model_p: Annotated[str, Argument(metavar="MODEL_P", help=_MODEL)]
    model_q: Annotated[str, Argument(metavar="MODEL_Q", help="The other one.")]
    sentences: Annotated[
        int, option("Sentences drawn from each model.", "N", names=("-n", "--sentences")), Between(2)
    ] = 10_000
    temperature_p: Annotated[float, option("Temperature of MODEL_P, above 0.", "T"), Above(0)] = 1.0
    temperature_q: Annotated[float, option("Temperature of MODEL_Q, above 0.", "T"), Above(0)] = 1.0
    level: Level = 0.95
    seed: Seed = 0
    out: Annotated[Path | None, option("Write discrepancy.json and log-ratios.npz here.", "DIR")] = None
    json: Json = False
    max_input: MaxInput = "4GB"
    max_text: MaxText = 1_000_000

    def run(self) -> int:
        """Draw from both models, score both draws with both, print the estimates, and return 0."""
        import numpy as np
        from rich.console import Console

        from textassay.cli.models import open_model
        from textassay.one_call import discrepancy
        from textassay.report import render_discrepancy, write_whole

        if self.out is not None:
            check_writable(self.out)
        with self.computing():
            p, q = open_model(self.model_p), open_model(self.model_q)
            temperatures = (self.temperature_p, self.temperature_q)
            estimates = discrepancy(p, q, n=self.sentences, temperatures=temperatures, level=self.level, seed=self.seed)
        names = {"model_p": self.model_p, "model_q": self.model_q}
        document = {**names, "tokenizer": p.form.tokenizer.name, **estimates.to_dict()}
        if self.json:
            print_json(document)
        else:
            render_discrepancy(estimates, Console())
        if self.out is not None:
            buffer = BytesIO()
            np.savez(buffer, p=estimates.log_ratios[0], q=estimates.log_ratios[1])
            document_text = json.dumps(document, indent=1, allow_nan=False)
            with not_saved():
                written = write_whole(
                    self.out, {"discrepancy.json": document_text, "log-ratios.npz": buffer.getvalue()}
                )
            if not self.quiet:
                print_line(f"wrote {', '.join(map(str, written))}")
        return 0
