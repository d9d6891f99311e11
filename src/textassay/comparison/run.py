"""Compare generators with real text: inspection, every metric, the floor, the pairs and the ranks.

The main values use all text. Beside them stands the floor: one half of the real text measured as if it were generated,
against the other half, which is what text that cannot be told from real text scores. Most metrics depend on the
number of texts, so each generator is also measured at that size and against that same half. The generators' training
text, if given, has its own row: what a generator that learnt it perfectly would score.

A row depends on the real text, its own text and columns, and the settings, never on the other rows.
"""

from __future__ import annotations  # so that `help(textassay.compare)` shows types by their names

import math
import operator
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from textassay.comparison.caveats import (
    MATCHED,
    heldout_differs,
    language_unknown,
    learns_english_alone,
    mixed_log_probs,
    of_documents,
    supported,
    train_differs,
    unequal_sizes,
    unlike_clusters,
)
from textassay.comparison.columns import SideColumns, attach_columns, columns_of, has_own_columns
from textassay.comparison.comparison import FIT_REAL, FLOOR, TRAIN, Comparison, RealText, Result
from textassay.comparison.drawing import Drawn, answered, asked_endpoints, split_prompts
from textassay.comparison.drawn_texts import draw_beside, encode_all, least_for_dd, open_sources
from textassay.comparison.equivalence import Margins, checked_margins, equivalence_of
from textassay.comparison.explanation import Explanation
from textassay.comparison.floor import in_random_order, real_halves
from textassay.comparison.measure import Cell, EstimateStore, Progress, Task, check_same_settings, measure_cells
from textassay.comparison.pairs import pair_differences, rank_intervals
from textassay.comparison.sources import Source, check_beside
from textassay.corpus.corpus import Corpus, Texts, corpora_from_texts
from textassay.corpus.groups import PROMPTS, with_prompts, with_shared_ids
from textassay.corpus.kept_texts import kept_texts, no_texts_of_refused_input
from textassay.corpus.named_texts import named_texts
from textassay.corpus.structure import AUTO_UNIT, TextUnit, check_unit, unit_of
from textassay.corpus.text_file import TextFile
from textassay.corpus.texts import as_texts, is_stream
from textassay.corpus.tokenizer import AUTO, SpacingWarning, Tokenizer
from textassay.embedding.encoder import Encoder
from textassay.embedding.store import feature_store
from textassay.errors import EmptyCorpusError, InputError, OptionError, TooFewSentencesError, check_range
from textassay.execution.progress import shows_progress
from textassay.inspection.checks import prompt_findings, prompts_unused
from textassay.inspection.dependence import Examined, Independence, shared_ids
from textassay.inspection.finding import HELDOUT, REAL, Finding
from textassay.inspection.inspection import inspect, reading_findings
from textassay.metric.base import Effort, Metric, check_level
from textassay.metric.catalog import MetricLike, default_metrics, drawn_where_large, parse_metrics, size_sensitive_of
from textassay.seeding import stream
from textassay.settings import FOLDS, Comparing
from textassay.storage import ENCODED_TEXTS, with_output_folder

_REMEDIES = {
    HELDOUT: "give other real text, or leave it out",
    TRAIN: "compare with real text that the generators have not seen",
}


