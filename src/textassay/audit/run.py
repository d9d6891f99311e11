"""Auditing a model: draw a reference, then look, batch by batch, whether its answers have changed."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from math import comb, log
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from textassay.audit.folder import ANSWERS, REFERENCE, AuditFolder, AuditPlan, Look, Samples, with_look
from textassay.audit.statistic import N_RESAMPLES, Sample, examine_batch
from textassay.corpus.corpus import corpora_from_texts
from textassay.corpus.texts import read_texts
from textassay.display import Displayed
from textassay.endpoints import names_endpoint, settings_of
from textassay.errors import FindingWarning, InputError, OptionError, TooFewSentencesError, check_range
from textassay.estimate import Interval
from textassay.metric.discrepancy import dd
from textassay.resampling.change import THRESHOLD, change_evidence, steps
from textassay.seeding import stream
from textassay.source.endpoint import Answer, EndpointModel, EndpointSettings
from textassay.storage import one_run_at_a_time

SAMPLES, LOOK_SAMPLES, PILOT_SAMPLES = 10, 5, 4
_FEWEST_FOR_DD = 50  # answers a side
_N_CHANGED = 5  # prompts that are named

Announce = Callable[[EndpointModel, int], object]  # the model, and how many requests are to be made
Path_ = str | PathLike[str]


@dataclass(frozen=True)
class ChangedPrompt:
    """A prompt with its score, in standard deviations of what no change gives, an earlier and a new answer."""

    prompt: str
    score: float
    earlier: str
    new: str


@dataclass(frozen=True, kw_only=True)
class Audit(Displayed, document="textassay.audit.document:audit_document"):
    """What an audit has found so far.

    Attributes
    ----------
    verdict
        ``"changed"``, ``"nothing found"``, or ``"could not tell"``, for the `reason`.
    e, largest
        The evidence now and at its largest, which decides: from 20 on something has changed. Without a change it gets
        there with a probability of at most 5 %, however often one looks.
    since
        The look from which on a change explains the answers best, counted from 1; None where nothing was found.
    dd, interval
        How far the answers since then (all new answers where nothing was found) are from the earlier ones: the
        distributional discrepancy at effort quick, with its 95 % interval; None with fewer than 50 answers a side. The
        interval does not allow for looking repeatedly.
    log_prob_shift
        Mean change of the log-probabilities of first tokens, in nats; None without them.
    prompts
        Those that changed most, by their scores since then.
    n_prompts, n_reference, looks, n_new
        Sizes, every look, and how many of them this call has added.
    requests, tokens, budget
        Requests answered so far, tokens of their answers as the endpoint counts them, and requests that may be made.
    """

    verdict: Literal["changed", "nothing found", "could not tell"]
    reason: str
    model: str | None
    e: float
    largest: float
    since: int | None
    dd: float | None
    interval: Interval | None
    log_prob_shift: float | None
    prompts: tuple[ChangedPrompt, ...]
    n_prompts: int
    n_reference: int
    looks: tuple[Look, ...]
    n_new: int
    requests: int | None
    tokens: int | None
    budget: int | None

    @property
    def changed(self) -> bool:
        return self.verdict == "changed"

    @property
    def status(self) -> int:
        """Exit status of the command: 0 nothing found, 1 changed, 3 could not tell."""
        return {"nothing found": 0, "changed": 1, "could not tell": 3}[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        looks = [{name: value for name, value in asdict(one).items() if name != "checksum"} for one in self.looks]
        interval = None if self.interval is None else asdict(self.interval)
        return {**{name: getattr(self, name) for name in _PLAIN}, "interval": interval, "looks": looks,
                "prompts": [asdict(one) for one in self.prompts]}  # fmt: skip


_PLAIN = (
    "verdict", "reason", "model", "e", "largest", "since", "dd", "log_prob_shift", "n_prompts", "n_reference", "n_new",
    "requests", "tokens", "budget",
)  # fmt: skip


def start_audit(
    out: Path_,
    *,
    model: str | None = None,
    prompts: Sequence[str] | Path_ | None = None,
    texts: Any = None,
    samples: int = SAMPLES,
    choose: int | None = None,
    log_probs: bool = False,
    budget: int | None = None,
    seed: int = 0,
    column: str | None = None,
    prompt_column: str | None = None,
    announce: Announce | None = None,
) -> AuditPlan:
    """Keep the answers that later ones are compared with in the folder `out`.

    Parameters
    ----------
    out
        The folder of the audit, a new one. Interrupted, the same call goes on and asks for no answer twice.
    model, prompts
        ``openai:MODEL@URL`` with its settings, and what to ask it: a list, or a file of one prompt a line or a table
        with a column ``prompt``.
    texts
        Instead of both: answers with their prompts, as `read_texts` reads them.
    samples
        Answers to each prompt, at least 2.
    choose
        Take so many of the prompts: those whose answers begin most differently in a pilot of four answers each, which
        are not used again.
    log_probs
        Ask for log-probabilities of the first token as well, and for one token where `model` does not say otherwise.
    budget
        Requests that may be made in all; a look that would exceed it is not begun.

    Raises
    ------
    OptionError
        If options contradict each other or are out of range.
    InputError
        If there is an audit in `out`, a file cannot be read, or the endpoint does not answer.
    """
    folder = AuditFolder(Path(out))
    check_range("samples", samples, 2)
    check_range("choose", choose, 1)
    check_range("budget", budget, 1)
    if folder.exists:
        raise InputError(
            f"{out} already contains an audit: test new answers with 'textassay audit check {out}', or name another "
            "folder"
        )
    if (texts is None) == (model is None):
        raise OptionError(
            "give --model and --prompts to draw answers from an endpoint, or --texts with existing answers"
        )
    if texts is not None:
        if prompts is not None or choose is not None or log_probs or budget is not None:
            raise OptionError("--prompts, --choose, --log-probs and --budget apply to --model only: leave them out")
        by_prompt = _by_prompt(texts, column, prompt_column)
        plan = AuditPlan(tuple(by_prompt), seed=seed, started=_now())
        folder.write_answers(folder.path / REFERENCE, plan.prompts, list(by_prompt.values()))
        folder.write_plan(plan)
        return plan
    if prompts is None:
        raise OptionError("--model needs --prompts: a file with one prompt per line")
    asked = _prompts(prompts)
    plan = AuditPlan(asked, str(model), samples, seed, log_probs, budget)
    n_pilot = 0 if choose is None else PILOT_SAMPLES * len(asked)
    n_needed = n_pilot + samples * min(len(asked), choose or len(asked))
    if budget is not None and n_needed > budget:
        raise OptionError(f"--budget {budget} is too small: the reference needs {n_needed} requests")
    _model(plan, folder)  # raises for a wrong address
    with one_run_at_a_time(folder.path / "audit.lock"):
        if choose is not None:
            plan = replace(plan, prompts=_undecided(plan, folder, choose, announce), n_pilot=n_pilot)
        answers = _draw(plan, folder, 0, samples, announce)
        folder.write_answers(folder.path / REFERENCE, plan.prompts, _samples(answers, len(plan.prompts), plan))
        plan = replace(plan, tokens=_tokens(answers), started=_now())
        folder.write_plan(plan)
    return plan


def check_audit(
    folder: Path_,
    *,
    texts: Any = None,
    samples: int = LOOK_SAMPLES,
    looks: int = 1,
    budget: int | None = None,
    column: str | None = None,
    prompt_column: str | None = None,
    announce: Announce | None = None,
) -> Audit:
    """Look at new answers, and return what all looks so far say.

    Where a change has been found nothing is asked any more, and the finding is returned again.

    Parameters
    ----------
    folder
        Where `start_audit` has put the reference. Interrupted, the same call goes on and asks for no answer twice.
    texts
        New answers with their prompts, for an audit of texts; without them the looks so far are told.
    samples
        New answers to each prompt.
    looks
        Looks at most, each at so many answers; it stops when a change is found. With 0, those so far are told.
    budget
        Requests that the audit may make in all, from its start; replaces the one it has.

    Raises
    ------
    InputError
        If there is no audit, a file cannot be read or was looked at before, or the endpoint does not answer.
    """
    check_range("samples", samples, 1)
    check_range("looks", looks, 0)
    check_range("budget", budget, 1)
    files = AuditFolder(Path(folder))
    files.read_plan()  # raises before a lock is made
    with one_run_at_a_time(files.path / "audit.lock"):
        plan = files.read_plan()
        n_before = len(plan.looks)
        if budget is not None:
            plan = replace(plan, budget=budget)
            files.write_plan(plan)
        if plan.model is None and budget is not None:
            raise OptionError("--budget applies to an endpoint, but this audit has texts: leave it out")
        if plan.model is not None and texts is not None:
            raise OptionError(
                f"this audit draws its answers from {plan.model}: leave --texts out, or start another audit with "
                "--texts"
            )
        reason = ""
        if texts is not None and not _is_decided(plan):
            plan = _look(plan, files, _matched(_by_prompt(texts, column, prompt_column), plan))
        for _ in range(looks if plan.model is not None else 0):
            if _is_decided(plan):
                break
            plan = plan if plan.open_samples is not None else replace(plan, open_samples=samples)
            n_drawn = _n_drawn(plan)
            n = len(plan.prompts) * (plan.open_samples or 0)
            if plan.budget is not None and n_drawn + plan.n_pilot + n > plan.budget:
                reason = f"a look takes {n:,} requests, and {n_drawn + plan.n_pilot:,} of {plan.budget:,} are spent"
                plan = replace(plan, open_samples=None)
                break
            files.write_plan(plan)
            first = n_drawn // len(plan.prompts)
            answers = _draw(plan, files, first, first + (plan.open_samples or 0), announce)
            plan = _look(plan, files, _samples(answers, len(plan.prompts), plan), _tokens(answers))
        return _result(plan, files, reason, len(plan.looks) - n_before)


def _look(plan: AuditPlan, files: AuditFolder, new: Samples, tokens: int | None = None) -> AuditPlan:
    """Test a batch of new answers, and keep what came out."""
    number = len(plan.looks) + 1
    content = files.write_answers(files.look_path(number), plan.prompts, new)
    if any(look.checksum == content for look in plan.looks):
        files.look_path(number).unlink()
        raise InputError("these answers were tested before: draw new ones, since each answer may be tested only once")
    earlier = _joined(_all_answers(plan, files))
    rng = stream(plan.seed, "audit", "look", number)
    batch = examine_batch(earlier, new, rng=rng, n_resamples=N_RESAMPLES)
    evidence = change_evidence([*(look.p_value for look in plan.looks), batch.p_value])
    look = Look(
        _now(), sum(map(len, new)), batch.p_value, evidence.e, batch.shown_by, tuple(batch.scores.round(3).tolist()),
        content, tokens,
    )  # fmt: skip
    plan = with_look(plan, look)
    files.write_plan(plan)
    return plan


def _result(plan: AuditPlan, files: AuditFolder, reason: str, n_new: int) -> Audit:
    evidence = change_evidence([look.p_value for look in plan.looks])
    answers = _all_answers(plan, files)
    found = evidence.largest >= THRESHOLD
    since = (evidence.since or 0) if found else 0
    earlier, new = _joined(answers[: since + 1]), _joined(answers[since + 1 :], len(plan.prompts))
    if not found:
        reason = reason or _too_little(answers)
    distance = _distance(earlier, new, plan.seed)
    requests = None if plan.model is None else plan.n_pilot + sum(len(own) for part in answers for own in part)
    tokens = [plan.tokens, *(look.tokens for look in plan.looks)]
    return Audit(
        verdict="changed" if found else "could not tell" if reason else "nothing found",
        reason=reason,
        model=plan.model,
        e=evidence.e,
        largest=evidence.largest,
        since=since + 1 if found else None,
        dd=None if distance is None else distance[0],
        interval=None if distance is None else distance[1],
        log_prob_shift=_log_prob_shift(earlier, new) if plan.log_probs else None,
        prompts=_changed_prompts(plan, since, earlier, new) if found else (),
        n_prompts=len(plan.prompts),
        n_reference=sum(map(len, answers[0])),
        looks=plan.looks,
        n_new=n_new,
        requests=requests,
        tokens=None if None in tokens else sum(n for n in tokens if n is not None),
        budget=plan.budget,
    )


def _is_decided(plan: AuditPlan) -> bool:
    return change_evidence([look.p_value for look in plan.looks]).largest >= THRESHOLD


def _too_little(answers: Sequence[Samples]) -> str:
    """Return why no first look could find anything; empty where it could."""
    if len(answers) == 1:
        return "no answers beside the reference have been tested yet"
    log_choices = sum(
        log(comb(len(before) + len(after), len(after)))
        for before, after in zip(answers[0], answers[1], strict=True)
        if before and after
    )
    if log_choices >= -log(steps(1)[0]):
        return ""
    return "there are too few answers to detect any change: add prompts, or ask for more answers to each"


def _distance(earlier: Samples, new: Samples, seed: int) -> tuple[float, Interval | None] | None:
    """Return dd of new from earlier answers, those to one prompt as a group; None where it cannot be measured."""
    sides = {"earlier": earlier, "new": new}
    texts = {name: [sample.text for own in side for sample in own] for name, side in sides.items()}
    if min(map(len, texts.values())) < _FEWEST_FOR_DD:
        return None
    corpora = corpora_from_texts(texts)
    grouped = {
        name: replace(corpora[name], groups=np.repeat(np.arange(len(side)), [len(own) for own in side]))
        for name, side in sides.items()
    }
    with suppress(TooFewSentencesError):
        estimate = dd(grouped["new"], grouped["earlier"], effort="quick", seed=seed, independent=False)
        return (estimate.value, estimate.interval) if np.isfinite(estimate.value) else None
    return None


def _log_prob_shift(earlier: Samples, new: Samples) -> float | None:
    """Return the mean over prompts and tokens of both sides of how much the mean log-probability has moved."""
    shifts = []
    for sides in zip(earlier, new, strict=True):
        told = [[sample.log_probs for sample in side if sample.log_probs] for side in sides]
        if all(told):
            tokens = set.intersection(*(set(row) for side in told for row in side))
            shifts += [abs(float(np.diff([np.mean([row[t] for row in side]) for side in told])[0])) for t in tokens]
    return float(np.mean(shifts)) if shifts else None


def _changed_prompts(plan: AuditPlan, since: int, earlier: Samples, new: Samples) -> tuple[ChangedPrompt, ...]:
    scores = np.sum([look.scores for look in plan.looks[since:]], axis=0) / np.sqrt(len(plan.looks) - since)
    both = [place for place in np.argsort(-scores, kind="stable").tolist() if earlier[place] and new[place]]
    return tuple(
        ChangedPrompt(plan.prompts[place], float(scores[place]), earlier[place][0].text, new[place][-1].text)
        for place in both[:_N_CHANGED]
    )


def _all_answers(plan: AuditPlan, files: AuditFolder) -> list[Samples]:
    """Return the reference and the answers of each look."""
    paths = [files.path / REFERENCE, *(files.look_path(number + 1) for number in range(len(plan.looks)))]
    return [files.read_answers(path, plan.prompts) for path in paths]


def _joined(parts: Sequence[Samples], n_prompts: int = 0) -> Samples:
    if not parts:
        return [[] for _ in range(n_prompts)]
    return [[sample for own in of_prompt for sample in own] for of_prompt in zip(*parts, strict=True)]


# Texts that are given
def _by_prompt(texts: Any, column: str | None, prompt_column: str | None) -> dict[str, list[Sample]]:
    read = read_texts(texts, column=column, prompt_column=prompt_column)
    if read.prompts is None and prompt_column is None and read.has_columns:
        read = read_texts(texts, column=column, prompt_column="prompt")
    if read.prompts is None:
        raise InputError(f"{read.name} has no prompts: name the column that contains them with --prompt-column")
    own: dict[str, list[Sample]] = {}
    for prompt, text in zip(read.prompts, read.texts, strict=True):
        own.setdefault(prompt, []).append(Sample(text))
    return own


def _matched(by_prompt: dict[str, list[Sample]], plan: AuditPlan) -> Samples:
    """Return the new answers to each prompt of the reference."""
    own = [by_prompt.get(prompt, []) for prompt in plan.prompts]
    n_strange = len(by_prompt.keys() - set(plan.prompts))
    if not any(own):
        raise InputError("none of these answers has a prompt of the reference: prompts must match exactly")
    if n_strange:
        said = f"{n_strange:,} prompts are not in the reference; their answers were left out"
        warnings.warn(said, FindingWarning, stacklevel=3)
    return own


# Answers of an endpoint: number i of the store is an answer to prompt i modulo their number
def _model(plan: AuditPlan, files: AuditFolder) -> EndpointModel:
    if not names_endpoint(plan.model):
        raise OptionError(f"--model must be an endpoint, openai:MODEL@URL, got '{plan.model}'")
    settings = settings_of(EndpointSettings, str(plan.model))
    if settings.prompt is not None or settings.prompts is not None:
        raise OptionError("the address of --model contains prompts: give them only with --prompts")
    model = EndpointModel(replace(settings, prompts=plan.prompts), folder=files.path / ANSWERS)
    return model.with_log_probs() if plan.log_probs else model


def _draw(plan: AuditPlan, files: AuditFolder, first: int, last: int, announce: Announce | None) -> list[Answer]:
    """Return the answers of rounds `first` to before `last`, one a prompt each."""
    model, n = _model(plan, files), len(plan.prompts)
    kept = model.kept(plan.seed)
    n_missing = sum(number not in kept for number in range(first * n, last * n))
    if announce is not None and n_missing:
        announce(model, n_missing)
    return [answer for part in model.draw(first * n, last * n, seed=plan.seed) for answer in part]


def _n_drawn(plan: AuditPlan) -> int:
    """Return how many answers stand before the next look."""
    return plan.samples * len(plan.prompts) + sum(look.n for look in plan.looks)


def _samples(answers: Sequence[Answer], n_prompts: int, plan: AuditPlan) -> Samples:
    if plan.log_probs and not any(answer.first_log_probs for answer in answers):
        raise InputError(f"{plan.model} returns no token log-probabilities: leave --log-probs out")
    return [
        [Sample(answer.text, answer.first_log_probs or {}) for answer in islice(answers, place, None, n_prompts)]
        for place in range(n_prompts)
    ]


def _undecided(plan: AuditPlan, files: AuditFolder, n: int, announce: Announce | None) -> tuple[str, ...]:
    """Return the `n` prompts whose answers begin most differently, in their order.

    The answers are those of another seed and are not used again: a choice by answers of the reference would make these
    more different than new ones are.
    """
    answers = _draw(replace(plan, seed=plan.seed + 1), files, 0, PILOT_SAMPLES, announce)
    of_prompts = _samples(answers, len(plan.prompts), plan)
    variety = [_variety(own) for own in of_prompts]
    chosen = np.sort(np.argsort(-np.array(variety), kind="stable")[:n])
    return tuple(plan.prompts[place] for place in chosen.tolist())


def _variety(samples: Sequence[Sample]) -> float:
    """Return the entropy of the first token, in nats: of its probabilities where they are told, else of first words."""
    told = [sample.log_probs for sample in samples if sample.log_probs]
    if told:
        probs = [np.exp(list(row.values())) for row in told]
        return float(np.mean([-(row * np.log(row)).sum() for row in probs]))
    _, counts = np.unique([" ".join(sample.text.split()[:1]) for sample in samples], return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _prompts(prompts: Sequence[str] | Path_) -> tuple[str, ...]:
    """Return the prompts, each once; what is left out is said."""
    if isinstance(prompts, str | PathLike):
        is_table = not str(prompts).removesuffix(".gz").removesuffix(".zst").endswith(".txt")
        prompts = list(read_texts(prompts, column="prompt" if is_table else None).texts)
    kept = tuple(dict.fromkeys(prompt for prompt in prompts if prompt.strip()))
    if not kept:
        raise InputError("prompts is empty: give at least one")
    if len(kept) < len(prompts):
        said = f"{len(prompts) - len(kept):,} prompts are blank or repeated, and were left out"
        warnings.warn(said, FindingWarning, stacklevel=3)
    return kept


def _tokens(answers: Sequence[Answer]) -> int | None:
    told = [answer.completion_tokens for answer in answers]
    return None if None in told else sum(n for n in told if n is not None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
