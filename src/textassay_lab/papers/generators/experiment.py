"""The study ``generators`` as a graph of stages that train, draw and judge.

Every evaluator scores the same writers: `FLOOR`, which is unseen real text, and all generators. Metrics read all texts
of a writer; classifiers train on 70 %, validate on 10 % and test on 20 %. The references of word overlap are the real
test texts of classifiers; discrepancies are from as many other real texts as a generator wrote.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 2, 3 and 5.
Departs from it: nearest texts are by TF-IDF; discrepancies, Fréchet distance, MAUVE and the scores by language models
are ours.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from textassay.corpus.corpus import Corpus
from textassay.corpus.split import DISCRIMINATOR_SHARES, random_split
from textassay.corpus.text_form import TextForm
from textassay.errors import EmptyCorpusError
from textassay.estimate import Better, Estimate, Evidence
from textassay.execution.threads import workers
from textassay.metric.catalog import parse_metric
from textassay.seeding import stream
from textassay_lab.generator.saved import load_generator
from textassay_lab.judges.meta_evaluator import Accuracy, Parts, clustered_interval, meta_evaluate_parts
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.reproduction import Number
from textassay_lab.papers.draws import as_written, save_draws
from textassay_lab.papers.generators.texts import (
    DRAWN,
    FLOOR,
    GENERATORS,
    OTHER_DOMAIN,
    Generated,
    GeneratorsScale,
    GeneratorStages,
    GeneratorsTexts,
    WrittenTexts,
    in_context,
    written,
)
from textassay_lab.papers.generators.training import Trainings
from textassay_lab.papers.judges.experiment import (
    DIRECTIONS,
    LEVEL,
    MEAN_WITH_ALL,
    METRICS,
    SECONDS,
    WITH_ALL,
    JudgesScale,
    make_classifier,
)
from textassay_lab.papers.judges.published import ALL, BLEU_TRAIN, GENERATED, INDIVIDUAL, OVERLAPS
from textassay_lab.papers.judges.published import REAL as OF_REAL
from textassay_lab.papers.measures import load_estimates, measured, save_estimates
from textassay_lab.papers.network_stages import MODEL, Part, drawn_statistics, numbered, processor_seconds, seed_for
from textassay_lab.papers.stages import Done, Stage, Work
from textassay_lab.training.backend import single_threaded

_TEMPERATURES: Mapping[str, float] = {"Word LSTM 1.0": 1.0, "Word LSTM 0.7": 0.7, "Word LSTM 0.5": 0.5}
_CONDITIONAL: Mapping[str, str] = {"Att2Seq": "att2seq", "C2S": "c2s", "gC2S": "gc2s"}


def build_generators(
    texts: GeneratorsTexts, scale: GeneratorsScale, *, precision: str, seed: int
) -> GeneratorStages:  # fmt: skip
    """Return the texts and generators; nothing is computed yet.

    `precision`: ``float32`` or ``bfloat16``: in which networks learn by maximum likelihood.
    """
    form = TextForm.learn(list(texts.train), min_count=scale.min_count)
    longest = int(form.corpus(list(texts.train)).lengths.max())
    if longest == 0:
        raise EmptyCorpusError(f"the training text has no token in its {len(texts.train)} sentences")
    parts = {
        name: Part(written(getattr(texts, name), form, longest))
        for name in ("train", "valid", "real", "floor", "contexts")
    }
    sizes = {name: len(getattr(texts, name)) for name in parts}
    return _Plan(WrittenTexts(form=form, longest=longest, sizes=sizes, **parts), scale, texts, precision, seed).stages()


@dataclass(frozen=True)
class _Plan:
    """Makes the stages."""

    texts: WrittenTexts
    scale: GeneratorsScale
    read: GeneratorsTexts
    precision: str
    seed: int

    def stages(self) -> GeneratorStages:
        """Return them."""
        trained = self._trained()
        generated = {name: self._generated(name, trained[name]) for name in GENERATORS if name in trained}
        return GeneratorStages(self.texts, generated, self.scale.n_drawn)

    def _trained(self) -> dict[str, Stage]:
        """Return generator to the stage that trained it."""
        recipes = self.scale.recipes
        make = Trainings(
            self.texts, self.scale.context_count, self.precision, self.seed, self.read.sentiment, self.read.news
        )
        lstm = make.likely("Word LSTM 1.0", "lstm", recipes.lstm)
        before = make.likely("MLE SeqGAN", "lstm", recipes.before_rounds)
        return {
            **dict.fromkeys(_TEMPERATURES, lstm),
            "Scheduled Sampling": make.likely("Scheduled Sampling", "scheduled-sampling", recipes.scheduled),
            **(
                {OTHER_DOMAIN: make.counted(OTHER_DOMAIN, order=self.scale.other_order, of_news=True)}
                if self.read.news
                else {}
            ),
            **{
                name: make.likely(name, kind, recipes.conditional, conditional=True)
                for name, kind in _CONDITIONAL.items()
            },
            "MLE SeqGAN": before,
            "SeqGAN": make.adversarial("SeqGAN", before, recipes.seqgan),
            "RankGAN": make.adversarial("RankGAN", before, recipes.rankgan),
            "LeakGAN": make.adversarial("LeakGAN", *recipes.leakgan),
            "CoT": make.adversarial("CoT", *recipes.cot),
            "ScratchGAN": make.adversarial("ScratchGAN", *recipes.scratchgan),
            "bigram": make.counted("bigram", order=2),
        }

    def _generated(self, name: str, trained: Stage) -> Generated:
        conditional = name in _CONDITIONAL
        temperature = self.scale.temperature if conditional else _TEMPERATURES.get(name, 1.0)
        contexts = self.texts.contexts if conditional else None
        return Generated(trained, self._drawn(name, trained, temperature, contexts))

    def _drawn(self, name: str, trained: Stage, temperature: float, contexts: Part | None) -> Stage:
        """Return the stage that draws the sentences for evaluation."""
        texts, n, sentiment = self.texts, self.scale.n_drawn, self.read.sentiment.get("contexts")
        seed = seed_for(self.seed, "draw", name)

        def run(work: Work) -> dict[str, Any]:
            model: Any = load_generator(work.inputs[trained].folder / MODEL).model
            conditions: dict[str, Any] = {}
            if contexts is not None:
                conditions = {"context": in_context(contexts.load(work, texts.form), sentiment, model.attributes)}
            with processor_seconds(work.folder) as seconds, workers(1), single_threaded():
                corpus: Corpus = model.sample(n, seed=seed, temperature=temperature, **conditions)
            corpus = as_written(corpus, texts.form, texts.longest)
            save_draws(work.folder / f"{DRAWN}.npz", corpus)
            return {**drawn_statistics(corpus, texts.longest), "seconds": seconds(), "temperature": temperature}

        settings: dict[str, Any] = {"n": n, "seed": seed, "temperature": temperature, "longest": texts.longest}
        if contexts is not None:
            settings |= {"contexts": contexts.settings, "labelled": sentiment is not None}
        return Stage("draw", name, settings, run, (trained,))


DD = "DD"
DISTANCES: Mapping[str, str] = {  # from as many real texts as there are generated ones
    DD: "dd",
    "FED": "fed",
    "MAUVE": "mauve",
    "LM score": "lm-score",
    "reverse LM score": "reverse-lm-score",
}
EVALUATORS: Mapping[str, str] = {**DISTANCES, **METRICS, BLEU_TRAIN: "bleu-train(order=4)"}
ESTIMATES = "estimates"
_AGAINST_TESTED = (*OVERLAPS, *WITH_ALL, MEAN_WITH_ALL)
_REAL_TEXT = "(real)"
# Closer to real text is better, by the catalogue; the paper calls any diversity better, and any overlap.
_TURNED: Mapping[str, Better] = {**DIRECTIONS, BLEU_TRAIN: "higher"}
Bounded = tuple[Number, Number, Number]  # a value with its interval


@dataclass(frozen=True)
class Judges:
    """The stages that judge."""

    writers: GeneratorStages  # Who is judged
    # Writer to what metrics say of it; discrepancies stand alone, since they take longest
    metrics: Mapping[str, Stage]
    discrepancies: Mapping[str, Stage]
    # Classifier to what it says of all, a stage each time that texts are dealt
    classifiers: Mapping[str, tuple[Stage, ...]]

    @property
    def targets(self) -> list[Stage]:
        """All of them."""
        of_classifiers = [stage for stages in self.classifiers.values() for stage in stages]
        return [*self.metrics.values(), *self.discrepancies.values(), *of_classifiers]


@dataclass(frozen=True, eq=False)
class JudgedWriters:
    """The evaluations of all writers, the floor first."""

    # By evaluator, each of the floor and of all generators for which everything is defined
    evaluations: Mapping[str, Evaluation]
    values: Mapping[str, Mapping[str, Bounded]]  # Evaluator to writer to its value with an interval
    # Classifier to writer, to all, to real and to generated text, to how often it is right; of the individual one
    # writers alone
    accuracies: Mapping[str, Mapping[str, Bounded]]
    # Writer to ``marked``, the share of its words that are ``<unk>``, ``length``, its mean number of words, and
    # ``cut``, the share of its sentences that are as long as the longest can be
    of_text: Mapping[str, Mapping[str, float]]
    # Writer to the share of tested texts that also stand, equal, in what classifiers learnt from
    copied: Mapping[str, float]
    signatures: Mapping[str, str]  # Evaluator to the settings of its value
    # Generator to the metrics that are undefined for it: it is in no evaluation
    undefined: Mapping[str, tuple[str, ...]]

    @property
    def writers(self) -> tuple[str, ...]:
        """The floor and the generators, those that are in no evaluation among them."""
        return tuple(self.of_text)

    @property
    def ranked(self) -> tuple[str, ...]:
        """The floor and the generators that evaluations are of."""
        return tuple(writer for writer in self.of_text if writer not in self.undefined)


def judging_stages(writers: GeneratorStages, scale: JudgesScale, *, seed: int = 0) -> Judges:
    """Return the stages that judge all writers."""
    names = {name: metric for name, metric in EVALUATORS.items() if name != DD}
    return Judges(
        writers,
        {writer: _metric_stage(writers, "metric", writer, names, seed) for writer in writers.parts},
        {writer: _metric_stage(writers, "discrepancy", writer, {DD: DISTANCES[DD]}, seed) for writer in writers.parts},
        {
            name: tuple(
                _classifier_stage(writers, name, scale.trials, place, seed) for place in range(scale.partitions)
            )
            for name in scale.classifiers
        },
    )


def judged_writers(judges: Judges, done: Callable[[Stage], Done]) -> JudgedWriters:
    """Return the results of the stages; `done` gives the result of one."""
    writers = judges.writers
    estimates: dict[str, dict[str, Estimate]] = {name: {} for name in EVALUATORS}
    of_text: dict[str, Mapping[str, float]] = {}
    for writer in writers.parts:
        for stage in (judges.discrepancies[writer], judges.metrics[writer]):
            outcome = done(stage)
            for name, estimate in load_estimates(outcome.folder / ESTIMATES, outcome.result["estimates"]).items():
                estimates[name][writer] = estimate
        of_text[writer] = done(judges.metrics[writer]).result
    answers = {name: [done(stage).result for stage in stages] for name, stages in judges.classifiers.items()}
    undefined = {
        writer: names
        for writer in writers.generated
        if (names := tuple(name for name, of in estimates.items() if not np.isfinite(of[writer].value)))
    }
    evaluations = {
        name: _of_estimates(name, {writer: one for writer, one in of.items() if writer not in undefined})
        for name, of in estimates.items()
        if np.isfinite(of[FLOOR].value)
    }
    for name, answer in answers.items():
        called = {w: np.concatenate([one["called_real"][w] for one in answer]) for w in writers.parts}
        terms = {w: 1.0 - real for w, real in called.items() if w not in undefined}
        shares = np.array([fake.mean() for fake in terms.values()])
        evaluations[name] = Evaluation(name, "lower", tuple(terms), shares, terms=terms)
    accuracies: dict[str, dict[str, Bounded]] = {
        name: {row: _mean_of([one["accuracies"][row] for one in answer]) for row in answer[0]["accuracies"]}
        for name, answer in answers.items()
    }
    return JudgedWriters(
        evaluations=evaluations,
        values={
            **{name: {writer: _bounded(one) for writer, one in of.items()} for name, of in estimates.items()},
            **{name: {writer: rows[writer] for writer in writers.parts} for name, rows in accuracies.items()},
        },
        accuracies=accuracies,
        undefined=undefined,
        of_text=of_text,
        copied=next((answer[0]["copied"] for name, answer in answers.items() if name != INDIVIDUAL), {}),
        signatures={
            **{name: str(next(iter(of.values())).signature) for name, of in estimates.items()},
            **{name: answer[0]["signature"] for name, answer in answers.items()},
        },
    )


def _metric_stage(writers: GeneratorStages, kind: str, writer: str, names: Mapping[str, str], seed: int) -> Stage:
    """Return the stage of some metrics of one writer."""
    texts, part = writers.texts, writers.parts[writer]
    others = (texts.real, texts.train) if BLEU_TRAIN in names else (texts.real,)

    def run(work: Work) -> dict[str, Any]:
        generated, real = part.load(work, texts.form), texts.real.load(work, texts.form)
        train = texts.train.load(work, texts.form) if BLEU_TRAIN in names else None
        metrics = {name: parse_metric(metric, level=LEVEL, train=train) for name, metric in names.items()}
        estimates: dict[str, Estimate] = {}
        for overlaps in (True, False):
            own = {name: metric for name, metric in metrics.items() if (name in _AGAINST_TESTED) == overlaps}
            if own:
                side = _dealt(real, _REAL_TEXT, seed).test if overlaps else real.take(np.arange(len(generated)))
                estimates |= measured(own, generated, side, seed=seed)
        save_estimates(work.folder / ESTIMATES, estimates)
        return {
            "estimates": list(estimates),
            "marked": generated.unk_rate if len(generated.tokens) else 0.0,
            "length": float(generated.lengths.mean()),
            "cut": float(np.mean(generated.lengths >= texts.longest)),
        }

    settings = {
        "metrics": dict(names), "level": LEVEL, "texts": [one.settings for one in (part, *others)],
        "form": texts.form.hash, "seed": seed,
    }  # fmt: skip
    return Stage(kind, writer, settings, run, _inputs(part, *others))


def _classifier_stage(writers: GeneratorStages, name: str, trials: int, place: int, seed: int) -> Stage:
    """Return the stage of one classifier: it learns from all generators, or each in turn, and judges the floor too.

    The first one judges, of real text, what is the reference of word overlap; others, by `place`, deal texts anew.
    """
    texts, seed = writers.texts, seed + place

    def run(work: Work) -> dict[str, Any]:
        dealt = {writer: _dealt(part.load(work, texts.form), writer, seed) for writer, part in writers.parts.items()}
        real = _dealt(texts.real.load(work, texts.form), _REAL_TEXT, seed)
        classifier = make_classifier(name, trials=trials, seed=seed)
        if name == INDIVIDUAL:  # the floor's own classifier learns to tell real text from real text
            meta_evaluation = meta_evaluate_parts(classifier, real, dealt, individual=True, level=LEVEL, seed=seed)
            rows, scores = dict(meta_evaluation.by_generator), dict(meta_evaluation.generated_scores)
        else:  # nobody learns to call the floor fake: it is judged as other real text is
            floor = dealt.pop(FLOOR).test
            beside = replace(real, test=Corpus.concatenate([real.test, floor]))
            both = meta_evaluate_parts(classifier, beside, dealt, level=LEVEL, seed=seed)
            n = len(real.test)
            meta_evaluation = replace(both, real_scores=both.real_scores[:, :n], real_clusters=both.real_clusters[:n])
            scores = {FLOOR: both.real_scores[0, n:], **meta_evaluation.generated_scores}
            fake = (scores[FLOOR] <= 0.5).astype(np.float64)
            clusters = both.real_clusters[n:]
            interval = clustered_interval(fake, clusters, level=LEVEL)
            of_floor = Accuracy(float(fake.mean()), interval, len(fake), len(np.unique(clusters)))
            rows = {
                FLOOR: of_floor,
                **meta_evaluation.by_generator,
                ALL: meta_evaluation.all,
                OF_REAL: meta_evaluation.real,
                GENERATED: meta_evaluation.generated,
            }
        return {
            "called_real": {writer: (own > 0.5).astype(int).tolist() for writer, own in scores.items()},
            "accuracies": {row: [one.value, one.interval.low, one.interval.high] for row, one in rows.items()},
            "copied": {writer: n / len(scores[writer]) for writer, n in meta_evaluation.n_seen.items()},
            "signature": str(meta_evaluation.signature),
        }

    parts = [*writers.parts.values(), texts.real]
    settings = {
        "classifier": name, "trials": trials, "level": LEVEL, "texts": [part.settings for part in parts],
        "form": texts.form.hash, "seed": seed,
    }  # fmt: skip
    cost = 100 * SECONDS.get(name, 1.0) * max(1, trials)
    return Stage("classifier", numbered(name, place), settings, run, _inputs(*parts), cost)


def _dealt(corpus: Corpus, writer: str, seed: int) -> Parts:
    """Return the training, validation and test texts of one writer."""
    rng = stream(seed, "study", "dealt", writer)
    train, valid, test = (corpus.take(rows) for rows in random_split(len(corpus), rng, DISCRIMINATOR_SHARES))
    return Parts(train, valid, test)


def _inputs(*parts: Part) -> tuple[Stage, ...]:
    """Return the stages that draw any of the parts, each once."""
    return tuple(dict.fromkeys(stage for part in parts for stage in part.inputs))


def _of_estimates(name: str, estimates: Mapping[str, Estimate]) -> Evaluation:
    """Return the evaluation by a metric; without terms where they are undefined for a writer."""
    evaluation = Evaluation.of_estimates(
        {writer: _without_undefined(one) for writer, one in estimates.items()}, name=name, floor=estimates[FLOOR]
    )
    better = _TURNED.get(name, evaluation.better)
    return replace(evaluation, better=better, texts=None, terms=evaluation.terms)


def _without_undefined(estimate: Estimate) -> Estimate:
    evidence = estimate.evidence
    terms = None if evidence is None else evidence.generated_terms
    known = terms is not None and np.isfinite(terms).all()
    return replace(estimate, evidence=Evidence(None, terms if known else None))


def _mean_of(bounded: Sequence[Sequence[float]]) -> Bounded:
    """Return the mean of values, and of the ends of their intervals."""
    value, low, high = np.mean(bounded, axis=0).tolist()
    return value, low, high


def _bounded(estimate: Estimate) -> Bounded:
    value, low, high = (estimate.to_dict()[key] for key in ("value", "low", "high"))
    return value, low, high
