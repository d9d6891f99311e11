"""Who judged: the classifier that validation text chose of a family, and what each would have given alone."""

from collections import Counter

from textassay.report.digest import Digest
from textassay.report.number import number, span
from textassay.report.words import join_words

_MOST_NAMED = 4


def judge_statements(digest: Digest, metric: str) -> tuple[str, ...]:
    """Return in words who judged which generators; nothing where a metric has one classifier or none.

    `metric`: such as ``dd``.
    """
    winners: dict[str, list[str]] = {}
    whose = []
    for generator in digest.order:
        won = digest.detail(generator, metric, "won")
        if won is not None:
            winners.setdefault(won["most"], []).append(generator)
        if digest.detail(generator, metric, "log_probs") is not None:
            whose.append(generator)
    statements = []
    if len(winners) == 1:
        (winner,) = winners
        statements.append(f"Classifier: {winner}, chosen on validation text in most folds.")
    elif winners:
        parts = [f"{winner} for {_named(names)}" for winner, names in winners.items()]
        statements.append(f"Classifiers, chosen on validation text in most folds: {', '.join(parts)}.")
    if whose:
        statements.append(
            f"White box: the classifier was also given the log-probabilities of {_named(whose)}, so that it can find "
            "more."
        )
    left_out: dict[str, str] = {}
    for generator in digest.order:
        left_out |= digest.detail(generator, metric, "left_out") or {}
    statements += [f"{name} was not among the classifiers: {reason}." for name, reason in left_out.items()]
    return tuple(statements)


def judged_alone(digest: Digest, generator: str, metric: str) -> str | None:
    """Return in words who judged one generator in how many folds, and what each classifier would have given alone.

    None where there was but one classifier.
    """
    won, alone = (digest.detail(generator, metric, key) for key in ("won", "alone"))
    if won is None or alone is None:
        return None
    places = digest.places(metric)
    counts = Counter(won["folds"])
    judged = join_words([f"{name} in {counts[name]}" for name in alone if counts[name]])
    values = [
        f"{name} {number(found['value'], places)} {span(found['low'], found['high'], places)}".rstrip()
        for name, found in alone.items()
    ]
    n_folds = len(won["folds"])
    return (
        f"Validation text chose {judged} of the {n_folds} fold{'' if n_folds == 1 else 's'}. "
        f"On the same folds each alone gives {metric} {', '.join(values)}."
    )


def _named(generators: list[str]) -> str:
    if len(generators) > _MOST_NAMED:
        return f"{len(generators)} generators"
    return join_words(generators)
