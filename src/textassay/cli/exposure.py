"""``textassay exposure``."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

from typer import Option

from textassay.cli.adapter import Between
from textassay.cli.declarations import (
    Computing,
    Files,
    Json,
    Level,
    Model,
    Out,
    Precision,
    Seed,
)
from textassay.cli.messages import not_saved, print_line
from textassay.cli.options import check_writable
from textassay.errors import InputError, OptionError, TooFewSentencesError, unknown_name

if TYPE_CHECKING:
    from textassay.cli.models import Opened
    from textassay.corpus import Corpus
    from textassay.exposure import ChosenLengths, ExposureSettings, Keep

VALUES = "values"  # the folder under --out
_BLEU_RUNS, _ORACLE_RUNS = 10, 5
_DATA = "data"


@dataclass(frozen=True, kw_only=True)
class Exposure(Files, Computing):
    """Measure exposure bias: how much worse a language model continues its own words than real ones."""

    model: Model
    real: Annotated[str, Option(metavar="FILE", help="Real text the model never saw; '-' is standard input.")]
    lengths: Annotated[
        str | None,
        Option(metavar="LIST", help="Lengths of prefixes in tokens, such as 5,10,15; as the text allows by default."),
    ] = None
    oracle: Annotated[
        str | None,
        Option(metavar="MODEL", help="Model that stands for the data: EB-C takes its next-word probabilities as true."),
    ] = None
    prefixes: Annotated[
        str,
        Option(metavar="LIST", help="Kinds to compare with data: model, shuffled, random, corrupted:0.1 (a share)."),
    ] = "data,model,shuffled"
    samples: Annotated[
        int,
        Option(metavar="N", help="Continuations in a run, at most for half of the text; for EB-C, sequences."),
        Between(1),
    ] = 10_000
    runs: Annotated[
        int | None,
        Option(metavar="R", help="Runs, each with fresh draws; 10 for EB-bleu, 5 for EB-C by default."),
        Between(1),
    ] = None
    sentence_length: Annotated[
        int | None,
        Option(
            metavar="L", help="Tokens of all sentences; by default what half of them have, or 50; others are left out."
        ),
        Between(4),
    ] = None
    blocks: Annotated[bool, Option("--blocks", help="The file is running text: cut it into blocks of L tokens.")] = (
        False
    )
    distances: Annotated[str, Option(metavar="LIST", help="Distances for EB-C: tv, js, greedy, kl.")] = "tv,js,greedy"
    ends: Annotated[str, Option(metavar="HOW", help="excluded: no sentence ends; absorbing: the end is a word.")] = (
        "excluded"
    )
    eb_dd: Annotated[bool, Option("--eb-dd", help="Also measure EB-DD, with a classifier; some seconds a length.")] = (
        False
    )
    show: Annotated[int, Option(metavar="N", help="Example sentences to show for each kind of prefix."), Between(0)] = 3
    level: Level = 0.95
    seed: Seed = 0
    out: Out = None
    precision: Precision = "float32"
    json: Json = False

    def run(self) -> int:
        """Measure, print what came of it, write it where asked, and return 0."""
        from rich.console import Console

        from textassay.cli.models import set_precision
        from textassay.cli.progress import show_progress
        from textassay.exposure import measure_exposure
        from textassay.report import render_exposure, write_exposure

        settings, lengths = self._settings()
        file = self.read_file(self.real)
        with show_progress(quiet=self.quiet) as progress, self.computing():
            opened = _opened(self.model)
            oracle = None if self.oracle is None else _opened(self.oracle)
            for side in (opened, oracle):
                if side is not None:
                    set_precision(side, self.precision)
            if oracle is not None:
                self._check_vocabularies(opened, oracle)
            text, chosen = self._text(opened, opened.form.corpus(file), lengths)
            found = measure_exposure(
                opened.model,
                text,
                chosen,
                settings,
                oracle=None if oracle is None else oracle.model,
                keep=self._keep(opened, oracle, text),
                progress=progress,
            )
        named = {"model": self.model, "real": self.real, "oracle": self.oracle, "blocks": self.blocks}
        document = {**found.to_dict(), "command": {**named, "precision": self.precision}}
        if self.json:
            json.dump(document, sys.stdout, indent=1, allow_nan=False)
            print()
        else:
            render_exposure(found, Console())
        if self.out is not None:
            with not_saved():
                written = write_exposure(found, document, self.out)
            if not self.quiet:
                print_line(f"wrote {', '.join(map(str, written))}")
        return 0

    def _settings(self) -> "tuple[ExposureSettings, tuple[int, ...] | None]":
        """Return what to measure and the lengths of prefixes; raise for whatever is wrong before anything is read."""
        from textassay.exposure import DISTANCES, Distance, ExposureSettings, parse_kind
        from textassay.generator import Ends, check_ends

        check_ends(self.ends)
        kinds = _listed("--prefixes", self.prefixes)
        for kind in kinds:
            parse_kind(kind)
        others = tuple(kind for kind in kinds if kind != _DATA)
        if not others:
            raise OptionError("--prefixes names nothing to compare those of the data with: add model")
        distances = _listed("--distances", self.distances)
        for name in distances:
            if name not in DISTANCES:
                raise unknown_name("distance", name, DISTANCES)
        if self.out is not None:
            check_writable(self.out)
        return (
            ExposureSettings(
                kinds=others,
                n=self.samples,
                bleu_runs=self.runs or _BLEU_RUNS,
                oracle_runs=self.runs or _ORACLE_RUNS,
                distances=cast(tuple[Distance, ...], distances),
                ends=cast(Ends, self.ends),
                with_dd=self.eb_dd,
                n_shown=self.show,
                level=self.level,
                seed=self.seed,
            ),
            None if self.lengths is None else _lengths(self.lengths),
        )

    def _check_vocabularies(self, opened: "Opened", oracle: "Opened") -> None:
        own, other = (set(side.form.vocabulary.tokens) for side in (opened, oracle))
        if own != other:
            raise OptionError(
                f"{self.model} and its oracle {self.oracle} have different vocabularies, of {len(own)} and "
                f"{len(other)} tokens, {len(own & other)} in both: "
                f"train with --like {self.oracle}, on text that it drew"
            )

    def _text(
        self, opened: "Opened", corpus: "Corpus", lengths: tuple[int, ...] | None
    ) -> "tuple[Corpus, ChosenLengths]":
        """Return the sentences or blocks to measure on, and the lengths; raise where the model knows them already."""
        from textassay.continuation import blocks
        from textassay.exposure import LONGEST, choose_lengths
        from textassay.generator import Ends, tokens_in

        tokens_in(opened.form.vocabulary, corpus, generator=opened.model.name)  # raises where a sentence holds <eos>
        if corpus.unk_rate == 1:
            raise InputError(
                f"{self.model} knows no token of {self.real}: give text in its language, tokenised as what it learnt"
            )
        self._check_unseen(opened, corpus)
        size = self.sentence_length
        if self.blocks:
            size = LONGEST if size is None else size
            corpus = blocks(corpus, size)
        elif len(corpus) == 1:
            raise TooFewSentencesError(
                f"{self.real} is one sentence, of {len(corpus.tokens)} tokens: at least 2 are needed, for a prefix and "
                "for a reference; is it running text? then add --blocks"
            )
        return corpus, choose_lengths(corpus, lengths, size, ends=cast(Ends, self.ends))

    def _check_unseen(self, opened: "Opened", corpus: "Corpus") -> None:
        """Raise where the text is, or begins with, what the model was trained on, as far as its folder tells."""
        import numpy as np

        record = opened.document.get("training", {})
        seen = record.get("train") or {}
        n_seen = seen.get("sentences", 0)
        told = (
            f"what {self.model} was trained on: give text that it never saw, since what it learnt by heart reads well"
        )
        if corpus.fingerprint == seen.get("fingerprint"):
            raise InputError(f"{self.real} is {told}")
        if 0 < n_seen < len(corpus) and corpus.take(np.arange(n_seen)).fingerprint == seen.get("fingerprint"):
            raise InputError(f"the first {n_seen} of {len(corpus)} sentences of {self.real} are {told}")
        if corpus.fingerprint == (record.get("valid") or {}).get("fingerprint") and not self.quiet:
            print_line(f"warning: {self.real} decided when the training of {self.model} stopped: other text is better")

    def _keep(self, opened: "Opened", oracle: "Opened | None", text: "Corpus") -> "Keep | None":
        """Return what keeps cells under --out, by the content they were computed from."""
        from importlib.metadata import version

        from textassay.comparison import EstimateStore, estimate_key

        if self.out is None:
            return None
        store = EstimateStore(self.out / VALUES)
        identities = [_identity(opened, self.model)]
        if oracle is not None:
            identities.append(_identity(oracle, str(self.oracle)))

        def keep(settings: Mapping[str, Any], make: Callable[[], Any]) -> Any:
            # EB-bleu knows no oracle, EB-C no text: what they do not depend on is left out of their keys
            of_bleu = settings["measure"] == "EB-bleu"
            known = identities[:1] if of_bleu else identities
            read = text.fingerprint if settings["measure"] != "EB-C" else ""
            key = estimate_key(version("textassay"), *known, read, self.precision, json.dumps(settings, sort_keys=True))
            document = store.load_document(key)
            if document is None:
                document = make()
                store.save_document(key, document)
            return document

        return keep


def _lengths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in _listed("--lengths", text))
    except ValueError:
        raise OptionError(f"cannot read --lengths '{text}': write whole numbers, such as 5,10,15") from None


def _listed(option: str, text: str) -> tuple[str, ...]:
    parts = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not parts:
        raise OptionError(f"{option} names nothing")
    return parts


def _opened(name: str) -> "Opened":
    from textassay.cli.models import open_model
    from textassay.exposure import NotForTranslationError, check_not_translation

    opened = open_model(name)
    try:
        check_not_translation(opened.model)
    except NotForTranslationError as error:
        told = "'textassay translate --prefix-mode' shows what it makes of forced beginnings"
        raise NotForTranslationError(f"{error}; {told}") from None
    return opened


def _identity(opened: "Opened", given: str) -> str:
    """Return what tells a model from every other: what is in its folder, or, without one, what names it."""
    if not opened.document:
        return json.dumps([given, opened.model.name])
    known = {name: opened.document[name] for name in ("kind", "settings", "checksum", "vocabulary")}
    return json.dumps(known, sort_keys=True)
