r"""LaTeX: booktabs tables of a page's width, ready to be put into a paper.

One table for the headline metric, then the others by kind, split so that each fits the text width of the article class;
nothing is scaled. Needs ``\usepackage{booktabs}`` and nothing else. Names are escaped; those in scripts that pdfLaTeX
does not know need XeLaTeX or LuaLaTeX.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from textassay.comparison import FLOOR, Comparison
from textassay.estimate import Estimate
from textassay.report.answer import direction
from textassay.report.digest import Digest
from textassay.report.judges import judge_statements
from textassay.report.kinds import family_of, variant_of
from textassay.report.number import MISSING, count, interval, level, number, p_value, value_and_half_width
from textassay.report.words import join_words, printable, shorten, slug

_ARROWS = {"lower": r" $\downarrow$", "higher": r" $\uparrow$", "closer": r" $\approx$", "neither": ""}
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",
        "'": r"{\char39}",
        "`": r"{\char96}",
        "[": "{[}",  # else an option of the line break before it
        "]": "{]}",
        "*": "{*}",  # else a starred line break
        "\N{REPLACEMENT CHARACTER}": "?",
        **{character: f"\\{character}" for character in "&%$#_{}"},
    }
)
_NAME_WIDTH = 22
_AT_FLOOR_SIZE = f"Where closer to real text is better, values are at the size of {FLOOR}, as they are ranked."
# In printer's points, of the article class at 10 pt: text width, gap between columns, a character in \small and beside
# it in \scriptsize, measured on Computer Modern digits.
_TEXT_WIDTH, _GAP, _LETTER, _SMALL_LETTER = 345.0, 8.0, 4.7, 3.8


def to_latex(comparison: Comparison) -> str:
    """Return the comparison as tables of LaTeX, without a preamble."""
    digest = Digest(comparison)
    parts = [f"% Made by textassay {comparison.version}. Needs \\usepackage{{booktabs}}."]
    if digest.headline is not None:
        parts.append(_headline(digest, digest.headline))
    for kind in digest.kinds:
        metrics = [metric for table in kind.tables for metric in table]
        pages = _pages(digest, {metric: _width(digest, metric) for metric in metrics})
        for page, columns in enumerate(pages, start=1):
            title = kind.name if len(pages) == 1 else f"{kind.name}, {page} of {len(pages)}"
            parts.append(_metrics_table(digest, title, columns))
    return "\n\n".join(parts) + "\n"


def escape_latex(text: str) -> str:
    """Return `text` in one line, with everything that LaTeX would interpret made plain."""
    return re.sub("-(?=-)", "-{}", printable(text).translate(_ESCAPES))  # else two hyphens are a dash


def _headline(digest: Digest, metric: str) -> str:
    """Return the table of the headline, or two: value, interval, rank, p, bound, value at the floor's size."""
    places = digest.places(metric)
    columns: dict[str, dict[str, str]] = {}
    for generator in (*digest.order, *digest.floors):
        estimate, like = digest.shown(generator, metric), digest.beside(generator, metric)
        bound, p = digest.bound(generator, metric), digest.detail(generator, metric, "p_value")
        size = digest.size(generator)
        cells = {
            "sentences": "" if size is None else count(size),
            _column_name(digest, metric): _value(digest, generator, metric),
            f"{level(digest.comparison.level)} interval": ""
            if estimate is None
            else _plain(interval(estimate.interval, places)),
            "rank": digest.rank_text(generator, metric).replace("-", "--"),
            "p": "" if p is None else _plain(p_value(p)),
            "at least": "" if bound is None else _plain(number(bound[0], places)),
            "at floor size": "" if like is None else _plain(number(like.value, places)),
        }
        for name, cell in cells.items():
            columns.setdefault(name, {})[generator] = cell
    kept = {name: cells for name, cells in columns.items() if any(cells[generator] for generator in digest.order)}
    widths = {
        name: _LETTER * max(len(name.removesuffix(_ARROWS[digest.better(metric)])) + 1, *map(_printed_length, cells))
        for name, cells in ((name, list(cells.values())) for name, cells in kept.items())
    }
    tables = []
    for page, names in enumerate(_pages(digest, widths), start=1):
        header = " & ".join(["generator", *(_header(name, digest, metric) for name in names)])
        rows = [
            [_row(generator, [kept[name][generator] for name in names]) for generator in generators]
            for generators in (digest.order, digest.floors)
            if generators
        ]
        if digest.at_floor_size(metric):
            for label, own in digest.own_floors(metric).items():
                cells = {_column_name(digest, metric): _plain(number(own.value, places))}
                rows[-1].append(_row(label, [cells.get(name, "") for name in names]))
        caption = [f"{metric} of generated from real text ({direction(digest.better(metric))})."]
        if digest.at_floor_size(metric):
            caption.append(_AT_FLOOR_SIZE)
        if "at least" in names:
            caption.append("At least: certified bound on the total variation distance.")
        if FLOOR in digest.floors:
            caption.append(f"{FLOOR}: one half of the real text against the other.")
        if digest.train_note:
            caption.append(digest.train_note)
        if page == 1:
            caption += judge_statements(digest, metric)
        reasons = [f"{MISSING}: {reason}." for reason, _ in digest.errors([metric])]
        label = slug(metric) if page == 1 else f"{slug(metric)}-{page}"
        tables.append(_table(digest, label, [*caption, *reasons], len(names), [header + r" \\"], rows))
    return "\n\n".join(tables)


