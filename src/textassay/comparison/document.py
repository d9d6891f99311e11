"""A comparison as a document: the whole report, the one screen of the terminal, and its files."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from textassay.comparison.answer_sentences import answer, command_line, scope
from textassay.comparison.comparison import FLOOR, TRAIN, Comparison, PairDifference
from textassay.comparison.digest import Digest
from textassay.comparison.draw_document import drawn_section
from textassay.comparison.equivalence_document import equivalence_section
from textassay.comparison.explanation import DiscriminativeNgram, Explanation
from textassay.comparison.explanation_document import (
    MOST_IN_FULL,
    explanation_parts,
    giveaway_items,
    nothing_stands_out,
    phrases_of,
    quoted,
    small_multiples,
    structure_statement,
)
from textassay.comparison.figures import (
    colour_of,
    forest_figure,
    forests_figure,
    frontier_figure,
    overview_figure,
    pairs_figure,
    plane_figures,
    ranks_figure,
    roc_figure,
    scores_figure,
)
from textassay.comparison.measure import check_same_comparison
from textassay.comparison.metric_kinds import Kind, family_of, main_metrics, metric_slug, variant_of
from textassay.comparison.sentence_scores import Examples, examples_of, open_sentences, sentence_table, write_sentences
from textassay.corpus.documents import parse_json, read_document
from textassay.errors import InputError
from textassay.estimate import Better, Estimate, Interval
from textassay.inspection.document import group_findings, inspection_sections
from textassay.inspection.finding import Finding
from textassay.inspection.surface import excerpt as short
from textassay.metric.catalog import CATALOG
from textassay.report.document import (
    Document,
    Figure,
    Paragraph,
    Part,
    Section,
    Terms,
    TextEntry,
    Texts,
    items,
    notes,
    section,
    sections,
    without_extras,
)
from textassay.report.files import document_files
from textassay.report.latex import to_latex
from textassay.report.markdown import to_markdown
from textassay.report.page import to_fragment
from textassay.report.table import (
    ARROWS,
    Cell,
    Column,
    ItemColumn,
    Table,
    as_is,
    count_cell,
    differences,
    intervals,
    numbers,
    p_cell,
    record,
    text_cell,
)
from textassay.report.terminal import memory_console, printed, shown_columns
from textassay.report.text import (
    MISSING,
    NOT_VALID,
    clause,
    count,
    counted,
    decimals,
    excerpt,
    interval,
    join_few,
    join_words,
    level,
    number,
    shorten,
    slug,
    span,
    value_and_half_width,
)
from textassay.storage import Content, output_folder, write_files

RESULT_COLUMNS = (
    *("generator", "metric", "value", "low", "high", "level", "interval_method", "unit", "better", "n_generated"),
    *("n_real", "rank_low", "rank_high", "matched_value", "matched_low", "matched_high", "floor_value", "ranked_by"),
    *("shown_by", "error", "signature"),
)
_EVERYTHING = "to_frame(). The page with all figures: save()."
_TITLE = "How far is the generated text from the real text?"
_LISTS = ("Most clearly generated", "Most lifelike", "Real, mistaken for generated")
_SCORE = "probability of being real, by the classifier of the generator that is named"
_DISTINCT = "dd_distinct_texts"  # the same over distinct texts, where a metric gives it
_NAMES = Column("generator", numeric=False)
_FEW_PAIRS = 10
_MOST_PAIRS, _MOST_OF_OTHERS = 780, 100  # listed of the headline, and in other lists; more are for programs to read
_N_EXAMPLES, _MOST_EXAMPLES = 60, 1000  # texts of each list of the page: of one generator, of all
_SENTENCES = "sentences.csv"
_OWN_FIGURES = tuple(
    f"figures/{kind}*.svg"
    for kind in ("curve-", "forest-", "frontier-", "lengths-", "overview", "pairs-", "plane-", "positions-",
                 "prefixes-", "ranks", "roc", "scores")
)  # fmt: skip
# Of the one screen: characters of a line, lines of the answer, warnings, n-grams of a line.
_LINE, _ANSWER_LINES, _MOST_WARNINGS, _MOST_GIVEAWAYS = 76, 6, 4, 3
_MOST_VERDICTS = 12
_MOST_SUBSECTIONS = 8  # generators that have a heading each in what gives them away
_MOST_NAMED = 4
_COUNTED = re.compile(r"real texts \([\d.]+ %\) ([^.;:,(]+)")  # in a message: what they do
_PAIR_WIDTH = 30  # characters of a text in a warning
_DIRECTIONS = {"lower": "lower", "higher": "higher", "closer": f"closer to {FLOOR}", "neither": "neither"}
_FOREST = "Values with intervals; blue: real text; hollow: at the other size, of the floor or of all texts."
_SEPARATED = Column("separated", numeric=False)
_MOST_COLUMNS = 6  # of what the judge of answers beside their prompts goes by
_CLEAR = 0.05  # distance of an area under the curve from one half
_READABLE = ("share", "cosine", "begins")  # columns whose means can be read


# What has to be shown, if anything; a term; its explanation.
_GUIDE = (
    ("score_histogram", "Distributional Discrepancy (dd)",
     "Twice the balanced accuracy of a classifier on texts it never saw, minus one. 0: it can only guess. 1: it is "
     "never wrong. It is what this classifier detects, so a small value is no proof of likeness."),
    ("floor", "The floor, (real)",
     "One half of the real text measured as if it were generated, against the other half: the score of text just "
     "like real text."),
    ("train", "The training text",
     "A generator that learnt it perfectly, and copied nothing, would score the same. Where it is far from the real "
     "text, the two are of different sources, and no generator can come near."),
    ("", "Intervals",
     "How far the value may move with another sample of this size from the same generator and source of real text. "
     "It does not cover another training run, another domain, or an unsuitable metric."),
    ("certified_bound", "Certified bound",
     "Without assumptions on the text, the total variation distance is at least this. It rests on a part of the text "
     "named beforehand, so it is lower than the value. Of several generators each bound holds by itself."),
    ("p_value", "p",
     "How often shuffled labels separate the two sides as well as the true ones. If p is large, this sample size is "
     "too small to decide, which does not mean that they are alike."),
    ("ranks", "Ranks as intervals",
     "From 1 + the number of generators significantly better to n minus the number significantly worse, with p "
     "adjusted for the number of pairs (Holm). Do not read an order into ranks that overlap."),
    ("", "What it does not say",
     "Nothing here judges truth, usefulness or taste. Two generators that score alike may differ in ways the metrics "
     "cannot see. Overlap with real text is highest for a copier: read it beside dd and variety."),
)  # fmt: skip


def comparison_document(comparison: Comparison, examples: Mapping[str, Examples] | None = None) -> Document:
    """Return the whole report; `examples`: more texts of each generator for the page, see `examples_of`."""
    digest = Digest(comparison)
    headline, several = digest.headline, len(digest.metrics) > 1
    overview = overview_figure(digest) if several else None
    lead = overview if overview is not None or headline is None else forest_figure(digest, headline)
    return Document(
        _TITLE,
        answer(digest),
        scope(digest),
        sections(
            equivalence_section(digest),
            _warnings(digest),
            section("The main metrics", overview, main_metrics_table(digest))
            if headline is not None and several
            else None,
            _giveaways_of_all(digest),
            _texts(digest, examples or {}),
            None if headline is None else _headline(digest, headline),
            section("What the classifier saw", scores_figure(digest), roc_figure(digest), *_judged(digest)),
            *(_kind(digest, kind) for kind in digest.kinds),
            _planes(digest),
            _explained(digest),
            drawn_section(comparison.draws),
            _pairs(digest),
            section("How to read this", Terms(tuple(_reading_guide(digest))), extra=True),
            _repeat(digest),
        ),
        lead="" if lead is None else lead.name,
        series=digest.generators,
        version=comparison.version,
        records=(results_record(comparison),),
    )


def screen_document(comparison: Comparison, *, where: str, console: Console | None = None) -> Document:
    """Return what one screen holds; `where`: where everything else is.

    On a `console` the legend explains those columns of the main table for which there is room.
    """
    digest = Digest(comparison)
    first, *others = answer(digest, with_warnings=False)
    kept: list[str] = []
    for sentence in others:
        if len(" ".join([first, *kept, sentence])) <= _ANSWER_LINES * _LINE:
            kept.append(sentence)
    warnings = brief_warnings(digest, 80 if console is None else console.width)
    n_more, n_unsaid = max(0, len(warnings) - _MOST_WARNINGS), len(others) - len(kept)
    table, shown = main_metrics_table(digest, fits=True), main_table(digest)
    if table is not None and console is not None:
        n_left_out = len(table.columns) - len(shown_columns(table, console))
        shown = shown[: max(1, len(shown) - n_left_out)]
    n_metrics = len(digest.metrics)
    everything = f"All {n_metrics} metrics, pairs and notes" if n_metrics > 1 else "Pairs and notes"
    everything += ", and what to do about warnings" if warnings else ""
    everything += f", {counted(n_more, 'more warning')}" if n_more else ""
    everything += f", {counted(n_unsaid, 'more sentence')} of the answer" if n_unsaid else ""
    shown_sections = sections(
        equivalence_section(digest, most=_MOST_VERDICTS),
        section("Warnings, which may explain this", *items(warnings[:_MOST_WARNINGS])),
        section("", table, *(notes(brief_legend(digest, shown)) if shown else ())),
        _giveaways(digest, 80 if console is None else console.width),
        section("", *notes(_sizes_told(digest), f"{everything}: {where}")),
    )
    told = (first, " ".join(kept)) if kept else (first,)
    return Document(_TITLE, told, sections=shown_sections, version=comparison.version)


def screen_text(comparison: Comparison) -> str:
    """Return what one screen holds, 80 columns wide."""
    console = memory_console()
    return printed(screen_document(comparison, where=_EVERYTHING, console=console), console)


def notebook_html(comparison: Comparison) -> str:
    """Return the report with its main figure alone, what follows the main table folded."""
    whole = without_extras(comparison_document(comparison))

    def lighter(part: Section) -> Section:
        kept = (one for one in part.parts if not isinstance(one, Figure) or one.name == whole.lead)
        return replace(part, parts=tuple(lighter(one) if isinstance(one, Section) else one for one in kept))

    parts: list[Section] = []
    is_open = True
    for one in map(lighter, whole.sections):
        parts += [replace(one, extra=not is_open)] if one.parts else []
        is_open &= not any(isinstance(part, Table) and part.main for part in one.parts)
    return to_fragment(replace(whole, sections=(*parts, section("", *notes(f"As a table: {_EVERYTHING}")))))


def write_report(
    comparison: Comparison, out: Path | str, *, texts: Mapping[str, Sequence[str]] | None = None
) -> list[Path]:
    """Write all files of a comparison into the folder `out`, made if it is absent; return their paths.

    ``results.json``, ``results.csv``, ``results.md``, ``results.tex``, ``report.html``, ``figures/*.svg``, and
    ``sentences.csv`` where estimates carry per-sentence scores and `texts` is given; else an older ``sentences.csv``
    stays, and the page shows examples from it. All of them are written, or none.

    Parameters
    ----------
    comparison
        What to report.
    out
        The folder, or its address, such as ``s3://bucket/folder``; then no path is returned.
    texts
        Generator to its sentences, the real ones under ``(real)``.

    Raises
    ------
    InputError
        If the folder holds the report of another real text or of other settings.
    OutputError
        If a file cannot be written; then the folder is as it was before.
    """
    with output_folder(out) as folder:
        paths = _write_report(comparison, folder, texts)
    return [path for path in paths if path.exists()]


def _write_report(comparison: Comparison, out: Path, texts: Mapping[str, Sequence[str]] | None) -> list[Path]:
    check_same_comparison(out, comparison)
    table = None if texts is None else sentence_table(comparison, texts)
    examples: Mapping[str, Examples] = {}
    # The first metric whose scores of texts are probabilities of being real
    digest = Digest(comparison)
    kept = (digest.first_detail(generator, "score_histogram") for generator in comparison.generators)
    metric = min((one[0] for one in kept if one is not None), key=digest.comparison.metrics.index, default=None)
    if metric is not None:
        scored = open_sentences(out / _SENTENCES) if texts is None else sentence_table(comparison, texts)
        n_each = min(_N_EXAMPLES, max(1, _MOST_EXAMPLES // len(comparison.generators)))
        examples = {} if scored is None else examples_of(scored, metric, n_examples=n_each)
    files = document_files(comparison_document(comparison, examples), brief_markdown=True)
    contents: dict[str, Content] = {"results.json": to_json(comparison), "results.csv": files.pop("results.csv")}
    contents |= {"results.md": files.pop("report.md")}
    contents |= {"results.tex": files.pop("report.tex")} if "report.tex" in files else {}
    if table is not None:
        contents[_SENTENCES] = lambda file: write_sentences(table, file)
    return write_files(out, {**contents, **files}, stale=(*_OWN_FIGURES, "results.tex"))


def read_comparison(out: Path | str) -> Comparison:
    """Return the comparison that ``textassay compare --out``, `write_report` or `Comparison.save` wrote.

    Parameters
    ----------
    out
        The folder.

    Returns
    -------
    Comparison
        Everything but the evidence behind the estimates.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    path = Path(out) / "results.json"
    try:
        comparison = Comparison.from_dict(parse_json(read_document(path)))
        there = {(result.generator, result.metric) for result in comparison.results}
        directions = {result.better for result in comparison.results}
        if not there.issuperset(product(comparison.generators, comparison.metrics)) or not directions.issubset(
            get_args(Better)
        ):
            raise KeyError("a result is missing or has no direction")
        return comparison
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: give the folder that 'textassay compare --out' wrote") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a comparison written by textassay: run 'textassay compare' again") from error


def to_json(comparison: Comparison) -> str:
    """Return the JSON document of the command-line contract, in full precision, without NaN or infinity."""
    return json.dumps(comparison.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def results_record(comparison: Comparison) -> Table:
    """Return one line a generator and metric, in full precision; what is missing or undefined is empty."""
    digest = Digest(comparison)
    rows = []
    for result in digest.comparison.to_dict()["results"]:
        rank = digest.ranks.get((result["generator"], result["metric"]))
        matched, sizes = result["matched"] or {}, result["sizes"] or {}
        row: dict[str, Any] = {
            **result,
            "n_generated": sizes.get("n_generated"),
            "n_real": sizes.get("n_real"),
            "rank_low": None if rank is None else rank.low,
            "rank_high": None if rank is None else rank.high,
            "matched_low": matched.get("low"),
            "matched_high": matched.get("high"),
        }
        rows.append([row[column] for column in RESULT_COLUMNS])
    return record("results", RESULT_COLUMNS, rows)


def main_table(digest: Digest) -> tuple[str, ...]:
    """Return the metrics of the main table, of those with a direction and a value; none where no metric has these."""
    if digest.headline is None:
        return ()
    known = [
        metric
        for metric in digest.metrics
        if digest.better(metric) != "neither"
        and any(digest.value(generator, metric) is not None for generator in digest.generators)
    ]
    return main_metrics(known, digest.headline)


def warning_messages(digest: Digest) -> list[str]:
    """Return the warnings that change how the main table is read, whole, those that say the same together.

    They are those of the inspection, with what to do, and those of metrics but for warnings of metrics that the table
    does not have.
    """
    messages = []
    for group in _grouped_findings(digest):
        others = [f"{finding.generator} ({count(finding.count_generated)})" for finding in group[1:]]
        messages.append(_message(f"{group[0].generator}: {_with_pairs(group[0])}", others, group[0].remedy))
    return messages + [_message(warning, subjects) for warning, subjects in _warnings_of_metrics(digest)]


def brief_warnings(digest: Digest, width: int) -> list[str]:
    """Return the warnings of `warning_messages` without what to do, each in one line of `width`."""
    room = width - 4  # beside the sign of an item
    lines = []
    for group in _grouped_findings(digest):
        real = ""
        if are_counted := all(one.n_generated and one.n_real and one.kind != "dependent-texts" for one in group):
            real = f"; real text {_percent(group[0].count_real / group[0].n_real)}"
        shares = [f" {_percent(one.count_generated / one.n_generated)}" if are_counted else "" for one in group]
        named = [f"{one.generator}{share}" for one, share in zip(group, shares, strict=True)]
        kind, told = group[0].kind_in_words, f": {join_few(named)}{real}"
        counted = _COUNTED.search(group[0].message) if are_counted else None
        whole = f"{kind} ({counted[1]}){told}" if counted else ""
        lines.append(whole if 0 < len(whole) <= room else shorten(kind + told, room))
    for warning, subjects in _warnings_of_metrics(digest):
        also = f" (also {join_words(subjects)})" if subjects else ""
        lines.append(clause(warning, room - len(also)) + also if len(also) < room // 2 else clause(warning, room))
    return lines


def _grouped_findings(digest: Digest) -> list[tuple[Finding, ...]]:
    return [group for group in group_findings(digest.comparison.findings) if group[0].severity == "warning"]


def _warnings_of_metrics(digest: Digest) -> list[tuple[str, tuple[str, ...]]]:
    """Return the warnings of metrics that the main table has, or of none, and what else each is of."""
    shown = {family_of(metric) for metric in main_table(digest)}
    kept = []
    for warning, subjects in digest.grouped_warnings():
        words = {*warning.replace(":", " ").replace(",", " ").split(), *subjects}
        about = {family_of(word) for word in words} & {family_of(metric) for metric in digest.metrics}
        if not about or about & shown:
            kept.append((warning, subjects))
    return kept


def _with_pairs(finding: Finding) -> str:
    """Return the message of a finding with the pairs that it shows, side by side."""
    pairs = [" | ".join(f'"{excerpt(text, _PAIR_WIDTH)}"' for text in pair) for pair in finding.pairs]
    return f"{finding.message} Generated | real: {'; '.join(pairs)}." if pairs else finding.message


def legend(digest: Digest, metrics: Sequence[str], *, rows: bool = True) -> str:
    """Return what the signs of a table mean, at which size its values stand and, with `rows`, the rows of reference."""
    arrows = dict.fromkeys(digest.better(metric) for metric in metrics)
    parts = [_arms(digest, metrics)]
    parts.append(f"{', '.join(f'{ARROWS[better]} {_DIRECTIONS[better]}'.strip() for better in arrows)} is better")
    parts += ["bold: none is significantly better"] * any(map(digest.marked, metrics))
    parts += _sizes_of_values(digest, metrics) if FLOOR in digest.floors else []
    if rows:
        parts += [digest.floor_note] * (FLOOR in digest.floors)
        parts += [digest.train_note.rstrip(".")] if digest.train_note else []
    return f"{'; '.join([*parts, *_units(digest, metrics)])}."


def brief_legend(digest: Digest, metrics: Sequence[str]) -> str:
    """Return what the signs of a table mean, and what its rows of reference are."""
    arrows = dict.fromkeys(digest.better(metric) for metric in metrics)
    parts = [_arms(digest, metrics)]
    parts.append(f"{', '.join(f'{ARROWS[better]} {_DIRECTIONS[better]}'.strip() for better in arrows)} is better")
    parts += ["bold: none is significantly better"] * any(map(digest.marked, metrics))
    parts += [f"{FLOOR}: half of the real text against the other half"] * (FLOOR in digest.floors)
    parts += [f"{TRAIN}: the training text"] * bool(digest.train_note)
    return f"{'; '.join([*parts, *_units(digest, metrics)])}."


def _arms(digest: Digest, metrics: Sequence[str]) -> str:
    """Return what stands behind values: the longer arm of an interval, or a one-sided interval itself."""
    cells = (cell(digest, name, metric) for metric in metrics for name in (*digest.order, *digest.floors))
    or_whole = ", or its ends where it is one-sided" if any(one.spread.startswith("[") for one in cells) else ""
    return f"± the longer arm of the {level(digest.comparison.level)} interval{or_whole}"


def _sizes_of_values(digest: Digest, metrics: Sequence[str]) -> list[str]:
    """Return at which size values stand, which are of all texts, and why."""
    of_all: dict[str, dict[str, None]] = {}
    for metric in metrics:
        if not digest.at_floor_size(metric):
            tested = any(digest.detail(name, metric, "p_value") is not None for name in digest.generators)
            moves = any(digest.cells[name, metric].shown_by == "matched_value" for name in digest.generators)
            missing = f"there are none at the size of {FLOOR}" if moves else "size does not move them"
            of_all.setdefault("guessing is 0 at any size" if tested else missing, {})[family_of(metric)] = None
    at_size = [metric for metric in metrics if digest.at_floor_size(metric)]
    by_all = [metric for metric in at_size if not digest.ranked_at_floor_size(metric)]
    told = [f"values are at the size of {FLOOR}"] if at_size else []
    told += [f"values of {join_words(list(names))} are of all texts, as {why}" for why, names in of_all.items()]
    if by_all and len(digest.generators) > 1:
        told.append(f"marks and ranks of {ARROWS['lower']} and {ARROWS['higher']} go by all texts")
    if any(map(digest.own_floors, metrics)):
        told.append(f"{FLOOR} of fewer texts: beside a generator that has no more")
    return told


def giveaway_lines(explanation: Explanation, width: int, *, both: bool) -> list[str]:
    """Return what a generator says too often and, with `both`, what it says too rarely, a line each."""
    lines = [] if not explanation.structure else [_structure_line(explanation, width)]
    lines.append(_giveaway_line("too often: " * both, explanation.overused, width))
    if both:
        lines.append(_giveaway_line("too rarely: ", explanation.more_real, width))
    return list(filter(None, lines))


def judge_statements(digest: Digest, metric: str) -> tuple[str, ...]:
    """Return in words which classifier judged which generators; nothing where a metric has one classifier or none."""
    winners: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    sizes: dict[str, list[str]] = {}
    for generator in digest.order:
        by_size, won = (digest.detail(generator, metric, key) for key in ("by_size", "won"))
        if by_size is not None:
            sizes.setdefault(by_size, []).append(generator)
        if won is not None:
            winners.setdefault(won["most"], []).append(generator)
        left_out |= digest.detail(generator, metric, "left_out") or {}

    def of(names: list[str], word: str) -> str:
        return "" if len(names) == len(digest.order) else f" {word} {_named(names)}"

    chosen = ", ".join(f"{winner}{of(names, 'for')}" for winner, names in winners.items())
    return (
        *([f"Classifier, chosen on validation text in most folds: {chosen}."] if chosen else []),
        *(f"The size of the text decided between which classifiers{of(names, 'of')} to choose: those for {by_size}."
          for by_size, names in sizes.items()),
        *_white_box(digest, metric),
        *(f"{name} was not among the classifiers: {reason}." for name, reason in left_out.items()),
    )  # fmt: skip


def _white_box(digest: Digest, metric: str) -> list[str]:
    judged = [name for name in digest.order if digest.is_white_box(name, metric)]
    told = f"the classifier was also given the log-probabilities of {_named(judged)}, so that it can find more"
    return [f"White box: {told}."] if judged else []


def judged_alone(digest: Digest, generator: str, metric: str) -> str:
    """Return in words which classifier judged one generator in how many folds, and what each gives alone.

    Empty where there was but one classifier.
    """
    won, alone = (digest.detail(generator, metric, key) for key in ("won", "alone"))
    if won is None or alone is None:
        return ""
    places, counts = digest.places(metric), Counter(won["folds"])
    judged = join_words([f"{name} in {counts[name]}" for name in alone if counts[name]])
    values = [
        f"{name} {number(one['value'], places)} {span(one['low'], one['high'], places)}".rstrip()
        for name, one in alone.items()
    ]
    return (
        f"Validation text chose {judged} of {counted(len(won['folds']), 'fold')}. On the same folds each alone gives "
        f"{metric} {', '.join(values)}."
    )


def _warnings(digest: Digest) -> Section:
    warnings = [
        f"{warning}{f' (the same of {join_few(names)})' if names else ''}"
        for warning, names in digest.grouped_warnings()
    ]
    found = inspection_sections(digest.comparison.findings, brief=True)
    parts = [*(part for one in found for part in one.parts), *items(warnings)]
    parts.sort(key=lambda part: isinstance(part, Section))
    if not parts:
        parts = [
            Paragraph(
                "Nothing was found: no check of case, punctuation, length, alphabet, copies or repeats found more than "
                "chance explains."
            )
        ]
    return section("Warnings and notes", *parts)


def main_metrics_table(digest: Digest, *, fits: bool = False) -> Table | None:
    """Return the headline, its ranks, and one metric a family."""
    metrics = main_table(digest)
    if not metrics:
        return None
    names = (*digest.order, *digest.floors)
    ranked = len(digest.generators) > 1 and any(digest.rank_text(name, metrics[0]) for name in names)
    title = "" if fits else "Generated against real text by the main metrics, one of each family"
    table = _metrics_table(digest, metrics, name="main", title=title, brief=fits, ranked=ranked)
    about = (*_white_box(digest, metrics[0]), _caption_settings(digest))
    told = table.notes if fits else (legend(digest, metrics), *table.notes, *about)
    return replace(table, notes=told, main=True, fits=fits)


def _caption_settings(digest: Digest) -> str:
    """Return encoder, sizes, level, seed and version, as a caption ends."""
    comparison, sizes, encoder = digest.comparison, digest.sizes_text, digest.setting("encoder")
    parts = [f"{sizes} generated texts{' each' * (len(digest.order) > 1)}"] if sizes else []
    parts.append(f"{count(comparison.real.n_sentences)} real ones ({comparison.real.name})")
    parts += [] if encoder is None else [f"encoder {encoder}"]
    parts += [f"{level(comparison.level)} intervals", f"seed {comparison.seed}", f"textassay {comparison.version}"]
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}. {_units_told(digest)}".rstrip()


def _headline(digest: Digest, metric: str) -> Section:
    """Return the section of the headline: value, interval, bound, p, rank, values at other sizes; what is behind it."""
    places, share, is_alone = digest.places(metric), level(digest.comparison.level), len(digest.metrics) == 1
    by_prompt = any(digest.detail(name, metric, "answers_per_prompt") is not None for name in digest.generators)
    n_bounds = sum(digest.bound(name, metric) is not None for name in digest.order)
    bounded = f"{'the mean over prompts of ' * by_prompt}the total variation is at least this, certified at {share}"
    bounded += f", each of the {n_bounds} by itself, not all of them together." if n_bounds > 1 else "."
    shuffled = "How often shuffled labels separate the two sides as well as the true ones."
    other = Column("at floor size", note=f"The value at the size of {FLOOR}, to be compared with it.")
    if digest.at_floor_size(metric):
        other = Column("all texts", note="The value of all texts, by which generators are ranked.")
    own = digest.own_floors(metric)
    names = (*digest.order, *digest.floors, *own)

    def shown(name: str) -> Estimate | None:
        return own[name] if name in own else digest.shown(name, metric)

    def value(name: str) -> Cell:
        found = _number_cell(digest, own[name], metric) if name in own else cell(digest, name, metric)
        return Cell(found.text, found.value, note=found.note, tone=found.tone)

    def size(name: str) -> Cell:
        n = own[name].sizes.get("n_generated", 0) if name in own else digest.size(name)
        return replace(count_cell(n), tone="weak")

    def at_other_size(name: str) -> float | None:
        beside = digest.beside(name, metric)
        return None if beside is None else beside.value

    def bounds(name: str) -> Interval | None:
        estimate = shown(name)
        return None if estimate is None else estimate.interval

    known = numbers(places, missing="")
    table = Table.of_items(metric_slug(metric), names, [
        (_NAMES, str, text_cell),
        ("texts", size, as_is),
        (Column(metric, better=digest.better(metric)), value, as_is),
        (f"{share} interval", bounds, intervals(places)),
        (Column("at least", note=f"{bounded[:1].upper()}{bounded[1:]}"),
         lambda name: digest.bound(name, metric), known),
        (Column("p", note="One-sided Student's test over prompts." if by_prompt else shuffled),
         lambda name: Cell(digest.p_text(name, metric), digest.detail(name, metric, "p_value")), as_is),
        (Column("rank", note="From 1 + the number of generators significantly better to n less those worse."),
         lambda name: Cell(digest.rank_text(name, metric)), as_is),
        (other, at_other_size, known),
        (Column("distinct texts", note="The same over distinct texts only."),
         lambda name: digest.detail(name, metric, _DISTINCT), known),
    ], is_reference=lambda name: name not in digest.generators, main=is_alone,
       title=f"{metric}, {_DIRECTIONS[digest.better(metric)]} is better").compact()  # fmt: skip
    told = (
        legend(digest, [metric]),
        *([f"at least: {bounded}"] if any(column.name == "at least" for column in table.columns) else []),
        *_reasons(digest, [metric]),
        *judge_statements(digest, metric),
        *([_caption_settings(digest)] if is_alone else []),
    )
    figure, summary = forest_figure(digest, metric), summary_of(metric)
    return section(
        metric,
        Paragraph(f"{summary[:1].upper()}{summary[1:]}.") if summary else None,
        replace(table, notes=told),
        None if figure is None else replace(figure, caption=_FOREST),
        _details(digest, metric),
    )


def _details(digest: Digest, metric: str) -> Table | None:
    """Return the numbers among the details of a metric, one row a generator."""
    names = (*digest.order, *digest.floors)
    details = {name: one.details for name in names if (one := digest.estimate(name, metric)) is not None}
    keys = dict.fromkeys(
        key
        for values in details.values()
        for key, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )
    columns = [(key.replace("_", " "), lambda name, key=key: details[name].get(key), _detail) for key in keys]
    table = Table.of_items(f"{metric_slug(metric)}-details", details, [(_NAMES, str, text_cell), *columns],
                           is_reference=lambda name: name in digest.floors, title=f"What stands behind {metric}",
                           extra=True)  # fmt: skip
    return table if keys else None


def _detail(value: Any) -> Cell:
    if value is None or isinstance(value, int):
        return Cell(MISSING if value is None else count(value), value)
    return Cell(number(value, decimals(value, abs(value))), value)


def _kind(digest: Digest, kind: Kind) -> Section:
    """Return the section of one kind of metrics: what they are, tables, forest plots."""
    metrics = [metric for table in kind.tables for metric in table]
    families = list(dict.fromkeys(map(family_of, metrics)))
    parts: list[Part] = [Terms(tuple((family, _described(digest, family, metrics)) for family in families))]
    for place, table in enumerate(kind.tables, start=1):
        name = slug(kind.name) if len(kind.tables) == 1 else f"{slug(kind.name)}-{place}"
        title = kind.name if len(kind.tables) == 1 else f"{kind.name}, {place} of {len(kind.tables)}"
        parts.append(_metrics_table(digest, table, name=name, title=title))
    figure = forests_figure(digest, metrics, kind.name)
    told = notes(legend(digest, metrics, rows=False))
    return section(kind.name, *parts, *told, None if figure is None else replace(figure, caption=_FOREST))


def _metrics_table(
    digest: Digest, metrics: Sequence[str], *, name: str, title: str, brief: bool = False, ranked: bool = False
) -> Table:
    """Return values with half their intervals; below them those at the other size, unless it is to be `brief`."""
    own = {metric: digest.own_floors(metric) for metric in metrics}
    names = dict.fromkeys([*digest.order, *digest.floors, *(one for floors in own.values() for one in floors)])

    def value(name: str, metric: str) -> Cell:
        floor = own[metric].get(name)
        found = cell(digest, name, metric) if floor is None else _number_cell(digest, floor, metric)
        return replace(found, below="") if brief else found

    def head(metric: str) -> Column:
        variant = variant_of(metric)
        group, title = (family_of(metric), variant) if variant else ("", metric)
        return Column(title, group=group, better=digest.better(metric), note=summary_of(metric))

    columns: list[ItemColumn] = [(head(metric), partial(value, metric=metric), as_is) for metric in metrics]
    if ranked:
        columns.insert(1, ("rank", lambda name: Cell(digest.rank_text(name, metrics[0])), as_is))
    return Table.of_items(name, names, [(_NAMES, str, text_cell), *columns], title=title,
                          is_reference=lambda name: name not in digest.generators,
                          notes=_reasons(digest, metrics))  # fmt: skip


def cell(digest: Digest, generator: str, metric: str) -> Cell:
    """Return a value with half its interval; below it what it is at the other size, and real text at its own size."""
    estimate, places = digest.shown(generator, metric), digest.places(metric)
    like, own = digest.beside(generator, metric), digest.own_floor(generator, metric)
    size = "all " * digest.at_floor_size(metric)
    below = [] if like is None or generator == FLOOR else [f"{size}{number(like.value, places)}"]
    if estimate is None:
        result = digest.cells.get((generator, metric))
        if result is None:
            return Cell()
        reason = digest.reason(result)
        text = NOT_VALID if reason.startswith(NOT_VALID) else MISSING
        return Cell(text, below="".join(below), note=reason, tone="weak")
    below += [] if own is None or generator in digest.floors else [f"real {number(own.value, places)}"]
    best = generator in digest.marked(metric)
    return _number_cell(digest, estimate, metric, below="; ".join(below), best=best)


def _number_cell(digest: Digest, estimate: Estimate, metric: str, *, below: str = "", best: bool = False) -> Cell:
    places = digest.places(metric)
    value, arm = value_and_half_width(estimate, places)
    sizes = ", ".join(f"{name} {count(n)}" for name, n in estimate.sizes.items())
    bounds = "" if estimate.interval is None else f"{level(estimate.interval.level)} interval "
    note = "\n".join(filter(None, [bounds + interval(estimate.interval, places), sizes, str(estimate.signature)]))
    return Cell(value, estimate.value, arm, below, note, "best" if best else "")


def summary_of(metric: str) -> str:
    """Return what a metric is in one sentence; empty for one that the catalogue does not have."""
    entry = CATALOG.get(family_of(metric))
    return "" if entry is None else entry.summary


def _described(digest: Digest, family: str, metrics: Sequence[str]) -> str:
    """Return what a family of metrics is, with its unit where a number has to be read with it."""
    unit = next(digest.unit_beside_values(metric) for metric in metrics if family_of(metric) == family)
    summary = summary_of(family)
    return summary if not unit or unit.split()[0] in summary else f"{summary} ({unit})"


def _units(digest: Digest, metrics: Sequence[str]) -> list[str]:
    """Return "a and b in nats per token" for every unit that a number has to be read with."""
    families: dict[str, dict[str, None]] = {}
    for metric in metrics:
        unit = digest.unit_beside_values(metric)
        if unit:
            families.setdefault(unit, {})[family_of(metric)] = None
    return [f"{join_words(list(names))} in {unit}" for unit, names in families.items()]


def _reasons(digest: Digest, metrics: Sequence[str]) -> list[str]:
    """Return why values are missing, each reason once, with whose and which they are where it does not say."""
    told = []
    for reason, cells in digest.errors(metrics):
        families = list(dict.fromkeys(family_of(metric) for _, metric in cells))
        names = _named(list(dict.fromkeys(name for name, _ in cells)))
        says = any(family in reason for family in families)
        whole = reason if says else f"{join_words(families)} of {names}: {reason}"
        told.append(f"{whole[:1].upper()}{whole[1:]}." if reason.startswith(NOT_VALID) else f"{MISSING}: {whole}.")
    return told


def _units_told(digest: Digest) -> str:
    return f"{digest.units_note[:1].upper()}{digest.units_note[1:]}." if digest.units_note else ""


def _planes(digest: Digest) -> Section:
    planes, frontier = plane_figures(digest), frontier_figure(digest)
    told = (
        "Right and up are more quality and more diversity, whatever the metric's own direction; the goal is the cross, "
        "real text, and not the corner."
    )
    planes[:1] = [replace(one, caption=f"{one.caption} {told}") for one in planes[:1]]
    return section("Quality and diversity", *planes, frontier)


def _giveaways_of_all(digest: Digest) -> Section:
    """Return what each generator says too often and too rarely, and what gives its answers away beside prompts."""
    explanations = {one.generator: one for one in digest.comparison.explanations}
    items_of = {name: giveaway_items(explanations[name]) for name in digest.order if name in explanations}
    silent = nothing_stands_out([explanations[name] for name in items_of])
    title = "What gives it away" if len(digest.generators) == 1 else "What gives them away"
    if len(items_of) > _MOST_SUBSECTIONS:
        lines = tuple((name, "\n".join(one.text for one in told)) for name, told in items_of.items() if told)
        return section(title, Terms(lines) if lines else None, *silent)
    parts = [section(name, *items_of.get(name, ()), *_prompted(digest, name)) for name in digest.order]
    return section(title, *(part for part in parts if part.parts), *silent)


def _judged(digest: Digest) -> Sequence[Part]:
    """Return which classifier judged which generator, and what each gives alone."""
    told = {
        name: " ".join(filter(None, (judged_alone(digest, name, metric) for metric in digest.metrics)))
        for name in (*digest.order, *digest.floors)
    }
    known = tuple((name, alone) for name, alone in told.items() if alone)
    return (Terms(known),) if known else ()


def _explained(digest: Digest) -> Section:
    """Return what is known of each generator's text beyond what gives it away, a section each."""
    explanations = {one.generator: one for one in digest.comparison.explanations}
    shown = [explanations[name] for name in digest.order if name in explanations]
    colours = [colour_of(digest, one.generator) for one in shown]
    is_long = len(shown) > MOST_IN_FULL
    parts = [
        section(one.generator, *explanation_parts(one, colour=colour, lists=False, figures=not is_long), extra=is_long)
        for one, colour in zip(shown, colours, strict=True)
    ]
    multiples = small_multiples(shown, colours) if is_long else ()
    return section("N-grams, lengths, places, sample size", *multiples, *(part for part in parts if part.parts))


def _reading_guide(digest: Digest) -> Iterator[tuple[str, str]]:
    """Yield (term, explanation) of what this comparison shows; the page on reading the report says more."""
    estimates = [result.estimate for result in digest.comparison.results if result.estimate is not None]
    shown = {key for estimate in estimates for key, value in estimate.details.items() if value is not None}
    shown |= {"floor"} if digest.floors else set()
    shown |= {"train"} if digest.train_note else set()
    shown |= {"ranks"} if digest.comparison.ranks else set()
    yield from ((term, text) for needed, term, text in _GUIDE if not needed or needed in shown)


def _prompted(digest: Digest, generator: str) -> list[Part]:
    """Return what gives the answers of a generator away beside their prompts; nothing where there are no prompts."""
    found = digest.first_detail(generator, "judged_by")
    if found is None:
        return []
    name, (metric, columns) = slug(generator), found
    prompts, words = (digest.detail(generator, metric, key) or [] for key in ("telling_prompts", "prompt_words"))
    judged = Table.of_items(f"judged-by-{name}", columns[:_MOST_COLUMNS], [
        ("what the judge sees", itemgetter("name"), text_cell),
        ("generated", itemgetter("generated"), numbers(3)),
        ("real", itemgetter("real"), numbers(3)),
        ("AUC", itemgetter("auc"), numbers(3)),
    ], title="What the judge goes by: means, and how well each tells")  # fmt: skip
    of_prompts = Table.of_items(f"prompts-{name}", prompts, [
        ("prompt", lambda one: short(one["prompt"]), text_cell),
        ("difference", itemgetter("difference"), numbers(2)),
        ("generated answer", lambda one: short(one["generated"]), text_cell),
        ("real answer", lambda one: short(one["real"]), text_cell),
    ], extra=True, title="Prompts that give it away most")  # fmt: skip
    of_words = Table.of_items(f"prompt-words-{name}", words, [
        ("word of the prompt", itemgetter("word"), text_cell),
        ("prompts", itemgetter("n_prompts"), count_cell),
        ("difference", itemgetter("difference"), numbers(2)),
        ("elsewhere", itemgetter("elsewhere"), numbers(2)),
        ("p adjusted", itemgetter("p_adjusted"), p_cell),
    ], title="Prompts with which it is given away")  # fmt: skip
    n_left = sum((digest.detail(generator, metric, "prompts_left_out") or {}).values())
    told = f"{count(n_left)} prompts that only one side answers are left out of {metric}." if n_left else ""
    return [*(table for table in (judged, of_prompts, of_words) if table.rows), *notes(told)]


def _prompted_line(digest: Digest, generator: str) -> str:
    """Return in a line what tells the answers most beside their prompts; empty where nothing that can be read does."""
    found = digest.first_detail(generator, "judged_by")
    for one in () if found is None else found[1]:
        if one["name"].startswith(_READABLE) and abs(one["auc"] - 0.5) >= _CLEAR:
            return f"beside the prompt: {one['name']} {number(one['generated'], 3)} (real {number(one['real'], 3)})"
    return ""


def _texts(digest: Digest, examples: Mapping[str, Examples]) -> Section:
    """Return the texts to look through: those of `examples`, else the few of the explanations."""
    explanations = {one.generator: one for one in digest.comparison.explanations}
    lists: list[Sequence[Any]]
    found: list[tuple[int, int, TextEntry]] = []  # list, place in its own list, text
    for name in (*digest.order, *digest.floors):
        explanation = explanations.get(name)
        source = examples.get(name) or explanation
        lists = [] if source is None else [source.most_generated, source.most_lifelike]
        lists += [] if explanation is None else [explanation.mistaken]
        for number_of_list, (title, texts) in enumerate(zip(_LISTS, lists, strict=False)):
            for place, one in enumerate(texts):
                entry = TextEntry(one.text, name, one.score, getattr(one, "count", 1), title)
                found.append((number_of_list, place, entry))
    entries = [entry for *_, entry in sorted(found, key=itemgetter(0, 1))]  # those of all generators in turn
    phrases = tuple((name, phrases_of(one)) for name, one in explanations.items())
    return section("Texts", Texts("texts", tuple(entries), score=_SCORE, own_phrases=phrases) if entries else None)


def _pairs(digest: Digest) -> Section:
    parts: list[Part | None] = [ranks_figure(digest)]
    for metric in sorted(digest.comparison.metrics, key=lambda metric: metric != digest.headline):
        pairs = digest.pairs(metric)
        if not pairs:
            continue
        still_open = [pair for pair in pairs if not digest.separated(pair)]
        n_separated, name = len(pairs) - len(still_open), metric_slug(metric)
        title = f"{metric}: {n_separated:,} of {len(pairs):,} pairs separated"
        if len(pairs) > (_MOST_PAIRS if metric == digest.headline else _MOST_OF_OTHERS):
            where = "all are in results.json, under pairs"
            parts += notes(f"By {metric}, {n_separated:,} of {len(pairs):,} pairs are separated; {where}.")
            continue
        is_long = metric != digest.headline or len(pairs) > _FEW_PAIRS
        parts.append(_pairs_table(digest, pairs, f"pairs-{name}", title, extra=is_long))
        if metric != digest.headline:
            continue
        if len(pairs) > _FEW_PAIRS:
            parts += notes(f"By {metric}, {n_separated:,} of {len(pairs):,} pairs are separated.")
            if 0 < len(still_open) <= _MOST_OF_OTHERS:
                parts.append(_pairs_table(digest, still_open, f"open-pairs-{name}", "Pairs not separated"))
        parts.append(pairs_figure(digest, metric))
    told = (
        "p is adjusted for all pairs of a metric (Holm). Ranks that overlap are not separated. Differences are of "
        f"all texts; of {ARROWS['closer']}, of the distances from {FLOOR} at its size."
    )
    return section("Pairs and ranks: could the order be due to chance?", *parts, *notes(told if any(parts) else ""))


def _pairs_table(
    digest: Digest, pairs: Sequence[PairDifference], name: str, title: str, *, extra: bool = False
) -> Table:
    places, share = digest.places(pairs[0].metric), level(digest.comparison.level)
    return Table.of_items(name, pairs, [
        ("a", "a", text_cell),
        ("b", "b", text_cell),
        ("a - b", "difference", differences(places)),
        (f"{share} interval", lambda pair: (pair.low, pair.high), intervals(places)),
        ("p adjusted", "p_adjusted", p_cell),
        (_SEPARATED, lambda pair: Cell("yes") if digest.separated(pair) else Cell("no", tone="weak"), as_is),
    ], title=title, extra=extra)  # fmt: skip


def _repeat(digest: Digest) -> Section:
    command = command_line(digest)
    model = ", and the name or folder of the encoder's model for MODEL" if "MODEL" in command else ""
    told = (
        "With the same texts, version and seed, this gives the same numbers on the same kind of processor. Put each "
        f"text's or array's file for FILE{model}."
    )
    if any(draw.is_answers for draw in digest.comparison.draws):
        told += " Answers of an endpoint are the same only with the same --out, where they are kept."
    table = Table.of_items("signatures", [one for one in digest.comparison.results if one.estimate is not None], [
        ("generator", "generator", text_cell),
        ("metric", "metric", text_cell),
        ("signature", "estimate.signature", text_cell),
    ], extra=True, title="Signatures: every setting behind every number")  # fmt: skip
    return section("To repeat the comparison", Paragraph(told), Paragraph(command, "code"), table)


def _giveaways(digest: Digest, width: int) -> Section:
    explanations = {one.generator: one for one in digest.comparison.explanations}
    shown = [explanations[name] for name in digest.order if name in explanations]
    if not shown:
        return section("")
    both = len(shown) <= MOST_IN_FULL
    room = max(20, width - min(24, max(len(one.generator) for one in shown)) - 4)
    title = "What gives them away" if len(shown) > 1 else "What gives it away"
    lines, silent = [], []
    for one in shown:
        told = [_prompted_line(digest, one.generator), *giveaway_lines(one, room, both=both)]
        if any(told):
            lines.append((shorten(one.generator, 24), "\n".join(filter(None, told))))
        else:
            silent.append(one.generator)
    nothing = f"No phrase stands out for {join_words(silent)}." if silent else ""
    return section(title if both else f"{title}: what they say too often",
                   Terms(tuple(lines)) if lines else None, *notes(nothing))  # fmt: skip


def _sizes_told(digest: Digest) -> str:
    comparison, each = digest.comparison, digest.sizes_text
    told = f"Real text: {comparison.real.name}, {count(comparison.real.n_sentences)} texts"
    told += f"; generated: {each} texts{' each' * (len(comparison.generators) > 1)}" if each else ""
    tokenizer = digest.setting("tok")
    unit = ["measured as documents"] * (digest.setting("unit") == "document")
    parts = [told, *unit, *([] if tokenizer is None else [f"tokeniser {tokenizer}"]), f"seed {comparison.seed}"]
    parts += [digest.units_note] if digest.units_note else []
    return f"{'; '.join([*parts, *([digest.learnt_note] if digest.learnt_note else [])])}."


def _message(message: str, others: Sequence[str], remedy: str = "") -> str:
    """Return a message with what else it is true of, and what to do."""
    also = f"Also: {join_few(others)}." if others else ""
    whole = message if message.endswith(".") or not (also or remedy) else f"{message}."
    return " ".join(" ".join([whole, also, remedy]).split())


def _giveaway_line(title: str, giveaways: Sequence[DiscriminativeNgram], width: int) -> str:
    """Return as many n-grams as a line holds, none of them cut but the first where it is longer than the line."""
    line = ""
    for giveaway in giveaways[:_MOST_GIVEAWAYS]:
        shares = f" {_percent(giveaway.share_generated)} (real {_percent(giveaway.share_real)})"
        if not line:
            line = title + quoted(giveaway.ngram, width - len(title) - len(shares)) + shares
        elif len(longer := f"{line}; {quoted(giveaway.ngram, width)}{shares}") <= width:
            line = longer
    return line


def _structure_line(explanation: Explanation, width: int) -> str:
    """Return as many structural differences as a line holds, at least one."""
    line = "structure: "
    first, *others = map(structure_statement, explanation.structure)
    line += first
    for statement in others:
        if len(line) + 2 + len(statement) > width:
            break
        line += f"; {statement}"
    return line


def _percent(share: float) -> str:
    percent = 100 * share
    if percent == 0:
        return "0 %"
    return "<0.1 %" if percent < 0.1 else f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"


def _named(generators: Sequence[str]) -> str:
    return f"{len(generators)} generators" if len(generators) > _MOST_NAMED else join_words(list(generators))


def comparison_markdown(comparison: Comparison) -> str:
    """Return the whole report as Markdown, without figures."""
    return to_markdown(comparison_document(comparison), figures=None, everything=False)


def comparison_latex(comparison: Comparison, *, everything: bool = False) -> str:
    """Return the main table as LaTeX, or all."""
    return to_latex(comparison_document(comparison), everything=everything)