@shows_progress
@with_output_folder
def compare(
    generated: Texts | Source | Mapping[str, Texts | Source],
    real: Texts,
    *,
    by: str | None = None,
    column: str | None = None,
    real_heldout: Texts = None,
    train: Texts = None,
    fit_real: Texts = None,
    prompts: Texts | Mapping[str, Texts] = None,
    metrics: Sequence[MetricLike] | None = None,
    tokenizer: str | Tokenizer = AUTO,
    lowercase: bool = False,
    normalize: bool = False,
    max_tokens: int | None = None,
    features: Mapping[str, npt.ArrayLike] | None = None,
    log_probs: SideColumns | None = None,
    own_log_probs: bool = True,
    ratings: SideColumns | None = None,
    encoder: str | Encoder | None = None,
    effort: Effort = "default",
    paper: bool = False,
    prior: str | None = None,
    unit: str = AUTO_UNIT,
    explain: bool = True,
    draw: int | None = None,
    folds: int = FOLDS,
    level: float = 0.95,
    equivalent: Margins | None = None,
    independent: bool = False,
    seed: int = 0,
    workers: int | None = None,
    device: str = "auto",
    out: Path | str | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Return how far each generator's text is from the real text, by every metric, with what can be said of the order.

    Parameters
    ----------
    generated
        Generator name to its sentences: a list of str, a column (pandas, polars, Arrow, `datasets`), a table with one
        column of text, the path of a file, what `read_texts` returned, or a `Corpus`. Or a generator that draws them:
        an object with ``sample(n, seed=)``, such as those of `textassay.generators`, the folder of a model,
        ``pretrained:NAME`` or ``command:SHELL COMMAND``. Texts or a generator without a name are called "generated".
        Or one table (or its path) with the texts of all, see `by`.
    real
        Real sentences, in the same forms; with `by`, the source of the real ones in that table.
    by
        The column that says who wrote each text of the one table `generated`: each value but `real` is a generator.
        Then `prompts` may name the column of the prompts.
    column
        With `by`, the column of the texts; by default as in `read_texts`.
    real_heldout
        More real sentences, from another draw: a second row of what real text scores.
    train
        The sentences the generators were trained on, to find memorised ones; for dd, a third side from which it learns
        how far a text leaves them; and a row of reference, for which as many of them are drawn as there are real ones.
    fit_real
        More real sentences of the same kind, from which dd learns and on which it is not tested.
    prompts
        What each text answers: a list, where all sides answer the same prompts in the same order, or name to list, the
        real text under ``real``. By default those that the texts came with, such as chat JSONL. Then `conditional_dd`
        is the first metric, intervals are over prompts, and real answers are compared with other real answers to the
        same prompts for the floor.
    metrics
        Names such as ``dd`` or ``bleu(order=4)``; ``detectors`` stands for all detectors of machine text. Where none is
        given, `DEFAULT_METRICS` and those that need `train`, `log_probs` or `ratings`, where these are given.
    tokenizer, lowercase, normalize, max_tokens
        What is done to all texts alike before they are measured: `normalize`, then lower case, then the tokeniser,
        then cutting sentences after `max_tokens` tokens. The tokeniser ``auto`` is white space, or characters where the
        words of the real text are not parted by spaces; a finding says so.
    features, log_probs, ratings
        What comes with the sentences; see `textassay.comparison.columns.attach_columns`.
    own_log_probs
        Whether to use the log-probabilities of generators that are models. They are used only where there are such of
        all generators, since dd with them is not comparable to dd without.
    encoder
        Of the embedding metrics: a name, the folder of a sentence-transformers model, or an `Encoder`; by default
        ``given`` where there are `features`, else ``lsa+lm``.
    effort
        ``quick``, ``default`` or ``max``: how long to work for precision. Decides which discriminators dd fits and
        chooses from (for 20,000 sentences a side they take about 3 s, 20 s and 5 min), how many clusterings mauve
        averages, and how often the learning curve halves the text (once but for ``default``).
    paper
        Whether dd follows the paper to the letter: its network, one split, threshold one half.
    prior
        What dd knows of the language beside the texts: ``smollm2`` or ``pretrained:MODEL``, a language model that reads
        each text (the extra ``prior-lm``), ``english``, counts of words and pairs of words (``prior``), or ``auto``:
        ``smollm2`` where it is installed, the text is English and reading takes minutes.
    unit
        ``sentence``, ``document``, or ``auto``: documents where a fifth of the real texts have a line break inside or
        half of them 1,000 characters. Of documents, dd sees the structure, explanations name it, and metrics that are
        made for sentences are computed only if they are named; a warning says so.
    explain
        Whether to say what gives each generator away, where dd is among the metrics; see
        `textassay.comparison.explain`. For too little text a warning says why not.
    draw
        How many texts to draw from each generator that is no text, at least 2, for dd 10 a fold (50 for one split); by
        default as many as there are real ones.
    folds
        Cross-fitting folds of the trained metrics; 1 tests a tenth of the text once.
    level
        Of intervals and, as 1 - `level`, of significance, inside (0, 1).
    equivalent
        The largest dd that does not matter, such as 0.1, or metric to margin, ``{"dd": 0.1, "bleu(order=4)": 0.02}``,
        which is of the difference from real text for metrics other than dd: then `Comparison.equivalence` has PASS,
        FAIL or INCONCLUSIVE for each generator.
    independent
        Whether to take texts for independent draws without a look at them. By default they are examined: where nearest
        neighbours are of opposite sides too often, or the real text repeats itself, a text and its neighbours are one
        unit of folds and errors, and where that is not enough, dd has no value and the generator has no rank.
    seed
        At least 0; the same seed gives the same numbers with any number of workers.
    workers
        Threads; all processors where None.
    device
        Where networks run: ``auto`` (a GPU where there is one), ``cpu``, or PyTorch's name, such as ``cuda:1``.
    out
        Folder in which estimates are kept, so that the same call resumes and another generator or metric is added
        without computing the rest again. Where it holds the report of another real text or of other settings, nothing
        is done. An address, such as ``s3://bucket/folder``, will do.
    progress
        Called with a label, the number of steps done and their total. By default, a terminal or a notebook shows a line
        once it takes longer than two seconds.

    Raises
    ------
    InputError
        If a text is empty or too short, a generator's text is the real text itself, or an array does not fit; or if
        `out` holds results of another real text or of other settings.
    OptionError
        If a setting is unknown or out of range.
    """
    prompt_column = prompts if by is not None and isinstance(prompts, str) else None
    generated, real = named_texts(generated, real, by=by, column=column, prompt_column=prompt_column)
    prompts = None if prompt_column is not None else prompts
    settings = Comparing(
        tokenizer=tokenizer,
        lowercase=lowercase,
        normalize=normalize,
        max_tokens=None if max_tokens is None else _whole("max_tokens", max_tokens, at_least=1),
        independent=independent,
        draw=None if draw is None else _whole("draw", draw, at_least=2),
        no_log_probs=not own_log_probs,
        metrics=metrics,
        encoder=encoder,
        effort=effort,
        paper=paper,
        prior=prior,
        unit=unit,
        explain=explain,
        folds=_whole("folds", folds, at_least=1),
        level=level,
        equivalent=equivalent,
        seed=_whole("seed", seed, at_least=0),
        workers=workers,
        device=device,
    )
    return compare_texts(
        generated,
        {FLOOR: real, HELDOUT: real_heldout, TRAIN: train, FIT_REAL: fit_real},
        settings,
        prompts=prompts,
        beside={"features": features, "log_probs": log_probs, "ratings": ratings},
        out=None if out is None else Path(out),
        progress=progress,
    )


@no_texts_of_refused_input()
def compare_texts(
    generated: Mapping[str, Texts | Source],
    given: Mapping[str, Texts],
    settings: Comparing,
    *,
    prompts: Texts | Mapping[str, Texts] = None,
    beside: Mapping[str, Any],
    out: Path | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare as `compare` does.

    `given`: the texts that are not generated, by the names of `textassay.comparison.comparison`; `beside`: the
    ``features``, ``log_probs`` and ``ratings``.
    """
    _check_options(generated, settings)
    real = given[FLOOR]
    real = real if isinstance(real, Corpus) else as_texts(real, FLOOR, progress=progress)  # read once
    given = {**given, FLOOR: real}
    told_of_answers: list[str] = []
    if isinstance(real, TextFile):
        real, prompts = split_prompts(prompts, real, generated)
        endpoints = asked_endpoints(generated, real.prompts, out)
        answers, told_of_answers = answered(endpoints, seed=settings.seed, progress=progress)
        generated = {name: answers.get(name, source) for name, source in generated.items()}
        given[FLOOR] = real
    sources = open_sources(generated, settings.draw)
    check_beside(sources, beside)
    order = (FLOOR, HELDOUT, TRAIN, *generated, FIT_REAL, PROMPTS)
    files = {name: source for name, source in generated.items() if name not in sources}
    texts = {name: source for name in order if (source := {**given, **files}.get(name)) is not None}
    streams = {name: source for name, source in texts.items() if is_stream(source)}
    texts |= {name: as_texts(source, name, progress=progress) for name, source in streams.items()}
    texts = _prompted(texts, prompts, sources)
    shared_id = ""
    if not settings.independent:
        texts, shared_id = with_shared_ids(texts, FLOOR, (HELDOUT, *files))
    real = texts[FLOOR]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpacingWarning)  # the findings say it
        if sources:
            encoded = encode_all(texts, settings.text, out)
            corpora = encoded.corpora(texts)
        else:
            with kept_texts(None if out is None else out / ENCODED_TEXTS):
                corpora = corpora_from_texts(texts, **settings.text)
    settings, no_prior = _with_chosen_prior(settings, corpora)
    prepared = _prepare(corpora, real, files, beside, settings, out)  # refuses before anything is drawn
    drawn = Drawn((), {}, {}, ())
    if sources:
        if FIT_REAL in corpora:
            _check_fit_real(inspect({}, prepared.real, fit_real=corpora[FIT_REAL], independent=True))
        has_dd = any(metric.declaration.name == "dd" for metric in prepared.metrics)
        least = least_for_dd(settings.n_folds) if has_dd else 2
        with settings.computing():
            drawn = draw_beside(
                sources, encoded, settings, named=generated, real=real.texts,
                least=least if len(real.texts) >= least else 2, with_log_probs=tuple(beside["log_probs"] or ()),
                out=out, progress=progress,
            )  # fmt: skip
        beside = {**beside, "log_probs": {**(beside["log_probs"] or {}), **drawn.log_probs} or None}
        corpora = encoded.corpora([name for name in order if name in texts or name in sources])
        prepared = _prepare(corpora, real, generated, beside, settings, out)
    chosen, corpora = prepared.metrics, prepared.corpora
    real_corpus, heldout, train_corpus = corpora[FLOOR], corpora.get(HELDOUT), corpora.get(TRAIN)
    rows = {name: corpora[name] for name in generated}
    references = {name: corpora[name] for name in (HELDOUT, TRAIN) if name in corpora}
    more: Any = {"train": train_corpus, "heldout": heldout, "fit_real": corpora.get(FIT_REAL)}
    findings: list[Finding] = inspect(rows, real_corpus, independent=True, **more)  # of dependent texts, see below
    _check_fit_real(findings)
    if PROMPTS in corpora:
        findings += prompt_findings(corpora[PROMPTS], real_corpus, rows)
    elif unused := [name for name, source in texts.items() if isinstance(source, TextFile) and source.prompts]:
        findings.append(prompts_unused(unused, list(texts)))
    findings += reading_findings(texts)
    if train_corpus is not None:
        references[TRAIN] = part_of_train(train_corpus, len(real_corpus), settings.seed)
    examined = Independence.of(real_corpus, {**references, **rows}, independent=settings.independent)
    if learns_english_alone(chosen, real_corpus, rows.values()):
        findings.append(language_unknown(len(real_corpus)))
    findings = [*examined.findings(rows), *([shared_ids(shared_id)] if shared_id else []), *findings]
    trained_on, not_learnt_from = train_corpus, []
    why_not = (
        "too many real texts occur in it"
        if real_in_train(findings)
        else "real texts depend on it"
        if TRAIN in references and examined.texts[TRAIN].dependence.is_found
        else ""
    )
    if why_not and any(metric.settings.get("trained_on") is not None for metric in chosen):
        trained_on = None
        chosen = [metric.without("trained_on") for metric in chosen]
        not_learnt_from.append(f"dd did not learn from the training text, since {why_not}")
    drawn_from = {name: len(corpora[name]) for name, part in references.items() if len(part) < len(corpora[name])}
    tasks, floors = tasks_of(real_corpus, examined, settings.seed, metrics=chosen, by_prompt=PROMPTS in corpora)
    version = installed_version("textassay")
    with (
        settings.computing(),
        feature_store(None if out is None else out / "features"),
        EstimateStore(None if out is None else out / "estimates") as store,
    ):
        if readers := {_reader(metric) for metric in chosen if metric.settings.get("prior") is not None}:
            from textassay.prior.catalog import read_beforehand

            read = [real_corpus, *rows.values(), *references.values()]
            read += [corpora[FIT_REAL]] if FIT_REAL in corpora else []
            for prior, is_prompted in sorted(readers):
                read_beforehand(prior, read, corpora.get(PROMPTS) if is_prompted else None, progress)
        explanations: tuple[Explanation, ...] = ()
        unexplained: tuple[str, ...] = ()
        if settings.explain and any(metric.declaration.name == "dd" for metric in chosen):
            from textassay.comparison.explain import explain_generators  # loads the classifiers

            explanations, unexplained = explain_generators(
                {name: examined.texts[name] for name in rows},
                settings.of_dd(
                    fit_real=corpora.get(FIT_REAL),
                    trained_on=trained_on,
                    prompts=corpora.get(PROMPTS),
                    encoder=settings.encoder,
                    unit=prepared.unit,
                ),
                seed=settings.seed,
                store=store,
                version=version,
                progress=progress,
            )
        cells = measure_cells(
            chosen,
            tasks,
            seed=settings.seed,
            store=store,
            strict=settings.metrics is not None,
            version=version,
            progress=progress,
        )
    results, pairs, ranks = [], [], []
    for metric in chosen:
        rows_of_metric = [
            _result(metric, name, cells, floors, drawn_from.get(name)) for name in (FLOOR, *references, *generated)
        ]
        of_generators = rows_of_metric[-len(generated) :]
        of_pairs = pair_differences(of_generators, level=settings.level)
        results += rows_of_metric
        pairs += of_pairs
        ranks += rank_intervals(of_generators, of_pairs, level=settings.level)
    return Comparison(
        version=version,
        real=prepared.real_text,
        generators=tuple(generated),
        metrics=tuple(metric.name for metric in chosen),
        results=tuple(results),
        pairs=tuple(pairs),
        ranks=tuple(ranks),
        findings=tuple(findings),
        warnings=(
            *supported(
                _warnings(cells, results, tasks, alpha=1 - settings.level, size_sensitive=size_sensitive_of(chosen)),
                results,
            ),
            *prepared.warnings,
            *no_prior,
            *not_learnt_from,
            *unexplained,
            *drawn.warnings,
            *told_of_answers,
        ),
        level=settings.level,
        seed=settings.seed,
        explanations=explanations,
        settings=prepared.recorded,
        texts={name: corpus.texts for name, corpus in corpora.items() if name != PROMPTS},
        draws=drawn.draws,
        floor_groups=_floor_groups(tasks[0]),
        equivalence=equivalence_of(
            [result for result in results if result.generator in generated], prepared.margins, level=settings.level
        ),
    )