def _metrics_table(digest: Digest, title: str, metrics: Sequence[str]) -> str:
    """Return one table: values with half their intervals on all text, then values at the floor's size."""
    likes = {
        metric: {name: digest.matched(name, metric) for name in (*digest.order, *digest.floors)} for metric in metrics
    }
    floored = [metric for metric in metrics if digest.at_floor_size(metric)]
    others = [metric for metric in metrics if metric not in floored]
    matched = any(likes[metric][name] is not None for metric in others for name in digest.order)
    above = [name for name in (*digest.order, *digest.floors) if not (matched and name == FLOOR)]
    blocks = [[_row(name, [_value(digest, name, metric, width=True) for metric in metrics]) for name in above]]
    if matched:
        blocks.append(_like_rows(digest, metrics, likes))
    elif floored:
        blocks[0] += _own_floor_rows(digest, metrics)
    caption = [f"{title}."]
    arrows = {digest.better(metric): _ARROWS[digest.better(metric)].strip() for metric in metrics}
    caption += [f"{sign}: {direction(better)}." for better, sign in arrows.items() if sign]
    units = dict.fromkeys(filter(None, map(digest.told_unit, metrics)))
    named = {unit: join_words(_of_unit(digest, metrics, unit)) for unit in units}
    caption += [f"{names} in {unit}." for unit, names in named.items()]
    if floored:
        caption.append(_AT_FLOOR_SIZE)
    if matched and FLOOR in digest.floors:
        caption.append(
            f"Below: at the size of {FLOOR}, which is one half of the real text against the other, to be compared with "
            "that row."
        )
    caption += [f"{MISSING}: {reason}." for reason, _ in digest.errors(list(metrics))]
    return _table(digest, slug(title), caption, len(metrics), _headers(digest, metrics), blocks)


def _like_rows(
    digest: Digest, metrics: Sequence[str], likes: Mapping[str, Mapping[str, Estimate | None]]
) -> list[str]:  # fmt: skip
    rows = []
    for name in (*digest.order, *reversed(digest.floors)):
        cells = [likes[metric][name] for metric in metrics]
        if any(cell is not None for cell in cells):
            shown = [
                MISSING if cell is None else number(cell.value, digest.places(metric))
                for cell, metric in zip(cells, metrics, strict=True)
            ]
            rows.append(_row(name, list(map(_plain, shown))))
    return [*rows, *_own_floor_rows(digest, metrics)]


def _own_floor_rows(digest: Digest, metrics: Sequence[str]) -> list[str]:
    """Return what real text scores at the sizes of generators with fewer sentences than the floor."""
    smaller: dict[int, dict[str, str]] = {}
    for metric in metrics:
        for name in digest.order:
            own = digest.own_floor(name, metric)
            if own is not None:
                sizes = smaller.setdefault(own.sizes.get("n_generated", 0), {})
                sizes[metric] = _plain(number(own.value, digest.places(metric)))
    return [
        _row(f"{FLOOR} of {count(size)}", [cells.get(metric, "") for metric in metrics])
        for size, cells in sorted(smaller.items(), reverse=True)
    ]


