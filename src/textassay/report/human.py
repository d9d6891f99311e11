"""Studies with people as documents: what a study holds, what came back, how many texts it needs, what people say."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textassay.estimate import Interval
from textassay.report.cells import count_cell, interval_cell, number_cell, quantity_cells
from textassay.report.document import Cell, Column, Document, Figure, Paragraph, Row, Section, Table, section
from textassay.report.files import record
from textassay.report.number import count, counted, ends, number, p_value, rank_range, span
from textassay.report.number import level as percent_of
from textassay.report.plots import Axis, BarGroup, Bars, Colour, Forest, ForestRow, Mark, Reference
from textassay.report.words import join_words, shorten
from textassay.resampling.rater_power import tie_share
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.human.acceptance import Accepted
from textassay_lab.human.analysis import HumanAnalysis
from textassay_lab.human.disagreement import JudgedText
from textassay_lab.human.judgements import Judgements
from textassay_lab.human.next_word_score import NextWordScore
from textassay_lab.human.study import Study
from textassay_lab.human.verdicts import GeneratorVerdict, Share, Verdict

Rows = list[list[str | Cell]]

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
    share = percent_of(analysis.settings["level"])
    sections = [
        section("To be read with care", *(Paragraph(warning, "warning") for warning in analysis.warnings)),
        None if analysis.by_majority is None else _accuracy_section(analysis, analysis.by_majority, share),
        _generators_section(analysis, share) if analysis.by_judgement.generators else None,
        _agreement_section(analysis, share) if analysis.agreement else None,
        _raters_section(analysis),
        *_texts_sections(analysis),
        _reasons_section(analysis),
    ]
    return Document(
        "Real or generated? What people say" if analysis.is_vote else "How people rate the texts",
        tuple(_answer(analysis)),
        tuple(_facts(analysis)),
        tuple(part for part in sections if part is not None and part.parts),
        lead="generators" if analysis.by_judgement.generators else "accuracy",
        version=version("textassay"),
        records=tuple(_records(analysis)),
    )


def next_word_document(score: NextWordScore) -> Document:
    """Return how often people disagreed with the model after both kinds of prefixes, and the ratio."""
    quantities: tuple[tuple[str, float, Interval | None, int], ...] = (
        ("disagreement after prefixes of data", score.cgd_data, score.cgd_data_interval, score.n_data),
        ("disagreement after the model's own", score.cgd_model, score.cgd_model_interval, score.n_model),
        ("ratio, EB-C (1: no exposure bias)", score.eb_c, score.eb_c_interval, score.n_data + score.n_model),
    )
    rows = [(name, *quantity_cells(Quantity(value, bounds)), count_cell(n)) for name, value, bounds, n in quantities]
    table = Table.of("next-word", ("", "value", "interval", "judgements"), rows, main=True)
    known = score.eb_c_interval or score.cgd_data_interval
    facts = [("Sizes", f"{count(score.n_prefixes)} prefixes, raters: {count(score.n_raters)}")]
    facts += [] if known is None else [("Intervals", percent_of(known.level))]
    if score.spreads is not None:
        facts.append((_SPREAD_GROUPS.capitalize(), ", ".join(number(spread, 3) for spread in score.spreads)))
    bounds, ratio = score.eb_c_interval, f"EB-C is {rows[2][1].text} {rows[2][2].text}".rstrip()
    answer = f"Whether people see exposure bias in {score.model} is open: {ratio}."
    if bounds is not None and (bounds.low > 1 or bounds.high < 1):
        way = "more" if bounds.low > 1 else "less"
        bias = "exposure bias" if bounds.low > 1 else "no exposure bias, rather the contrary"
        answer = f"People disagree with {score.model} {way} often after its own prefixes than after real ones: {bias}; "
        answer += f"{ratio}."
    sections = (section("Disagreement", table),)
    return Document(
        f"Exposure bias of {score.model}, by people", (answer,), tuple(facts), sections, version=version("textassay")
    )


def power_document(power: Mapping[str, Any]) -> Document:
    """Return how many texts are needed with each number of judges; `power` is what ``--json`` prints."""
    other, percent = power["other"], f"{100 * power['power']:g} %"
    what = f"an accuracy of {power['accuracy']:g} from guessing"
    if other is not None:
        what = f"two generators apart (accuracies {power['accuracy']:g} and {other:g})"
    heads = ["judges a text", "texts a generator", "judgements a generator", "design effect"]
    heads += [] if power["texts"] is None else [f"power of {power['texts']}"]
    rows = []
    for row in power["rows"]:
        cells = [count_cell(row["judges"]), count_cell(row["texts"]), count_cell(row["judgements"])]
        cells.append(number_cell(row["design_effect"], 2))
        rows.append([*cells, *([number_cell(row["power"], 3)] if "power" in row else [])])
    correlations = (
        f"correlation of judgements of one text {power['text_correlation']:.3f}, by one rater "
        f"{power['rater_correlation']:.3f}; texts of a generator a rater judges {power['texts_per_rater']:.2f}"
    )
    ties = [tie_advice(row["judges"]) for row in power["rows"] if row["ties_by_guessing"]]
    fewest = min(power["rows"], key=lambda row: row["texts"])
    each = f"{counted(fewest['texts'], 'text')} of a generator, with {counted(fewest['judges'], 'judge')} each"
    answer = f"{each}, tell {what} with power {percent}, two-sided at {percent_of(power['level'])}."
    table = Table.of("power", heads, rows, notes=(correlations, *ties), main=True)
    sections = (section("Texts needed", table),)
    return Document("Texts and judges that a study needs", (answer,), (), sections, version=version("textassay"))


def tie_advice(judges: int) -> str:
    """Return what to say of an even number of judges."""
    return (
        f"{judges} judges a text can be tied, and judges who guess are tied on {100 * tie_share(judges):.0f} % of the "
        f"texts: with an odd number, such as {judges - 1} or {judges + 1}, each text has a majority"
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
        ("File", f"{path} (says who wrote what: keep it from participants)"),
        ("Next", f"textassay human serve {shlex.quote(str(path.parent))}"),
    )
    sides = {"(real)": study.settings.get("real"), **study.settings.get("generators", {})}
    sections: tuple[Section, ...] = ()
    if all(isinstance(side, dict) for side in sides.values()):
        rows = [
            (
                Cell(name),
                count_cell(side["shown"]),
                count_cell(side["given"]),
                count_cell(side["distinct"]),
                count_cell(side.get("also_real")),
                number_cell(100 * side["mark_share"], 2),
            )
            for name, side in sides.items()
        ]
        heads = ("", "shown", "of", "distinct", "also real", "rare %")
        sections = (section("Texts", Table.of("texts", heads, rows)),)
    answer = f"{study.title}: {counted(n_pages, 'page')} for people to judge."
    return Document(study.title, (answer,), facts, sections, version=version("textassay"))


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
    sections = (section("Refused", Table.of("refused", ("rule", "submissions"), rows)),) if rows else ()
    answer = f"{counted(len(accepted.submissions), 'submission')} accepted, {count(len(accepted.refusals))} refused."
    return Document("Submissions", (answer,), facts, sections, version=version("textassay"))


def _answer(analysis: HumanAnalysis) -> Iterator[str]:
    first = analysis.by_judgement
    if first.accuracy is not None:
        bounds = first.accuracy.interval
        verdict = "Whether people are right more often than by guessing (50 %) is open"
        if bounds is not None and (bounds.low > 0.5 or bounds.high < 0.5):
            verdict = f"People are right {'more' if bounds.low > 0.5 else 'less'} often than by guessing (50 %)"
        yield f"{verdict}: in {_percent_and_interval(first.accuracy)} of their judgements."
    if len(first.generators) > 1:
        best, *others = analysis.best_first
        tied = [row.generator for row in others if row.rank_low == 1]
        luck = f", which may be luck: {join_words(tied)} may be as good" if tied else ""
        if analysis.is_vote:
            yield f"{best.generator} is judged fake least often, {_percent_and_interval(best.share)}{luck}."
        else:
            yield f"{best.generator} is rated highest, {number(best.share.value, 3)}{luck}."


def _percent_and_interval(share: Share) -> str:
    bounds = share.interval
    ends_text = "" if bounds is None else f" {span(100 * bounds.low, 100 * bounds.high, 1)}"
    return f"{100 * share.value:.2f} %{ends_text}"


def _facts(analysis: HumanAnalysis) -> Iterator[tuple[str, str]]:
    sizes, settings = analysis.sizes, analysis.settings
    yield "Judgements", f"{count(sizes['n_judgements'])} by {counted(sizes['n_raters'], 'rater')}"
    yield (
        "Texts",
        f"{count(sizes['n_real'])} real and {count(sizes['n_generated'])} generated, on "
        f"{counted(sizes['n_pages'], 'page')}",
    )
    if not analysis.is_vote:
        lowest, highest = min(one.lowest for one in analysis.raters), max(one.highest for one in analysis.raters)
        yield "Ratings", f"numbers from {_range(lowest, highest)}"
    votes_name = "Votes a text" if analysis.is_vote else "Ratings a text"
    yield votes_name, ", ".join(f"{count(n)} with {votes}" for votes, n in analysis.votes.items())
    if analysis.notes:
        yield "Left out", "; ".join(note.removeprefix("left out: ") for note in analysis.notes)
    yield "Settings", f"intervals of {percent_of(settings['level'])}, seed {settings['seed']}"


def _range(lowest: float, highest: float) -> str:
    return f"{lowest:g} to {highest:g}"


def _accuracy_section(analysis: HumanAnalysis, majority: Verdict, share: str) -> Section:
    heads = ["", *(head for verdict in analysis.verdicts for head in (verdict.name, share))]
    rows: Rows = [
        [name, *(cell for verdict in analysis.verdicts for cell in _percent_cells(verdict.rates[side]))]
        for side, name in enumerate(_SIDES)
    ]
    sizes = f"{counted(majority.n_items, 'text')}, {counted(majority.n_ties or 0, 'tie')}"
    note = f"H1: {analysis.by_judgement.rule}. H2: {majority.rule}: {sizes}."
    table = Table.of("accuracy", heads, rows, notes=(note,), main=True)
    variants: Rows = [
        [
            one.rule.removeprefix("majority of each item's votes, "),
            count_cell(one.n_items),
            count_cell(one.n_ties),
            *(
                number_cell(None if rate is None else 100 * rate, 2)
                for rate in (one.accuracy, one.true_positive_rate, one.true_negative_rate)
            ),
        ]
        for one in analysis.variants[:_MOST_VARIANTS]
    ]
    heads = ["H2 by another rule", "texts", "ties", "all", "real", "generated"]
    others = Table.of("accuracy-by-other-rules", heads, variants) if variants else None
    return section("How often people are right, in %", table, others, _accuracy_figure(analysis))


def _accuracy_figure(analysis: HumanAnalysis) -> Figure:
    groups, descriptions = [], []
    for side, (name, colour) in enumerate(_BARS):
        marks, texts = [], []
        for verdict in analysis.verdicts:
            share = verdict.rates[side]
            if share is not None:
                marks.append(_mark(share, colour, hollow=verdict is not analysis.by_judgement))
                texts.append(f"{100 * share.value:.1f}")
                descriptions.append(f"{verdict.name} on {name} {100 * share.value:.2f} %")
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
    caption = "How often people judged right, with intervals; guessing is right in half of all cases."
    description = f"Bars of how often people judged right: {', '.join(descriptions)}. Guessing is 50 %."
    return Figure("accuracy", plot, caption, description)


def _generators_section(analysis: HumanAnalysis, share: str) -> Section:
    first, is_vote = analysis.by_judgement, analysis.is_vote
    columns = [Column("generator", numeric=False), Column("rank")]
    for verdict in analysis.verdicts:
        columns += [Column(verdict.name if is_vote else "rating", better="lower" if is_vote else "higher")]
        columns += [Column(share)]
    bounds = [row.share.interval for verdict in analysis.verdicts for row in verdict.generators]
    places = 0 if any(one is not None and one.high - one.low > _NARROW for one in bounds) else 1
    from_real = {pair.a: pair.p_adjusted for pair in first.from_real}
    rows = []
    for row in (*analysis.best_first, first.real):
        if row is None:
            continue
        is_real = row is first.real
        p = from_real.get(row.generator)
        cells = [
            Cell("real text" if is_real else row.generator),
            Cell(rank_range(row.rank_low, row.rank_high), row.rank_low),
            *(
                cell
                for verdict in analysis.verdicts
                for cell in _generator_cells(verdict.rows.get(row.generator), places, is_vote=is_vote)
            ),
            Cell() if is_real else Cell(p_value(p), p),
            count_cell(row.n_items),
        ]
        rows.append(Row(tuple(cells), "reference" if is_real else ""))
    ranked = f"by {first.name}; ranks that overlap may be luck" if is_vote else "ranks that overlap may be luck"
    note = f"Rank: {ranked}. p: to differ so much from real text by luck. Both by Holm's method."
    table = Table.of("generators", (*columns, Column("p"), Column("texts")), rows, notes=(note,), main=True)
    title = "Judged fake, in % (fewer is better)" if is_vote else "Mean ratings (more is better)"
    return section(title, table, _generators_figure(analysis))


def _generators_figure(analysis: HumanAnalysis) -> Figure:
    first, is_vote = analysis.by_judgement, analysis.is_vote
    others = {} if analysis.by_majority is None else analysis.by_majority.rows
    rows, descriptions = [], []
    for one in (*analysis.best_first, first.real):
        if one is None:
            continue
        is_real = one is first.real
        colour: Colour = "real" if is_real else "generated"
        marks = [_mark(one.share, colour)]
        if one.generator in others:
            marks.append(_mark(others[one.generator].share, colour, hollow=True))
        text = f"{100 * one.share.value:.1f} %" if is_vote else number(one.share.value, 3)
        name = "real text" if is_real else one.generator
        rows.append(ForestRow(name, tuple(marks), text, reference=is_real))
        descriptions.append(f"{name} {text}")
    band = None
    if first.real is not None and first.real.share.interval is not None:
        band = (first.real.share.interval.low, first.real.share.interval.high)
    what = "judged fake (fewer is better)" if is_vote else "mean rating (more is better)"
    legend = (
        ("H1: every judgement", Mark(0, 0, 0, colour="muted")),
        ("H2: majority of each text", Mark(0, style="hollow", colour="muted")),
    )
    plot = Forest(
        tuple(rows),
        Axis(what, (0.0, 1.0) if is_vote else (None, None), percent=is_vote),
        band=band,
        legend=legend if is_vote else (),
    )
    caption = f"Texts {what}, with intervals" + ("; shaded: real text." if band else ".")
    return Figure("generators", plot, caption, f"Texts {what}, with intervals: {', '.join(descriptions)}.")


def _mark(share: Share, colour: Colour, *, hollow: bool = False) -> Mark:
    return Mark(share.value, *ends(share.interval), "hollow" if hollow else "filled", colour, below=hollow)


def _agreement_section(analysis: HumanAnalysis, share: str) -> Section:
    rows: Rows = [
        [
            _COEFFICIENTS.get(one.measure, "a rater and the others"),
            one.labels + ("" if one.items == "all" else f", {one.items} texts"),
            number_cell(one.value, 4),
            interval_cell(one.interval, 3),
            count_cell(one.n_items),
            *(["any" if one.n_votes is None else str(one.n_votes)] if analysis.is_vote else []),
        ]
        for one in analysis.agreement
    ]
    heads = ("coefficient", "of", "value", share, "texts", *(["votes"] if analysis.is_vote else []))
    return section("Agreement beyond chance", Table.of("agreement", heads, rows, texts=(1,)))


def _raters_section(analysis: HumanAnalysis) -> Section:
    flagged = [rater for rater in analysis.raters if rater.flags]
    if not flagged:
        return section("Raters", Paragraph(f"None is suspicious. {_checks(analysis)}"))
    rows: Rows = []
    for rater in flagged[:_MOST_RATERS]:
        if analysis.is_vote:
            cells = [number_cell(100 * one, 0) for one in (rater.accuracy, rater.mean, rater.agreement)]
        else:
            range_cell = Cell(_range(rater.lowest, rater.highest), rater.lowest)
            cells = [number_cell(rater.mean, 2), range_cell, number_cell(rater.agreement, 2)]
        rows.append([rater.rater, "; ".join(rater.reasons), count_cell(rater.n), *cells])
    names = ("right %", "real %", "like the others %") if analysis.is_vote else ("mean", "range", "correlation")
    heads = ("suspicious", "why", "judged", *names)
    rest = f"{len(flagged) - _MOST_RATERS} more are in the files of --out. " if len(flagged) > _MOST_RATERS else ""
    note = f"{rest}{len(flagged)} of {counted(len(analysis.raters), 'rater')}. {_checks(analysis)}"
    return section("Raters", Table.of("raters", heads, rows, texts=(1,), notes=(note,)))


def _checks(analysis: HumanAnalysis) -> str:
    checks = ["one answer to everything"]
    if analysis.is_vote:
        checks += ["answers in a pattern", "the same mistakes as another", "right less often than others"]
    known = any(rater.seconds is not None for rater in analysis.raters)
    if known:
        checks.append(f"under {analysis.settings['min_seconds']:g} s a text, or far faster than others")
    return f"Checked: {'; '.join(checks)}.{'' if known else ' Times are not known.'}"


def _texts_sections(analysis: HumanAnalysis) -> Iterator[Section]:
    is_vote = analysis.is_vote
    real = "Generated, and taken for real" if is_vote else "Generated, and rated highest"
    fake = "Real, and taken for fake" if is_vote else "Real, and rated lowest"
    disputed = [one.texts[0] for one in analysis.disputed]
    for title, name, texts in (
        (real, "taken-for-real", analysis.taken_for_real),
        (fake, "taken-for-fake", analysis.taken_for_fake),
        ("Most disputed, the first of each (all in --json and --out)", "disputed", disputed),
    ):
        if texts:
            yield section(title, _texts_table(name, texts, is_vote=is_vote))


def _texts_table(name: str, texts: Sequence[JudgedText], *, is_vote: bool) -> Table:
    rows: Rows = []
    for text in texts:
        votes = f"{round(text.mean * text.n)}/{text.n}" if is_vote else number(text.mean, 2)
        author = "a person" if text.generator is None else shorten(text.generator, 22)
        line = " ".join(text.text.split())
        shown = Cell(shorten(line, _TEXT_WIDTH), note=line if len(line) > _TEXT_WIDTH else "")
        rows.append([shorten(text.id, 20), author, Cell(votes, text.mean), shown])
    heads = ("text", "by", "real" if is_vote else "mean", "")
    return Table.of(name, heads, rows, texts=(1, 3))


def _reasons_section(analysis: HumanAnalysis) -> Section | None:
    reasons = analysis.reasons
    if reasons is None or not reasons.n_comments:
        return None
    n_comments = reasons.n_comments
    counts = [(reasons.titles[name], n) for name, n in sorted(reasons.counts.items(), key=lambda pair: -pair[1])]
    rows = [
        (title, count_cell(n), number_cell(100 * n / n_comments, 0))
        for title, n in (*counts, ("(none of these)", len(reasons.uncoded)))
    ]
    note = (
        f"{counted(n_comments, 'comment')}, besides {count(reasons.n_empty)} that say nothing; one may give several "
        "reasons. Found by keywords: --reasons FILE takes another list."
    )
    table = Table.of("reasons", ("reason", "comments", "%"), rows, notes=(note,))
    return section("Why, by what the comments say", table)


def _percent_cells(share: Share | None, places: int = 1) -> tuple[Cell, Cell]:
    if share is None:
        return number_cell(None), Cell()
    bounds = share.interval
    arms = Cell() if bounds is None else Cell(span(100 * bounds.low, 100 * bounds.high, places), bounds.low)
    return number_cell(100 * share.value, 2), arms


def _generator_cells(row: GeneratorVerdict | None, places: int, *, is_vote: bool) -> tuple[Cell, Cell]:
    if row is None:
        return number_cell(None), Cell()
    if is_vote:
        return _percent_cells(row.share, places)
    return number_cell(row.share.value, 3), interval_cell(row.share.interval, 3)


def _records(analysis: HumanAnalysis) -> Iterator[Table]:
    is_vote = analysis.is_vote
    columns = (
        "item",
        "generator",
        "n",
        *(("share_real", "agreement") if is_vote else ("mean_rating", "variance")),
        "text",
    )
    sign = 1 if is_vote else -1  # the agreement on a rated text is minus the variance of its ratings
    disputed = [text for one in analysis.disputed for text in one.texts]
    for name, texts in (("items", analysis.texts), ("disputed", disputed)):
        rows = [(text.id, text.generator or "", text.n, text.mean, sign * text.agreement, text.text) for text in texts]
        yield record(name, columns, rows)
    names = ("share_real", "accuracy", "agreement", "p", "p_adjusted")
    yield record(
        "raters",
        (
            "rater",
            "n",
            *(names if is_vote else ("mean_rating", "lowest", "highest", "correlation")),
            "seconds",
            "flags",
            "reasons",
        ),
        [
            (
                one.rater,
                one.n,
                *(
                    (one.mean, one.accuracy, one.agreement, one.p_value, one.p_adjusted)
                    if is_vote
                    else (one.mean, one.lowest, one.highest, one.agreement)
                ),
                one.seconds,
                "; ".join(one.flags),
                "; ".join(one.reasons),
            )
            for one in analysis.raters
        ],
    )