@dataclass(frozen=True)
class _Prepared:
    """The texts of a comparison as corpora, its metrics, and what results say of its settings."""

    corpora: dict[str, Corpus]
    metrics: list[Metric]
    margins: dict[str, float]  # of metrics by name
    real_text: RealText
    recorded: dict[str, Any]
    unit: TextUnit
    warnings: tuple[str, ...]

    @property
    def real(self) -> Corpus:
        return self.corpora[FLOOR]


def _prepare(
    corpora: Mapping[str, Corpus],
    real: Corpus | TextFile,
    generated: Iterable[str],
    beside: Mapping[str, Any],
    settings: Comparing,
    out: Path | None,
) -> _Prepared:
    """Return the corpora with their columns, and the metrics; raise for what cannot be compared."""
    corpora = attach_columns(corpora, generated, **beside)
    unit = unit_of(corpora[FLOOR], settings.unit)
    extras = {
        "train": corpora.get(TRAIN),
        "log-probs": beside["log_probs"],
        "ratings": beside["ratings"],
        "prompts": None if settings.paper else corpora.get(PROMPTS),  # the paper judges texts alone
    }
    has_features = bool(beside["features"])
    available = [name for name, value in extras.items() if value is not None]
    of_metrics = settings.of_metrics(has_features=has_features)
    chosen = parse_metrics(
        default_metrics(available, unit=unit) if settings.metrics is None else settings.metrics,
        train=corpora.get(TRAIN),
        trained_on=corpora.get(TRAIN),
        fit_real=corpora.get(FIT_REAL),
        prompts=corpora.get(PROMPTS),
        unit=unit,
        **of_metrics,
    )
    margins = checked_margins(settings.equivalent, (metric.name for metric in chosen), of_metrics)
    if unit == "document" and any(metric.declaration.name == "dd" for metric in chosen):
        from textassay.discriminator.structure import with_structure  # loads the classifiers

        corpora = {name: with_structure(corpus) for name, corpus in corpora.items()}  # once for all its parts
    if settings.metrics is None:
        chosen = drawn_where_large(chosen, max(map(len, corpora.values())))
    real_corpus = corpora[FLOOR]
    names = [name for name in (HELDOUT, TRAIN, *generated) if name in corpora]
    _check_corpora(real_corpus, {name: corpora[name] for name in names})
    real_text = RealText.of(real_corpus, _name_of(real))
    recorded = {
        "tokenizer": real_corpus.tokenizer,
        **settings.recorded(unit=unit, has_features=has_features),
        **{
            name: corpora[source].fingerprint
            for name, source in (("fit_real", FIT_REAL), ("prompts", PROMPTS), ("train", TRAIN))
            if source in corpora
        },
    }
    if out is not None:
        check_same_settings(out, real=real_text, level=settings.level, seed=settings.seed, settings=recorded)
    warned = of_documents(chosen, left_out=settings.metrics is None) if unit == "document" else []
    return _Prepared(corpora, chosen, margins, real_text, recorded, unit, tuple(warned))