def _table(
    digest: Digest, name: str, caption: Iterable[str], n_columns: int, headers: list[str], blocks: Sequence[list[str]]
) -> str:
    marked = (
        [r"Bold: none is significantly better."] if any(r"\textbf" in row for rows in blocks for row in rows) else []
    )
    text = " ".join([*map(_caption, caption), *marked, _settings(digest)])
    body = [line for rows in blocks for line in (r"\midrule", *rows)]
    return "\n".join(
        [
            r"\begin{table}[tbp]",
            r"\centering",
            f"\\caption{{{text}}}",
            r"\vspace{4pt}",
            f"\\label{{tab:textassay-{name}}}",
            r"\small",
            r"\setlength{\tabcolsep}{4pt}",
            f"\\begin{{tabular}}{{@{{}}l{'r' * n_columns}@{{}}}}",
            r"\toprule",
            *headers,
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _settings(digest: Digest) -> str:
    """Return the sentence on sizes, level, seed and version that ends every caption."""
    comparison = digest.comparison
    sizes = [size for name in digest.order if (size := digest.size(name)) is not None]
    if not sizes:
        generated = ""
    elif min(sizes) == max(sizes):
        generated = f"{count(sizes[0])} generated texts{' each' if len(sizes) > 1 else ''}, "
    else:
        generated = f"{count(min(sizes))} to {count(max(sizes))} generated texts each, "
    text = (
        f"{generated}{count(comparison.real.n_sentences)} real ones ({shorten(comparison.real.name, _NAME_WIDTH)}); "
        f"{level(comparison.level)} intervals, seed {comparison.seed}, textassay {comparison.version}."
    )
    return escape_latex(text[:1].upper() + text[1:])


def _caption(sentence: str) -> str:
    """Return a sentence of a caption; signs that are mathematics stay."""
    for sign in filter(None, map(str.strip, _ARROWS.values())):
        if sentence.startswith(sign):
            return sign + escape_latex(sentence.removeprefix(sign))
    return escape_latex(sentence)


def _headers(digest: Digest, metrics: Sequence[str]) -> list[str]:
    """Return one line of names, or two where families have variants: families over rules, then variants."""
    if not any(map(variant_of, metrics)):
        return [" & ".join(["generator", *(_header(_column_name(digest, m), digest, m) for m in metrics)]) + r" \\"]
    spans: list[tuple[str, int]] = []
    for metric in metrics:
        family = escape_latex(family_of(metric)) + _ARROWS[digest.better(metric)]
        if spans and spans[-1][0] == family:
            spans[-1] = (family, spans[-1][1] + 1)
        else:
            spans.append((family, 1))
    rules, first = [], 2
    for _, width in spans:
        rules.append(f"\\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    families = [f"\\multicolumn{{{width}}}{{c}}{{{family}}}" for family, width in spans]
    variants = ["generator", *(escape_latex(variant_of(metric)) for metric in metrics)]
    return [" & ".join(["", *families]) + r" \\", "".join(rules), " & ".join(variants) + r" \\"]


def _column_name(digest: Digest, metric: str) -> str:
    return metric + _ARROWS[digest.better(metric)]


def _header(name: str, digest: Digest, metric: str) -> str:
    arrow = _ARROWS[digest.better(metric)]
    if arrow and name.endswith(arrow):
        return escape_latex(name.removesuffix(arrow)) + arrow
    return escape_latex(name)


def _of_unit(digest: Digest, metrics: Sequence[str], unit: str) -> list[str]:
    return list(dict.fromkeys(family_of(metric) for metric in metrics if digest.told_unit(metric) == unit))


def _row(name: str, cells: Sequence[str]) -> str:
    return " & ".join([escape_latex(shorten(printable(name), _NAME_WIDTH)), *cells]) + r" \\"


def _value(digest: Digest, generator: str, metric: str, *, width: bool = False) -> str:
    """Return a value, bold where none is significantly better, with half its interval where asked for."""
    estimate = digest.shown(generator, metric)
    if estimate is None:
        return MISSING if (generator, metric) in digest.cells else ""
    value, arm = value_and_half_width(estimate, digest.places(metric))
    value = _plain(value)
    shown = f"\\textbf{{{value}}}" if generator in digest.marked(metric) else value
    return f"{shown} {{\\scriptsize {_plain(arm)}}}" if width and arm else shown


def _plain(text: str) -> str:
    """Return the text of a number with signs as mathematics."""
    for sign, command in (("-", "$-$"), ("±", r"$\pm$"), ("<", "$<$"), ("+", "$+$")):
        text = text.replace(sign, command)
    return f"{{{text}}}" if text.startswith("[") else text


def _pages(digest: Digest, widths: Mapping[str, float]) -> list[list[str]]:
    """Return columns of the given `widths` table by table, as many as fit the text width."""
    names = (*digest.order, *digest.floors, "generator")
    room = _TEXT_WIDTH - _LETTER * min(_NAME_WIDTH, max(map(len, names)))
    pages: list[list[str]] = [[]]
    left = room
    for column, width in widths.items():
        if _GAP + width > left and pages[-1]:
            pages.append([])
            left = room
        pages[-1].append(column)
        left -= _GAP + width
    return pages


def _printed_length(cell: str) -> int:
    return len(re.sub(r"\\textbf|[{}$]", "", cell).replace("--", "-"))


def _width(digest: Digest, metric: str) -> float:
    header = _LETTER * max(len(variant_of(metric)), 0 if variant_of(metric) else len(metric) + 2)
    widths = [header]
    for name in (*digest.order, *digest.floors):
        estimate = digest.shown(name, metric)
        if estimate is not None:
            value, arm = value_and_half_width(estimate, digest.places(metric))
            widths.append(_LETTER * (len(value) + 0.7) + _SMALL_LETTER * len(arm))
    return max(widths)
