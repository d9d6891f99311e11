"""Studies with people as documents: what a study holds, what came back, how many texts it needs, what people say."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from textassay.estimate import Interval
from textassay.report.document import Document, Figure, Paragraph, Section, section, sections
from textassay.report.plots import Axis, Band, BarGroup, Bars, Colour, Forest, ForestRow, Mark, Reference
from textassay.report.table import (
    Cell,
    Column,
    ItemColumn,
    Table,
    as_is,
    count_cell,
    interval_cell,
    intervals,
    number_cell,
    numbers,
    p_cell,
    percent_interval_cell,
    percents,
    quantity_cells,
    record,
    text_cell,
)
from textassay.report.text import count, counted, ends, join_words, number, rank_range, shorten, span
from textassay.report.text import level as percent_of
from textassay_lab.human.analysis import HumanAnalysis, JudgedText
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.next_word import NextWordScore
from textassay_lab.human.power import tie_share
from textassay_lab.human.study import Study
from textassay_lab.human.submissions import Accepted
from textassay_lab.human.verdicts import GeneratorVerdict, Share, Verdict

_TEXT_WIDTH = 90
_SIDES = ("all texts", "real, judged real", "generated, judged fake")
_BARS: tuple[tuple[str, Colour], ...] = (("all texts", "ink"), ("real text", "real"), ("generated text", "generated"))
_COEFFICIENTS = {"fleiss-kappa": "Fleiss' kappa", "krippendorff-alpha": "Krippendorff's alpha"}
_MOST_RATERS = 10
_NARROW = 0.05  # intervals at least so wide are shown without decimals, with all in their table
_MOST_VARIANTS = 8
_SPREAD_GROUPS = "spread of the three over five groups of pages, as in the paper"


def analysis_document(analysis: HumanAnalysis) -> Document:
    """Return how well people told real from generated text, what they make of each generator, how far they agree."""
    share, is_vote = percent_of(analysis.settings["level"]), analysis.is_vote
    disputed = [one.texts[0] for one in analysis.disputed]
    return Document(
        "Real or generated? What people say" if is_vote else "How people rate the texts",
        tuple(_answer(analysis)),
        tuple(_facts(analysis)),
        sections(
            section("Warnings", *(Paragraph(warning, "warning") for warning in analysis.warnings)),
            None if analysis.by_majority is None else _accuracy_section(analysis, analysis.by_majority, share),
            _generators_section(analysis, share) if analysis.by_judgement.generators else None,
            section("Agreement beyond chance", _agreement(analysis, share)),
            _raters_section(analysis),
            section(
                "Generated text judged real" if is_vote else "Generated text rated highest",
                _texts("taken-for-real", analysis.taken_for_real, is_vote=is_vote),
            ),
            section(
                "Real text judged fake" if is_vote else "Real text rated lowest",
                _texts("taken-for-fake", analysis.taken_for_fake, is_vote=is_vote),
            ),
            section(
                "Most disputed, first of each (all in --json and --out)",
                _texts("disputed", disputed, is_vote=is_vote),
            ),
            section("Reasons given in comments", _reasons(analysis)),
        ),
        lead="generators" if analysis.by_judgement.generators else "accuracy",
        records=tuple(_records(analysis)),
    )


def next_word_document(score: NextWordScore) -> Document:
    """Return how often people disagreed with the model after both kinds of prefixes, and the ratio."""
    quantities: tuple[tuple[str, float, Interval | None, int], ...] = (
        ("disagreement after prefixes of data", score.cgd_data, score.cgd_data_interval, score.n_data),
        ("disagreement after the model's own", score.cgd_model, score.cgd_model_interval, score.n_model),
        ("ratio, EB-C (1: no exposure bias)", score.eb_c, score.eb_c_interval, score.n_data + score.n_model),
    )
    rows = [(name, *quantity_cells(value, bounds), count_cell(n)) for name, value, bounds, n in quantities]
    known = score.eb_c_interval or score.cgd_data_interval
    facts = [("Sizes", f"{count(score.n_prefixes)} prefixes, raters: {count(score.n_raters)}")]
    facts += [] if known is None else [("Intervals", percent_of(known.level))]
    if score.spreads is not None:
        facts.append((_SPREAD_GROUPS.capitalize(), ", ".join(number(spread, 3) for spread in score.spreads)))
    bounds, ratio = score.eb_c_interval, f"EB-C is {rows[2][1].text} {rows[2][2].text}".rstrip()
    verdict = f"It is not clear whether people detect exposure bias in {score.model}"
    if bounds is not None and bounds.low > 1:
        verdict = f"People detect exposure bias in {score.model}"
    elif bounds is not None and bounds.high < 1:
        verdict = f"People detect no exposure bias in {score.model}, but the opposite"
    table = Table.of("next-word", ("", "value", "interval", "judgements"), rows, main=True)
    title = f"Exposure bias of {score.model}, by people"
    return Document(title, (f"{verdict}: {ratio}.",), tuple(facts), (section("Disagreement", table),))


def power_document(power: Mapping[str, Any]) -> Document:
    """Return how many texts are needed with each number of judges; `power` is what ``--json`` prints."""
    other, percent = power["other"], f"{100 * power['power']:g} %"
    what = f"an accuracy of {power['accuracy']:g}, compared with guessing,"
    if other is not None:
        what = f"a difference between two generators (accuracies {power['accuracy']:g} and {other:g})"
    correlations = (
        f"correlation of judgements of one text {power['text_correlation']:.3f}, by one rater "
        f"{power['rater_correlation']:.3f}; texts per generator and rater {power['texts_per_rater']:.2f}"
    )
    ties = [tie_advice(row["judges"]) for row in power["rows"] if row["ties_by_guessing"]]
    reached: ItemColumn = (f"power of {power['texts']}", itemgetter("power"), numbers(3))
    table = Table.of_items("power", power["rows"], [
        ("judges a text", itemgetter("judges"), count_cell),
        ("texts a generator", itemgetter("texts"), count_cell),
        ("judgements a generator", itemgetter("judgements"), count_cell),
        *([("raters", itemgetter("raters"), count_cell)] if power["texts_per_rater"] > 1 else []),
        ("design effect", itemgetter("design_effect"), numbers(2)),
        *([] if power["texts"] is None else [reached]),
    ], notes=(correlations, *ties), main=True)  # fmt: skip
    fewest = min(power["rows"], key=itemgetter("texts"))
    each = f"{counted(fewest['texts'], 'text')} of a generator, with {counted(fewest['judges'], 'judge')} each"
    answer = f"{each}, detect {what} with power {percent}, two-sided at {percent_of(power['level'])}."
    return Document("Texts and judges that a study needs", (answer,), sections=(section("Texts needed", table),))


def tie_advice(judges: int) -> str:
    return (
        f"with {judges} judges per text, ties are possible: judges who guess are tied on "
        f"{100 * tie_share(judges):.0f} % of the texts. With {judges - 1} or {judges + 1} judges, each text has a "
        "majority"
    )


def study_document(study: Study, path: Path) -> Document:
    """Return the sizes of a study, and what is known of its texts."""
    n_items, n_checks = (sum(item.check == check for item in study.items) for check in (False, True))
    n_pages = len(study.pages)
    submissions = counted(n_pages * study.judgements_per_page, "submission")
    facts = (
        ("Pages", f"{count(n_pages)} x {counted(study.judgements_per_page, 'rater')} = {submissions}"),
        ("Items", f"{count(n_items)}, and {counted(n_checks, 'attention check')}"),
        ("Seed", str(study.seed)),
        ("File", f"{path} (contains the sources of the texts: keep it from participants)"),
        ("Next", f"textassay human serve {shlex.quote(str(path.parent))}"),
    )
    sides = {"(real)": study.settings.get("real"), **study.settings.get("generators", {})}
    table = Table.of_items("texts", sides.items() if all(isinstance(side, dict) for side in sides.values()) else (), [
        ("", lambda side: side[0], text_cell),
        ("shown", lambda side: side[1]["shown"], count_cell),
        ("of", lambda side: side[1]["given"], count_cell),
        ("distinct", lambda side: side[1]["distinct"], count_cell),
        ("also real", lambda side: side[1].get("also_real"), count_cell),
        ("rare %", lambda side: side[1]["mark_share"], percents(2)),
    ])  # fmt: skip
    answer = f"{study.title}: {counted(n_pages, 'page')} for people to judge."
    return Document(study.title, (answer,), facts, sections(section("Texts", table)))


def import_document(accepted: Accepted, judgements: Judgements, paths: Sequence[Path]) -> Document:
    """Return how much counts, why the rest does not, and what is still open."""
    n_open = sum(accepted.open_pages.values())
    still_open = f"{counted(n_open, 'submission')} of {counted(len(accepted.open_pages), 'page')}"
    facts = (
        ("Accepted", count(len(accepted.submissions))),
        ("Raters", count(len(judgements.raters))),
        ("Judgements", count(len(judgements))),
        ("Refused", count(len(accepted.refusals))),
        ("Still open", still_open if n_open else "nothing"),
        ("Files", ", ".join(map(str, paths))),
    )
    rows = [(rule, count_cell(n)) for rule, n in Counter(one.rule for one in accepted.refusals).most_common()]
    refused = Table.of("refused", ("rule", "submissions"), rows)
    answer = f"{counted(len(accepted.submissions), 'submission')} accepted, {count(len(accepted.refusals))} refused."
    return Document("Submissions", (answer,), facts, sections(section("Refused", refused)))


def _answer(analysis: HumanAnalysis) -> Iterator[str]:
    first = analysis.by_judgement
    if first.accuracy is not None:
        bounds = first.accuracy.interval
        verdict = "It is not clear whether people are right more often than by guessing (50 %)"
        if bounds is not None and (bounds.low > 0.5 or bounds.high < 0.5):
            verdict = f"People are right {'more' if bounds.low > 0.5 else 'less'} often than by guessing (50 %)"
        yield f"{verdict}: in {_percent_and_interval(first.accuracy)} of their judgements."
    if len(first.generators) > 1:
        best, *others = analysis.best_first
        tied = [row.generator for row in others if row.rank_low == 1]
        luck = f", which may be chance: {join_words(tied)} may be as good" if tied else ""
        if tied and first.of_these_raters(analysis.settings["level"]):
            luck += f" to raters like these {first.n_raters}, who are few"
        how = f"rated highest, {number(best.share.value, 3)}"
        if analysis.is_vote:
            how = f"judged fake least often, {_percent_and_interval(best.share)}"
        yield f"{best.generator} is {how}{luck}."


def _percent_and_interval(share: Share) -> str:
    bounds = share.interval
    ends_text = "" if bounds is None else f" {span(100 * bounds.low, 100 * bounds.high, 1)}"
    return f"{100 * share.value:.2f} %{ends_text}"


def _facts(analysis: HumanAnalysis) -> Iterator[tuple[str, str]]:
    sizes, settings = analysis.sizes, analysis.settings
    yield "Judgements", f"{count(sizes['n_judgements'])} by {counted(sizes['n_raters'], 'rater')}"
    on_pages = f", on {counted(sizes['n_pages'], 'page')}" if "n_pages" in sizes else ""
    yield "Texts", f"{count(sizes['n_real'])} real and {count(sizes['n_generated'])} generated{on_pages}"
    if not analysis.is_vote:
        lowest, highest = min(one.lowest for one in analysis.raters), max(one.highest for one in analysis.raters)
        yield "Ratings", f"numbers from {_range(lowest, highest)}"
    votes_name = "Votes a text" if analysis.is_vote else "Ratings a text"
    yield votes_name, ", ".join(f"{count(n)} with {votes}" for votes, n in analysis.votes.items())
    if analysis.notes:
        yield "Left out", "; ".join(note.removeprefix("left out: ") for note in analysis.notes)
    n_raters = analysis.by_judgement.n_raters
    if n_raters is not None:
        majority = f"; H2: of these {n_raters} alone" if analysis.is_vote else ""
        yield "Intervals and p", f"of raters like these {n_raters}{majority}"
    yield "Settings", f"intervals of {percent_of(settings['level'])}, seed {settings['seed']}"


def _range(lowest: float, highest: float) -> str:
    return f"{lowest:g} to {highest:g}"


def _accuracy_section(analysis: HumanAnalysis, majority: Verdict, share: str) -> Section:
    sizes = f"{counted(majority.n_items, 'text')}, {counted(majority.n_ties or 0, 'tie')}"
    heads = ["", *(head for verdict in analysis.verdicts for head in (verdict.name, share))]
    rows = [
        (name, *(cell for verdict in analysis.verdicts for cell in _percent_cells(verdict.rates[side])))
        for side, name in enumerate(_SIDES)
    ]
    note = f"H1: {analysis.by_judgement.rule}. H2: {majority.rule}: {sizes}."
    others = Table.of_items("accuracy-by-other-rules", analysis.variants[:_MOST_VARIANTS], [
        ("H2 by another rule", lambda one: one.rule.removeprefix("majority of each item's votes, "), text_cell),
        ("texts", "n_items", count_cell),
        ("ties", "n_ties", count_cell),
        ("all", "accuracy", percents(2)),
        ("real", "true_positive_rate", percents(2)),
        ("generated", "true_negative_rate", percents(2)),
    ])  # fmt: skip
    table = Table.of("accuracy", heads, rows, notes=(note,), main=True)
    return section("How often people are right, in %", table, others, _accuracy_figure(analysis))


def _accuracy_figure(analysis: HumanAnalysis) -> Figure:
    groups = []
    for side, (name, colour) in enumerate(_BARS):
        shares = [(verdict, share) for verdict in analysis.verdicts if (share := verdict.rates[side]) is not None]
        marks = [_mark(share, colour, hollow=verdict is not analysis.by_judgement) for verdict, share in shares]
        texts = [f"{100 * share.value:.1f}" for _, share in shares]
        groups += [BarGroup(name, tuple(marks), tuple(texts))] if marks else []
    plot = Bars(
        tuple(groups),
        Axis("judged right", (0.0, 1.0), percent=True, ticks=(0.0, 0.25, 0.5, 0.75, 1.0)),
        references=(Reference(0.5, "y", "guessing", dashed=True),),
        legend=(
            ("H1: every judgement", Mark(1, style="bar", colour="muted")),
            ("H2: majority of each text", Mark(1, style="hollow", colour="muted")),
        ),
    )
    caption = "How often people judged correctly, in %, by H1 and H2, with intervals; guessing gives 50 %."
    return Figure("accuracy", plot, caption)


def _generators_section(analysis: HumanAnalysis, share: str) -> Section:
    first, is_vote = analysis.by_judgement, analysis.is_vote
    bounds = [row.share.interval for verdict in analysis.verdicts for row in verdict.generators]
    places = 0 if any(one is not None and one.high - one.low > _NARROW for one in bounds) else 1
    from_real = {pair.a: pair.p_adjusted for pair in first.from_real}
    better: Literal["lower", "higher"] = "lower" if is_vote else "higher"

    def cell(row: GeneratorVerdict, verdict: Verdict, place: int) -> Cell:
        found = verdict.rows.get(row.generator)
        cells = _percent_cells(None if found is None else found.share, places)
        if found is not None and not is_vote:
            cells = number_cell(found.share.value, 3), interval_cell(found.share.interval, 3)
        return cells[place]

    columns: list[ItemColumn] = []
    for verdict in analysis.verdicts:
        value = partial(cell, verdict=verdict, place=0), as_is
        columns += [(Column(verdict.name if is_vote else "rating", better=better), *value)]
        columns += [(share, partial(cell, verdict=verdict, place=1), as_is)]
    ranked = (
        f"by {first.name}; overlapping ranks may be due to chance"
        if is_vote
        else "overlapping ranks may be due to chance"
    )
    table = Table.of_items(
        "generators",
        [row for row in (*analysis.best_first, first.real) if row is not None],
        [
            ("generator", lambda row: "real text" if row is first.real else row.generator, text_cell),
            ("rank", lambda row: Cell(rank_range(row.rank_low, row.rank_high), row.rank_low), as_is),
            *columns,
            ("p", lambda row: Cell() if row is first.real else p_cell(from_real.get(row.generator)), as_is),
            ("texts", "n_items", count_cell),
        ],
        is_reference=lambda row: row is first.real,
        notes=(f"Rank: {ranked}. p: of a difference from real text by chance. Both adjusted by Holm's method.",),
        main=True,
    )
    title = "Judged fake, in % (fewer is better)" if is_vote else "Mean ratings (more is better)"
    return section(title, table, _generators_figure(analysis))


def _generators_figure(analysis: HumanAnalysis) -> Figure:
    first, is_vote = analysis.by_judgement, analysis.is_vote
    others = {} if analysis.by_majority is None else analysis.by_majority.rows
    rows = []
    for one in (*analysis.best_first, first.real):
        if one is None:
            continue
        is_real = one is first.real
        colour: Colour = "real" if is_real else "generated"
        hollow = [others[one.generator].share] if one.generator in others else []
        marks = [_mark(one.share, colour), *(_mark(share, colour, hollow=True) for share in hollow)]
        text = f"{100 * one.share.value:.1f} %" if is_vote else number(one.share.value, 3)
        rows.append(ForestRow("real text" if is_real else one.generator, tuple(marks), text, reference=is_real))
    real = None if first.real is None else first.real.share.interval
    what = "judged fake (fewer is better)" if is_vote else "mean rating (more is better)"
    legend = (
        ("H1: every judgement", Mark(0, 0, 0, colour="muted")),
        ("H2: majority of each text", Mark(0, style="hollow", colour="muted")),
    )
    plot = Forest(
        tuple(rows),
        Axis(what, (0.0, 1.0) if is_vote else (None, None), percent=is_vote),
        bands=() if real is None else (Band(real.low, real.high),),
        legend=legend if is_vote else (),
    )
    return Figure(
        "generators", plot, f"Texts {what}, with intervals" + ("." if real is None else "; shaded: real text.")
    )


def _mark(share: Share, colour: Colour, *, hollow: bool = False) -> Mark:
    return Mark(share.value, *ends(share.interval), "hollow" if hollow else "filled", colour, below=hollow)


def _agreement(analysis: HumanAnalysis, share: str) -> Table:
    return Table.of_items("agreement", analysis.agreement, [
        ("coefficient", lambda one: _COEFFICIENTS.get(one.measure, "a rater and the others"), text_cell),
        ("of", lambda one: one.labels + ("" if one.items == "all" else f", {one.items} texts"), text_cell),
        ("value", "value", numbers(4)),
        (share, "interval", intervals(3)),
        ("texts", "n_items", count_cell),
        *([("votes", lambda one: Cell("any" if one.n_votes is None else str(one.n_votes)), as_is)]
          if analysis.is_vote else []),
    ])  # fmt: skip


def _raters_section(analysis: HumanAnalysis) -> Section:
    flagged = [rater for rater in analysis.raters if rater.flags]
    if not flagged:
        return section("Raters", Paragraph(f"None is suspicious. {_checks(analysis)}"))
    measured: list[ItemColumn] = [
        ("mean", "mean", numbers(2)),
        ("range", lambda one: Cell(_range(one.lowest, one.highest), one.lowest), as_is),
        ("correlation", "agreement", numbers(2)),
    ]
    if analysis.is_vote:
        measured = [
            ("right %", "accuracy", percents(0)),
            ("real %", "mean", percents(0)),
            ("like the others %", "agreement", percents(0)),
        ]
    rest = f"{len(flagged) - _MOST_RATERS} more are in the files of --out. " if len(flagged) > _MOST_RATERS else ""
    table = Table.of_items("raters", flagged[:_MOST_RATERS], [
        ("suspicious", "rater", text_cell),
        ("why", lambda one: "; ".join(one.reasons), text_cell),
        ("judged", "n", count_cell),
        *measured,
    ], notes=(f"{rest}{len(flagged)} of {counted(len(analysis.raters), 'rater')}. {_checks(analysis)}",))  # fmt: skip
    return section("Raters", table)


def _checks(analysis: HumanAnalysis) -> str:
    checks = ["one answer to everything"]
    if analysis.is_vote:
        checks += ["answers in a pattern", "the same mistakes as another", "right less often than others"]
    known = any(rater.seconds is not None for rater in analysis.raters)
    if known:
        checks.append(f"under {analysis.settings['min_seconds']:g} s a text, or far faster than others")
    return f"Checked: {'; '.join(checks)}.{'' if known else ' Times are not known.'}"


def _texts(name: str, texts: Sequence[JudgedText], *, is_vote: bool) -> Table:
    def shown(text: JudgedText) -> Cell:
        line = " ".join(text.text.split())
        return Cell(shorten(line, _TEXT_WIDTH), note=line if len(line) > _TEXT_WIDTH else "")

    def votes(text: JudgedText) -> Cell:
        return Cell(f"{round(text.mean * text.n)}/{text.n}" if is_vote else number(text.mean, 2), text.mean)

    return Table.of_items(name, texts, [
        ("text", lambda text: shorten(text.id, 20), text_cell),
        ("by", lambda text: "a person" if text.generator is None else shorten(text.generator, 22), text_cell),
        ("real" if is_vote else "mean", votes, as_is),
        (Column("", numeric=False), shown, as_is),
    ])  # fmt: skip


def _reasons(analysis: HumanAnalysis) -> Table | None:
    reasons = analysis.reasons
    if reasons is None or not reasons.n_comments:
        return None
    counts = sorted(reasons.counts.items(), key=lambda pair: -pair[1])
    return Table.of_items("reasons",
        [*((reasons.titles[name], n) for name, n in counts), ("(none of these)", len(reasons.uncoded))], [
        ("reason", lambda row: row[0], text_cell),
        ("comments", lambda row: row[1], count_cell),
        ("%", lambda row: row[1] / reasons.n_comments, percents(0)),
    ], notes=(
        f"{counted(reasons.n_comments, 'comment')}, besides {count(reasons.n_empty)} without a reason; one comment "
        "may give several reasons. Reasons are found by keywords; --reasons FILE reads another list.",
    ))  # fmt: skip


def _percent_cells(share: Share | None, places: int = 1) -> tuple[Cell, Cell]:
    if share is None:
        return number_cell(None), Cell()
    return number_cell(100 * share.value, 2), percent_interval_cell(share.interval, places)


def _records(analysis: HumanAnalysis) -> Iterator[Table]:
    is_vote = analysis.is_vote
    measured = ("share_real", "agreement") if is_vote else ("mean_rating", "variance")
    sign = 1 if is_vote else -1  # the agreement on a rated text is minus the variance of its ratings
    disputed = [text for one in analysis.disputed for text in one.texts]
    for name, texts in (("items", analysis.texts), ("disputed", disputed)):
        rows = [(text.id, text.generator or "", text.n, text.mean, sign * text.agreement, text.text) for text in texts]
        yield record(name, ("item", "generator", "n", *measured, "text"), rows)
    columns = {"mean_rating": "mean", "lowest": "lowest", "highest": "highest", "correlation": "agreement"}
    if is_vote:
        columns = {"share_real": "mean", **{name: name for name in ("accuracy", "agreement")}}
        columns |= {"p": "p_value", "p_adjusted": "p_adjusted"}
    yield record(
        "raters",
        ("rater", "n", *columns, "seconds", "flags", "reasons"),
        [
            (one.rater, one.n, *(getattr(one, field) for field in columns.values()), one.seconds, "; ".join(one.flags),
             "; ".join(one.reasons))
            for one in analysis.raters
        ],
    )  # fmt: skip