def _reader(metric: Metric) -> tuple[str, bool]:
    """Return the prior of a metric, and whether it reads texts after their prompts."""
    return metric.settings["prior"], metric.settings.get("prompts") is not None


def _with_chosen_prior(settings: Comparing, corpora: Mapping[str, Corpus]) -> tuple[Comparing, list[str]]:
    """Return the settings with what the prior ``auto`` stands for, and why that is none."""
    if settings.prior is None:
        return settings, []
    from textassay.prior.catalog import chosen_prior

    real, others = corpora[FLOOR], [corpus for name, corpus in corpora.items() if name != FLOOR]
    prior, why_not = chosen_prior(settings.prior, real, *others)
    return replace(settings, prior=prior), [f"--prior auto stands for none: {why_not}"] * bool(why_not)


def _check_options(generated: Mapping[str, Any], settings: Comparing) -> None:
    if not generated:
        raise OptionError("generated must name at least one generator, got none")
    for name in generated:
        if name in ("", HELDOUT, TRAIN, FIT_REAL) or name.startswith(FLOOR) or name.endswith(MATCHED):
            raise OptionError(f"a generator must not be named '{name}'")
    check_level(settings.level)
    check_unit(settings.unit)
    if isinstance(settings.metrics, str):
        raise OptionError(f"metrics must be a list of names, such as [{settings.metrics!r}], got a str")


