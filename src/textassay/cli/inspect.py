"""``textassay inspect``: find what is trivially different between the texts, before anything is measured."""

import warnings
from dataclasses import dataclass

from textassay.cli.declarations import Config, Generators, Output, Real, Tokens, Train
from textassay.cli.options import check_sources, parse_generators
from textassay.cli.results import print_and_save
from textassay.settings import MaxTokens, Normalize

TRAIN = "--train"


@dataclass(frozen=True, kw_only=True)
class Inspect(Tokens, Output):
    """Find what is trivially different between the texts, before anything is measured."""

    generators: Generators = None
    real: Real
    train: Train = None
    normalize: Normalize = False
    max_tokens: MaxTokens = None
    config: Config = None

    def run(self) -> int:
        generators = parse_generators(self.generators or [])
        others = {**({} if self.train is None else {TRAIN: self.train}), **generators}
        check_sources(self.real, others, {TRAIN: "name what the generators were trained on, or leave it out"})

        from textassay.comparison.comparison import FLOOR
        from textassay.corpus.corpus import corpora_from_texts
        from textassay.corpus.texts import read_texts
        from textassay.corpus.tokenizer import SpacingWarning
        from textassay.inspection.document import inspection_document
        from textassay.inspection.inspection import inspect

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpacingWarning)  # the findings say it
            corpora = corpora_from_texts(
                {name: read_texts(source, column=self.column) for name, source in {FLOOR: self.real, **others}.items()},
                tokenizer=self.tokenizer,
                lowercase=self.lowercase,
                normalize=self.normalize,
                max_tokens=self.max_tokens,
            )
        generated = {name: corpora[name] for name in generators}
        findings = inspect(generated, corpora[FLOOR], train=corpora.get(TRAIN))
        values = {"findings": [finding.to_dict() for finding in findings]}
        print_and_save(inspection_document(findings), values, "inspection", out=self.out, as_json=self.json)
        return 0
