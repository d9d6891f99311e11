"""Leaks: what generated text carries over from the training text, beyond what fresh real text shares with it.

Raw counts mislead: people write the same short sentence twice. So everything is counted in held-out real text, too, and
only what generated texts have more of, at the same lengths, is an excess.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from textassay.corpus.corpus import Corpus, TextOptions, Texts, corpora_from_texts
from textassay.corpus.named_texts import named_texts
from textassay.corpus.texts import as_texts
from textassay.display import Displayed
from textassay.errors import EmptyCorpusError, InputError, OptionError
from textassay.inspection.finding import REAL
from textassay.inspection.within import WITHIN, Within, examine_real, examine_side
from textassay.leakage.canaries import Canaries, find_canaries
from textassay.leakage.carried import COPIES, NEAR, QUANTITIES, Carried, Training
from textassay.leakage.excess import Excess, excess
from textassay.leakage.near_copies import SHORTEST
from textassay.leakage.passages import Passage, choose_passages
from textassay.leakage.personal_data import data_of
from textassay.resampling.multiplicity import holm
from textassay.seeding import stream

IntArray = npt.NDArray[np.int64]
Progress = Callable[[str, int, int], None]
Verdict = Literal["excess", "no excess", "unknown"]

TRAIN, PLANTED, CONTROLS = "(train)", "(canaries)", "(canary-controls)"
CANARIES = "canaries"
SEEN = 0.01  # an excess that must be seen for the verdict that there is none
_MOST_PASSAGES = 300  # of all generators together
_TRAINED_ON, _REPEATED = 0.9, 0.5  # share of real texts in the training text, of training texts that repeat
_HIGH_CONTROL = 0.1  # the same, one less the other
_FEWEST_GROUPS = 10
_RARE_LENGTHS, _OTHER_LENGTHS = 0.01, 0.1  # share of real texts at an end, of generated ones beyond both ends


@dataclass(frozen=True)
class PersonalData:
    """Personal data of generated texts that also stand in the training text."""

    n_texts: int
    kinds: Mapping[str, int]  # Kind to how many different ones
    n_real_texts: int  # Held-out texts with personal data that also stand in the training text


@dataclass(frozen=True)
class GeneratorLeaks:
    """What one generator carries over."""

    generator: str
    n_texts: int
    excesses: Mapping[str, Excess]  # By quantity
    n_sources: Mapping[str, int]  # Different training texts that the texts of each quantity come from
    p_adjusted: Mapping[str, float]  # Of each test, by Holm, over those of all generators
    significant: tuple[str, ...]  # Tests by which there is an excess
    verdict: Verdict
    deciding: str  # The quantity of which an excess would have had to be found: near copies, if texts are long enough
    detectable: Mapping[str, float]  # The least excess that would be found with probability 0.8, by quantity
    texts_needed: tuple[int, bool] | None  # Where unknown: real texts; whether as many generated ones are needed, too
    n_incomplete: int  # Texts for which not all training texts that could be near were looked at
    personal_data: PersonalData
    canaries: Canaries | None
    run_shares: tuple[float, ...]  # Share of texts whose longest run has at least 1, 2, ... tokens


@dataclass(frozen=True)
class Leaks(Displayed, document="textassay.leakage.document:leaks_document"):
    """What generators carry over from their training text.

    Attributes
    ----------
    generators
        Of each: `excesses`, by quantity (``copies``, ``near copies``, ``long runs``, ``rare runs``), with counts, the
        difference, its interval and p-value; `p_adjusted`; `verdict` (``excess``, ``no excess`` or ``unknown``);
        `personal_data`; `canaries`.
    n_train, n_real
        Numbers of training texts and of held-out real texts, without empty ones.
    limits
        Tokens that a run must exceed to count, by quantity.
    real_run_shares
        Share of the held-out texts whose longest run has at least 1, 2, ... tokens.
    passages
        Generated texts beside training texts, at most 300.
    canaries_in_train
        How many canaries stand in the training text; None without canaries.
    dependence
        Why texts are tested in groups, in words; empty where they are independent.
    warnings
        What a reader must know, in sentences.
    level
        Of intervals; the error rate of all tests together is one minus it.
    """

    generators: tuple[GeneratorLeaks, ...]
    n_train: int
    n_real: int
    limits: Mapping[str, int]
    real_run_shares: tuple[float, ...]
    passages: tuple[Passage, ...]
    canaries_in_train: int | None
    dependence: str
    warnings: tuple[str, ...]
    level: float
    seed: int
    tokenizer: str

    @property
    def status(self) -> int:
        """Exit status: 1 if a generator has an excess, else 3 if that is unknown of one, else 0."""
        verdicts = {one.verdict for one in self.generators}
        return 1 if "excess" in verdicts else 3 if "unknown" in verdicts else 0

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "version": version("textassay"),
            "n_train": self.n_train,
            "n_real": self.n_real,
            "level": self.level,
            "seed": self.seed,
            "tokenizer": self.tokenizer,
            "limits": dict(self.limits),
            "generators": [_summary(one) for one in self.generators],
            "results": [_row(one, quantity) for one in self.generators for quantity in QUANTITIES],
            "passages": [passage.to_dict() for passage in self.passages],
            "canaries_in_train": self.canaries_in_train,
            "dependence": self.dependence,
            "warnings": list(self.warnings),
        }


def leaks(
    generated: Texts | Mapping[str, Texts],
    real: Texts,
    *,
    train: Texts,
    by: str | None = None,
    canaries: Texts = None,
    canary_controls: Texts = None,
    independent: bool = False,
    show_personal: bool = False,
    level: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
    **text: Unpack[TextOptions],
) -> Leaks:
    """Return what generated texts carry over from the training text, beyond what fresh real text shares with it.

    Parameters
    ----------
    generated
        Texts, name to texts, or a table with `by`, as in `compare`.
    real
        Held-out real text of the same kind as the training text: the control.
    train
        What the generators learnt from.
    by
        The column of the table that names the generator of each text.
    canaries, canary_controls
        Texts that were planted in the training text, and texts of the same kind that were not.
    independent
        Whether texts are taken for independent draws, and not examined.
    show_personal
        Whether passages show personal data, such as e-mail addresses; they are masked by default.
    level
        Of intervals, in (0, 1); the error rate of all tests together is one minus it.
    seed
        Of limits, which are learnt from 10,000 training texts, and of permutations of canaries.
    progress
        Is called with what is done, how many steps are done, and of how many.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Leaks
        Counts with intervals and tests of the excess, passages side by side, personal data, canaries.

    Raises
    ------
    InputError
        If nearly all of the real text stands in the training text, so that it is no control.
    EmptyCorpusError
        If a side has no text with a token.
    OptionError
        If `level` is out of range, or controls are given without canaries.
    """
    if not 0 < level < 1:
        raise OptionError(f"level must be between 0 and 1, got {level}")
    if canary_controls is not None and canaries is None:
        raise OptionError("canary controls need canaries: give both, or leave the controls out")
    named, real = named_texts(generated, real, by=by)
    if taken := {REAL, TRAIN, PLANTED, CONTROLS} & named.keys():
        raise OptionError(f"'{min(taken)}' cannot be the name of a generator: another text has that name")
    texts = {REAL: real, TRAIN: train, **named}
    texts |= {name: one for name, one in ((PLANTED, canaries), (CONTROLS, canary_controls)) if one is not None}
    files = {name: one if isinstance(one, Corpus) else as_texts(one, name) for name, one in texts.items()}
    corpora = corpora_from_texts(files, **text)
    warnings = _of_empty_texts(corpora)
    tell = progress or _silent
    tell("searching the training text", 0, len(named) + 2)
    training = Training.of(corpora[TRAIN], seed=seed)
    tell("searching the held-out text", 1, len(named) + 2)
    control = training.shared_with(corpora[REAL])
    warnings += _of_control(control, training.share_repeated)
    warnings += [_of_lengths(name, corpora[name], corpora[REAL]) for name in named]
    within = Within((), (), None) if independent else examine_real(corpora[REAL])
    words, sides = list(within.words), {}
    for number, name in enumerate(named, start=2):
        tell(f"looking through {name}", number, len(named) + 2)
        own = within
        if not independent:
            own = examine_side(corpora[name], name, neighbours=WITHIN in within.kinds)
            words += own.words
        sides[name] = _Counted.of(
            training.shared_with(corpora[name]), own.groups, control, within.groups, training, level
        )
    tell("counting", len(named) + 2, len(named) + 2)
    planted = {
        name: find_canaries(
            corpora[PLANTED],
            corpora.get(CONTROLS),
            corpora[name],
            rng=stream(seed, "leaks", name, CANARIES),
            show_personal=show_personal,
        )
        for name in (named if PLANTED in corpora else ())
    }
    p_values = {(name, of): one.p_value for name, side in sides.items() for of, one in side.excesses.items()}
    p_values |= {(name, CANARIES): one.p_value for name, one in planted.items() if one.p_value is not None}
    adjusted = dict(zip(p_values, holm(np.array([*p_values.values()])).tolist(), strict=True))
    known = {(kind, data) for _, kind, data in data_of(corpora[TRAIN].texts)}
    n_real_with_data = len(_known_data(corpora[REAL], known)[0])
    results, passages = [], []
    for name, side in sides.items():
        own_p = {test: p for (generator, test), p in adjusted.items() if generator == name}
        where, kinds = _known_data(corpora[name], known)
        results.append(
            GeneratorLeaks(
                name,
                int(np.count_nonzero(corpora[name].lengths)),
                side.excesses,
                side.n_sources(training.limits),
                own_p,
                **_verdict(side, own_p, level, len(p_values), control),
                n_incomplete=int(np.count_nonzero(~side.carried.near.is_complete)),
                personal_data=PersonalData(len(where), kinds, n_real_with_data),
                canaries=planted.get(name),
                run_shares=side.carried.run_shares(),
            )
        )
        passages += choose_passages(
            name, side.carried, corpora[TRAIN], training.limits, most=max(1, _MOST_PASSAGES // len(named)),
            show_personal=show_personal,
        )  # fmt: skip
    in_train = None
    if PLANTED in corpora:
        in_train = int(np.sum(training.suffixes.runs(corpora[PLANTED]).lengths == corpora[PLANTED].lengths))
    is_grouped = within.groups is not None or any(side.groups is not None for side in sides.values())
    n_train, n_real = (int(np.count_nonzero(corpora[side].lengths)) for side in (TRAIN, REAL))
    return Leaks(
        tuple(results), n_train, n_real, training.limits, control.run_shares(), tuple(passages), in_train,
        "; ".join(words) or ("as they were given" if is_grouped else ""), tuple(filter(None, warnings)), level, seed,
        corpora[REAL].tokenizer,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Counted:
    """What the texts of a generator share with the training text, beside those of the held-out text."""

    carried: Carried
    groups: IntArray | None
    excesses: Mapping[str, Excess]
    has_few_groups: bool

    @classmethod
    def of(
        cls, carried: Carried, groups: IntArray | None, control: Carried, real_groups: IntArray | None,
        training: Training, level: float,
    ) -> "_Counted":  # fmt: skip
        limits = training.limits
        excesses = {
            of: excess(carried.side(of, limits, groups), control.side(of, limits, real_groups), level=level)
            for of in QUANTITIES
        }
        n_groups = [len(np.unique(each)) for each in (groups, real_groups) if each is not None]
        return cls(carried, groups, excesses, min(n_groups, default=_FEWEST_GROUPS) < _FEWEST_GROUPS)

    def n_sources(self, limits: Mapping[str, int]) -> dict[str, int]:
        """Return how many different training texts the texts of each quantity come from."""
        return {of: len(np.unique(self.carried.sources(of)[self.carried.has(of, limits)])) for of in QUANTITIES}


def _verdict(
    side: _Counted, p_values: Mapping[str, float], level: float, n_tests: int, control: Carried
) -> dict[str, Any]:  # fmt: skip
    """Return the fields of a result that say whether there is an excess, or would have been seen."""
    alpha = (1 - level) / n_tests
    significant = tuple(test for test, p in p_values.items() if p < 1 - level and not side.has_few_groups)
    detectable = {of: one.detectable(alpha) for of, one in side.excesses.items()}
    near = side.excesses[NEAR]
    deciding = NEAR if near.n_generated and near.n_real else COPIES
    is_known = detectable[deciding] <= SEEN and not side.has_few_groups
    needed = None
    if not (is_known or side.has_few_groups):
        n, both = side.excesses[deciding].texts_needed(SEEN, alpha)
        n_able = max(1, side.excesses[deciding].n_real)  # not all texts are long enough
        needed = _rounded_up(n * np.count_nonzero(control.corpus.lengths) / n_able), both
    return {
        "significant": significant,
        "verdict": "excess" if significant else "no excess" if is_known else "unknown",
        "deciding": deciding,
        "detectable": detectable,
        "texts_needed": None if significant else needed,
    }


def _rounded_up(n: float) -> int:
    """Return a number with two digits that are not 0."""
    unit = 10.0 ** max(0, len(str(math.ceil(n))) - 2)
    return math.ceil(n / unit) * round(unit)


def _of_empty_texts(corpora: Mapping[str, Corpus]) -> list[str]:
    """Return what to warn of texts without tokens; raise where a corpus has no others."""
    warnings = []
    for name, corpus in corpora.items():
        n_empty = int(np.count_nonzero(corpus.lengths == 0))
        if n_empty == len(corpus):
            raise EmptyCorpusError(f"{name}: no text has a token")
        if n_empty:
            warnings.append(f"{name}: {n_empty:,} of {len(corpus):,} texts have no token and are not counted.")
    return warnings


def _silent(what: str, n_done: int, n: int) -> None:
    """Tell nobody."""


def _of_lengths(name: str, generated: Corpus, real: Corpus) -> str:
    """Return what to warn of where generated texts have lengths that held-out ones do not have."""
    low, high = np.quantile(real.lengths[real.lengths > 0], [_RARE_LENGTHS, 1 - _RARE_LENGTHS])
    lengths = generated.lengths[generated.lengths > 0]
    share = float(np.mean((lengths < low) | (lengths > high)))
    if share < _OTHER_LENGTHS:
        return ""
    return (
        f"{name}: {100 * share:.0f} % of the texts are shorter or longer than nearly all held-out texts ({low:.0f} "
        f"to {high:.0f} tokens). Held-out text is no control for these."
    )


def _of_control(control: Carried, share_repeated: float) -> list[str]:
    """Return what to warn of where held-out text stands in the training text; raise where it is no control."""
    long = control.corpus.lengths >= SHORTEST
    copied = float((control.copies[long if long.any() else slice(None)] >= 0).mean())
    if copied >= _TRAINED_ON and share_repeated < _REPEATED:
        raise InputError(
            f"{100 * copied:.0f} % of the held-out text occurs in the training text, so it is not fresh text: give "
            "--real text outside the training text"
        )
    share = float((control.copies >= 0).mean())
    if share < share_repeated + _HIGH_CONTROL:
        return []
    return [
        f"{100 * share:.0f} % of the held-out texts occur in the training text, where {100 * share_repeated:.0f} % "
        "of the texts are repeats. Some held-out text may be training text, which hides leaks."
    ]


def _known_data(corpus: Corpus, known: Collection[tuple[str, str]]) -> tuple[list[int], dict[str, int]]:
    """Return which texts have personal data that is known, and how many different ones there are of each kind."""
    found = [(place, kind, data) for place, kind, data in data_of(corpus.texts) if (kind, data) in known]
    kinds = Counter(kind for kind, _ in {(kind, data) for _, kind, data in found})
    return sorted({place for place, _, _ in found}), dict(sorted(kinds.items()))


def _row(one: GeneratorLeaks, quantity: str) -> dict[str, Any]:
    found = one.excesses[quantity]
    low, high = (None, None) if found.interval is None else (found.interval.low, found.interval.high)
    return {
        "generator": one.generator,
        "quantity": quantity,
        "n_generated": found.n_generated,
        "count_generated": found.count_generated,
        "n_real": found.n_real,
        "count_real": found.count_real,
        "share": _finite(found.share),
        "expected": _finite(found.expected),
        "excess": _finite(found.difference),
        "low": low,
        "high": high,
        "p_value": found.p_value,
        "p_adjusted": one.p_adjusted[quantity],
        "detectable": _finite(one.detectable[quantity]),
        "n_training_texts": one.n_sources[quantity],
    }


def _summary(one: GeneratorLeaks) -> dict[str, Any]:
    return {
        "generator": one.generator,
        "n_texts": one.n_texts,
        "verdict": one.verdict,
        "significant": list(one.significant),
        "texts_needed": None if one.texts_needed is None else one.texts_needed[0],
        "n_incomplete": one.n_incomplete,
        "personal_data": asdict(one.personal_data),
        "canaries": None if one.canaries is None else asdict(one.canaries),
        "run_shares": list(one.run_shares),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