def _whole(name: str, value: Any, *, at_least: int) -> int:
    """Return `value`, any kind of whole number, as an int."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise OptionError(f"{name} must be a whole number of at least {at_least}, got {value!r}") from None
    check_range(name, whole, at_least)
    return whole


def _check_corpora(real: Corpus, others: Mapping[str, Corpus]) -> None:
    for name, corpus in {FLOOR: real, **others}.items():
        if len(corpus) < 2:
            raise TooFewSentencesError(f"{name} must have at least 2 texts, got {len(corpus)}")
        if len(corpus.tokens) == 0:
            raise EmptyCorpusError(f"{name} is empty: none of its {len(corpus)} texts has a token")
    for name, corpus in others.items():
        if corpus.fingerprint == real.fingerprint:
            remedy = _REMEDIES.get(name, "give generated text")
            raise InputError(f"{name} is the real text itself, text by text: {remedy}")


def _prompted(texts: dict[str, Any], prompts: Any, sources: Collection[str]) -> dict[str, Any]:
    """Return the texts grouped by prompt, with the prompts, where there are any; of text beside both sides, without."""
    beside = {name: texts.pop(name) for name in (TRAIN, FIT_REAL) if name in texts}
    grouped = with_prompts(texts, prompts)
    if PROMPTS in grouped:
        if sources:
            raise OptionError(
                f"{next(iter(sources))} is a generator that does not see the prompts: give its answers to the "
                "prompts instead"
            )
        if FIT_REAL in beside:
            raise OptionError("--fit-real cannot be combined with prompts: leave it out")
        if TRAIN in beside:
            train = as_texts(beside[TRAIN], TRAIN)
            beside[TRAIN] = replace(train, groups=np.arange(len(train)), prompts=None)
    return {**grouped, **beside}


def part_of_train(train: Corpus, n: int, seed: int) -> Corpus:
    """Return `n` random texts of the training text, or all if it has no more."""
    return train.drawn(n, stream(seed, "train", "row"))


def _check_fit_real(findings: Iterable[Finding]) -> None:
    for finding in findings:
        if finding.kind == "real-in-fit-real" and finding.severity == "warning":
            raise InputError(f"{finding.message} {finding.remedy}")


def real_in_train(findings: Iterable[Finding]) -> bool:
    """Return whether so many real texts stand in the training text that it would tell the real text, not the others."""
    return any(
        finding.kind == "memorised-sentences" and finding.severity == "warning" and finding.generator == REAL
        for finding in findings
    )


def _of_train(metrics: Iterable[Metric]) -> dict[str, dict[str, Any]]:
    """Return what the tasks that measure the training text are told: nothing is looked up in it."""
    return {
        "senseless": {
            metric.name: f"{metric.declaration.name} searches for copies of the training text, which this text is"
            for metric in metrics
            if metric.settings.get("train") is not None
        },
        "instead": {
            metric.name: metric.without("trained_on")
            for metric in metrics
            if metric.settings.get("trained_on") is not None
        },
    }


def _of_single_answers(metrics: Iterable[Metric], real: Corpus) -> dict[str, dict[str, Any]]:
    """Return what tasks that compare real answers are told where no prompt has two of them."""
    if real.groups is None or len(np.unique(real.groups)) < len(real):
        return {}
    reason = "every prompt has one real answer, and no other to compare it with"
    return {"senseless": {one.name: reason for one in metrics if "prompts" in one.declaration.needs}}


def tasks_of(
    real: Corpus,
    others: Independence,
    seed: int,
    *,
    metrics: Collection[Metric] = (),
    by_prompt: bool = False,
) -> tuple[list[Task], dict[str, str]]:
    """Return the tasks (the floor, each corpus in full and at the floor's size), and the floor of each corpus.

    A corpus with fewer texts than the floor has a smaller floor of its own; a generator with log-probabilities or
    ratings has a floor with those columns. No task sees columns of another generator. `by_prompt`: the floor compares
    real answers with other real answers to the same prompts.
    """
    special = {TRAIN: _of_train(metrics)}
    within = by_prompt and real.groups is not None
    first, second = real_halves(len(real), seed, real.groups if within else others.within.groups, within=within)
    grouped = replace(real, groups=others.within.groups)
    scored, against = grouped.take(first), grouped.take(second)

    def drawn(n: int, size: int) -> npt.NDArray[np.int64] | None:
        return None if n <= size else np.sort(in_random_order(n, seed)[:size])

    def with_columns(texts: Examined, name: str) -> Examined:
        return texts.changed(partial(columns_of, name=name), partial(columns_of, name=name))

    sizes = {name: min(len(scored), len(texts.generated)) for name, texts in others.texts.items()}
    floors = {
        name: f"{FLOOR} beside {name}"
        if has_own_columns(real, name)
        else FLOOR
        if sizes[name] == len(scored)
        else f"{FLOOR} of {sizes[name]} sentences"
        for name in sizes
    }
    alone = _of_single_answers(metrics, real) if by_prompt else {}
    floor = Examined.unexamined(scored, against)
    tasks = [Task(FLOOR, with_columns(floor, FLOOR), requested=False, **alone)]
    for name, texts in others.texts.items():
        requested = name not in (HELDOUT, TRAIN)
        tasks.append(Task(name, with_columns(texts, name), requested, **special.get(name, {})))
    for name, texts in others.texts.items():
        matched = with_columns(texts.taken(drawn(len(texts.generated), sizes[name]), second), name)
        tasks.append(Task(name + MATCHED, matched, False, **special.get(name, {})))
    smaller = {of_name: name for name, of_name in floors.items() if of_name != FLOOR}
    for of_name, name in sorted(smaller.items(), key=lambda item: sizes[item[1]]):
        rows = drawn(len(scored), sizes[name])
        part = Examined.unexamined(scored if rows is None else scored.take(rows), against)
        tasks.append(Task(of_name, with_columns(part, name), requested=False, **alone))
    return tasks, floors


def _result(
    metric: Metric,
    name: str,
    cells: Mapping[tuple[str, str], Cell],
    floors: Mapping[str, str],
    drawn_from: int | None,
) -> Result:
    """Return one cell of the table; `drawn_from` is the size of a text that was measured only in part."""
    cell = cells[name, metric.name]
    error = cell.error
    if cell.estimate is not None and math.isnan(cell.estimate.value):
        error = "; ".join(cell.warnings) or f"{metric.name} is undefined for this text"
    if name == FLOOR:
        size_sensitive = metric.declaration.size_sensitive
        return Result(name, metric.name, metric.better, cell.estimate, error=error, size_sensitive=size_sensitive)
    estimate = cell.estimate
    if drawn_from is not None and estimate is not None:
        estimate = replace(estimate, details={**estimate.details, "drawn_from": drawn_from})
    return Result(
        generator=name,
        metric=metric.name,
        better=metric.better,
        estimate=estimate,
        matched=cells[name + MATCHED, metric.name].estimate,
        floor=cells[floors[name], metric.name].estimate,
        error=error,
        size_sensitive=metric.declaration.size_sensitive,
    )


def _floor_groups(floor: Task) -> dict[str, int]:
    """Return how many groups the real text has, and how many have texts in both halves of the floor."""
    scored, against = floor.generated.groups, floor.real.groups
    if scored is None or against is None:
        return {}
    return {"n_groups": len(np.union1d(scored, against)), "n_shared": len(np.intersect1d(scored, against))}


def _name_of(real: Corpus | TextFile) -> str:
    return real.name if isinstance(real, TextFile) and real.name != FLOOR else "real"


def _warnings(
    cells: Mapping[tuple[str, str], Cell],
    results: Sequence[Result],
    tasks: Sequence[Task],
    *,
    alpha: float,
    size_sensitive: Collection[str],
) -> list[str]:
    """Return the warnings of the metrics, then those about the comparison as a whole."""

    def is_repeated(name: str, metric: str, text: str) -> bool:
        """Return whether the row at full size has the same warning."""
        beside = name.removesuffix(MATCHED) if name.endswith(MATCHED) else FLOOR if name.startswith(FLOOR) else name
        return beside != name and text in cells[beside, metric].warnings

    messages = [
        f"{name}: {text}" if text.startswith(metric) else f"{metric} of {name}: {text}"
        for (name, metric), cell in cells.items()
        for text in cell.warnings
        if not is_repeated(name, metric, text)
    ]
    floor_size = len(tasks[0].generated)
    for task in tasks:
        if task.name.endswith(MATCHED) and len(task.generated) < floor_size:
            name = task.name.removesuffix(MATCHED)
            verb = "compared with" if name in (HELDOUT, TRAIN) else "ranked beside"
            messages.append(
                f"{name} has {len(task.generated):,} texts, fewer than the {floor_size:,} of the {FLOOR} row. Where "
                f"closer to real text is better, it is {verb} real text of its own size"
            )
    return [
        *messages,
        *heldout_differs(results, alpha=alpha),
        *train_differs(results, alpha=alpha),
        *unequal_sizes(results, size_sensitive),
        *unlike_clusters(results),
        *mixed_log_probs(results),
    ]
