"""At least what share of a corpus is machine-written, from clean human text alone.

If a corpus is a mixture of human text like the clean text and a share s of anything else, its total variation from the
clean text is at most s. So a lower bound of the total variation is one of s, whatever wrote the rest: the certified
bound, or the lower end of dd's interval, which is often higher as it tests all texts. Human text drifts, too: of clean
text of the corpus's own time the judge finds some distance from the older text, which is no machine's. The upper end of
that distance is taken off. That it covers the drift holds for this judge: one that sees more might find more drift.

The error rate is divided among all these ends: of each corpus the bound and one end of the interval, which has half.

Nothing says that a share is at most so much: text that no judge can tell from the clean text may be of any origin.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Unpack

from scipy.special import ndtri

from textassay.comparison.comparison import FLOOR, Comparison
from textassay.comparison.occurrence_mixture import MixtureShare, OccurrenceMixture
from textassay.comparison.run import compare
from textassay.corpus.corpus import Corpus, TextOptions, Texts, corpora_from_texts
from textassay.corpus.named_texts import named_texts
from textassay.corpus.texts import as_texts
from textassay.display import Displayed
from textassay.errors import InputError, OptionError, check_range
from textassay.estimate import Estimate, Interval
from textassay.metric.base import Effort

Progress = Callable[[str, int, int], None]

LATER, MACHINE = "(later)", "(machine)"
_DD = "dd"
SEEN = 0.1  # a share that must have been seen for "none was found" to say something
_Z_POWER = 0.84  # the normal quantile of 80 %


@dataclass(frozen=True)
class CorpusShare:
    """What is known of one corpus."""

    name: str
    n_texts: int
    at_least: float  # Lower bound of the share, in [0, 1], drift taken off
    certified: float  # Certified lower bound of the total variation from the clean text, in [0, 1]
    distance: float  # dd from the clean text, in [-1, 1], and the ends of its interval
    low: float
    high: float
    seen: float  # The least share of text that a judge always knows which would have been found, with a chance of 0.8
    by_words: MixtureShare | None  # With machine text: the most likely share

    @property
    def is_unknown(self) -> bool:
        """Whether nothing was found, and a tenth need not have been."""
        return self.at_least == 0 and self.seen > SEEN


@dataclass(frozen=True)
class Share(Displayed, document="textassay.comparison.share_document:share_document"):
    """At least what share of each corpus is not like clean human text; made by `share`.

    Attributes
    ----------
    corpora
        Of each: `at_least`, `certified`, `distance` with `low` and `high`, `seen`, and `by_words`.
    n_real
        Number of clean texts.
    drift
        Upper end of the distance of the clean later text from the older; None without later text.
    later_by_words
        The most likely share of machine text in the clean later text, where both are given: there is none in it.
    at_most
        The share above which `status` is 1.
    judge
        What told the texts apart.
    warnings
        What a reader must know, in sentences.
    level
        Of all bounds together; intervals of dd have a higher one.
    """

    corpora: tuple[CorpusShare, ...]
    n_real: int
    drift: float | None
    later_by_words: MixtureShare | None
    at_most: float
    judge: str
    warnings: tuple[str, ...]
    level: float
    seed: int

    @property
    def status(self) -> int:
        """Exit status: 1 if a share is above `at_most`, else 3 if of one a tenth need not have been seen, else 0."""
        if any(one.at_least > self.at_most for one in self.corpora):
            return 1
        return 3 if any(one.is_unknown for one in self.corpora) else 0

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {"version": version("textassay"), **asdict(self)}


def share(
    texts: Texts | Mapping[str, Texts],
    real: Texts,
    *,
    later: Texts = None,
    machine: Texts = None,
    by: str | None = None,
    at_most: float = 0.0,
    effort: Effort = "default",
    prior: str | None = None,
    independent: bool = False,
    level: float = 0.95,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    **text: Unpack[TextOptions],
) -> Share:
    """Return at least what share of texts is not like clean human text, so machine-written if human text did not drift.

    Parameters
    ----------
    texts
        Texts of unknown origin, name to texts, or a table with `by`, as in `compare`.
    real
        Clean human text of the same kind, such as that of a year before there were models.
    later
        Other clean human text, of the time of `texts`: how far human text drifted, which is taken off.
    machine
        Machine text of the same kind. With it, the most likely share by the words that texts hold is estimated, too.
    by
        The column of the table that names the source of each text.
    at_most
        The share above which `Share.status` is 1, in [0, 1).
    effort, prior, independent, workers
        As in `compare`.
    level
        Of all bounds together, in (0, 1).
    seed
        Decides the folds of dd.
    progress
        Is called with what is done, how many steps are done, and of how many.
    text
        How all texts are prepared: `tokenizer`, `lowercase`, `normalize`, `max_tokens`, as in `compare`.

    Returns
    -------
    Share
        Of each corpus a lower bound of the share, what it was computed from, and what would have been seen.

    Raises
    ------
    OptionError
        If `at_most` or `level` is out of range.
    TooFewSentencesError
        If a side has too few texts for dd.
    """
    check_range("at_most", at_most, 0, 1)
    named, real = named_texts(texts, real, by=by)
    if taken := {LATER, MACHINE} & named.keys():
        raise OptionError(f"'{min(taken)}' cannot be the name of a corpus: another text has that name")
    beside = {name: one for name, one in ((LATER, later), (MACHINE, machine)) if one is not None}
    given = {FLOOR: real, **named, **beside}
    files: dict[str, Any] = {
        name: one if isinstance(one, Corpus) else as_texts(one, name) for name, one in given.items()
    }
    n_ends = 1.5 * len(named) + 0.5 * (LATER in files)
    compared = compare(
        {name: files[name] for name in (*named, *([LATER] if LATER in files else ()))},
        files[FLOOR],
        metrics=[_DD],
        explain=False,
        effort=effort,
        prior=prior,
        independent=independent,
        level=1 - (1 - level) / n_ends,
        seed=seed,
        workers=workers,
        progress=progress,
        **text,
    )
    drift = None if LATER not in files else max(0.0, _dd_of(compared, LATER)[1].high)
    by_words: dict[str, MixtureShare] = {}
    if MACHINE in files:
        corpora = corpora_from_texts(files, **text)
        mixture = OccurrenceMixture.fit(corpora[FLOOR], corpora[MACHINE])
        judged = [name for name in corpora if name not in (FLOOR, MACHINE)]
        by_words = {name: mixture.share(corpora[name], level=level, seed=seed) for name in judged}
    found = tuple(_corpus_share(name, *_dd_of(compared, name), drift, by_words.get(name)) for name in named)
    settings = _dd_of(compared, found[0].name)[0].signature.settings
    judge = ", ".join(settings[key] for key in ("clf", "prior") if key in settings)
    return Share(
        found,
        compared.real.n_sentences,
        drift,
        by_words.get(LATER),
        at_most,
        judge,
        _warnings(compared, drift),
        level,
        seed,
    )


def _dd_of(compared: Comparison, name: str) -> tuple[Estimate, Interval]:
    """Return the dd of a corpus with its interval; raise where it has none."""
    result = next(one for one in compared.results if one.generator == name and one.metric == _DD)
    found = result.estimate
    if found is None or found.interval is None or math.isnan(found.value):
        raise InputError(f"{name} cannot be compared with the clean text: {result.error or 'dd has no interval here'}")
    return found, found.interval


def _corpus_share(
    name: str, found: Estimate, interval: Interval, drift: float | None, by_words: MixtureShare | None
) -> CorpusShare:
    certified = max(0.0, found.details["certified_bound"]["value"] or 0.0)
    off = drift or 0.0
    return CorpusShare(
        name=name,
        n_texts=found.sizes["n_generated"],
        at_least=max(0.0, certified - off, interval.low - off),
        certified=certified,
        distance=found.value,
        low=interval.low,
        high=interval.high,
        seen=min(1.0, off + (found.value - interval.low) * (1 + _Z_POWER / float(ndtri((1 + interval.level) / 2)))),
        by_words=by_words,
    )


def _warnings(compared: Comparison, drift: float | None) -> tuple[str, ...]:
    told = [f"{one.generator}: {one.message} {one.remedy}" for one in compared.findings if one.severity == "warning"]
    if drift is None:
        told.append(
            "Any change in human writing counts towards the share: give clean human text of the corpus's time as "
            "--later."
        )
    return (*told, *compared.warnings)
