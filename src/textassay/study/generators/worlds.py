"""The two worlds of the study ``generators`` as graphs of stages that train and draw.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 2 and 3.
Departs from it: generators of known order are added: some trained on less text, some on samples of a model.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from textassay.corpus import Corpus, TextForm
from textassay.errors import EmptyCorpusError
from textassay.execution import workers
from textassay.generator import load_generator
from textassay.study.draws import as_written, save_draws
from textassay.study.generators.exact import exact_stage
from textassay.study.generators.results import (
    DRAWN,
    GENERATORS,
    LESS_TEXT,
    ORACLE,
    OTHER_DOMAIN,
    REAL,
    Generated,
    World,
    WorldTexts,
    stage_kind,
)
from textassay.study.generators.scales import GeneratorsScale, WorldScale
from textassay.study.generators.texts import GeneratorsTexts, in_context, written
from textassay.study.generators.training import Trainings, processor_seconds
from textassay.study.network_stages import MODEL, Part, sampling, seed_for, training
from textassay.study.stages import Stage, Work
from textassay.training import single_threaded

_TEMPERATURES: Mapping[str, float] = {"Word LSTM 1.0": 1.0, "Word LSTM 0.7": 0.7, "Word LSTM 0.5": 0.5}
_CONDITIONAL: Mapping[str, str] = {"Att2Seq": "att2seq", "C2S": "c2s", "gC2S": "gc2s"}


def build_worlds(texts: GeneratorsTexts, scale: GeneratorsScale, *, precision: str, seed: int) -> tuple[World, World]:
    """Return both worlds; nothing is computed yet.

    `precision`: ``float32`` or ``bfloat16``: in which networks learn by maximum likelihood.
    """
    people = _people(texts, scale)
    oracle, original = _oracle(texts, scale, precision=precision, seed=seed)
    return (
        _Plan(people, scale, scale.of_people, texts, precision, seed, None).world(),
        _Plan(oracle, scale, scale.of_oracle, texts, precision, seed, original).world(),
    )


def _people(texts: GeneratorsTexts, scale: GeneratorsScale) -> WorldTexts:
    form, longest = _form(texts.train, scale)
    parts = {
        name: Part(written(getattr(texts, name), form, longest))
        for name in ("train", "valid", "real", "floor", "contexts")
    }
    sizes = {name: len(getattr(texts, name)) for name in parts}
    return WorldTexts(name=REAL, form=form, longest=longest, sizes=sizes, **parts)


def _oracle(
    texts: GeneratorsTexts, scale: GeneratorsScale, *, precision: str, seed: int
) -> tuple[WorldTexts, Stage]:  # fmt: skip
    """Return the text of the oracle's samples, and the stage that trains it."""
    form, longest = _form(texts.original, scale)
    world = scale.of_oracle
    original = training(
        "oracle",
        "lstm",
        preset=scale.original.preset,
        changes=scale.original.changes,
        precision=precision,
        text=Part(written(texts.original, form, longest)),
        valid=Part(written(texts.valid, form, longest)),
        form=form,
        longest=longest,
        seed=seed_for(seed, ORACLE, "original"),
        cost=float(scale.n_original) / 10,
        stage_kind=stage_kind("train", ORACLE),
    )
    sizes = {
        "train": world.n_train,
        "valid": scale.n_valid,
        "real": scale.n_real(world),
        "floor": world.n_drawn,
        "contexts": world.n_drawn,
    }
    drawn = sampling(
        "oracle",
        original,
        sizes,
        seed=seed_for(seed, ORACLE, "text"),
        longest=longest,
        stage_kind=stage_kind("draw", ORACLE),
    )
    parts = {name: Part(stage=drawn, file=name) for name in sizes}
    return WorldTexts(name=ORACLE, form=form, longest=longest, sizes=sizes, **parts), original


def _form(lines: tuple[str, ...], scale: GeneratorsScale) -> tuple[TextForm, int]:
    """Return how text is written, and how long its longest sentence is."""
    form = TextForm.learn(list(lines), min_count=scale.min_count)
    longest = int(form.corpus(list(lines)).lengths.max())
    if longest == 0:
        raise EmptyCorpusError(f"the training text has no token in its {len(lines)} sentences")
    return form, longest


@dataclass(frozen=True)
class _Plan:
    """Makes the stages of one world; `original` is the stage of its oracle, if it has one."""

    texts: WorldTexts
    scale: GeneratorsScale
    size: WorldScale
    read: GeneratorsTexts
    precision: str
    seed: int
    original: Stage | None

    def world(self) -> World:
        """Return it."""
        trained = self._trained()
        generated = {name: self._generated(name, trained[name]) for name in GENERATORS if name in trained}
        volume = {"Word LSTM 1.0": 1.0, **LESS_TEXT}
        return World(self.texts, generated, volume, self.size.n_drawn)

    @property
    def _sentiment(self) -> Mapping[str, tuple[str, ...]]:
        """Part to labels: no one labels what a model writes."""
        return self.read.sentiment if self.original is None else {}

    def _trained(self) -> dict[str, Stage]:
        """Return generator to the stage that trained it."""
        recipes = self.size.recipes
        make = Trainings(
            self.texts,
            recipes,
            self.size.context_count,
            self.precision,
            self.seed,
            self._sentiment,
            self.read.news,
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
            "SeqGAN": make.after_likelihood("SeqGAN", before, recipes.seqgan),
            "RankGAN": make.after_likelihood("RankGAN", before, recipes.rankgan),
            "LeakGAN": make.leakgan("LeakGAN"),
            "CoT": make.from_scratch("CoT"),
            "ScratchGAN": make.from_scratch("ScratchGAN"),
            "bigram": make.counted("bigram", order=2),
            **{name: make.likely(name, "lstm", recipes.lstm, share=share) for name, share in LESS_TEXT.items()},
        }

    def _generated(self, name: str, trained: Stage) -> Generated:
        conditional = name in _CONDITIONAL
        temperature = self.scale.temperature if conditional else _TEMPERATURES.get(name, 1.0)
        contexts = self.texts.contexts if conditional else None
        sentiment = self._sentiment.get("contexts")
        drawn = self._drawn(name, trained, temperature, contexts, sentiment)
        exact = None
        if self.original is not None:
            exact = exact_stage(
                name,
                self.original,
                trained,
                self.texts,
                contexts=contexts,
                temperature=temperature,
                n=self.scale.n_exact,
                seed=seed_for(self.seed, self.texts.name, "exact", name),
            )
        return Generated(trained, drawn, exact)

    def _drawn(
        self, name: str, trained: Stage, temperature: float, contexts: Part | None, sentiment: tuple[str, ...] | None
    ) -> Stage:
        """Return the stage that draws the sentences for evaluation."""
        texts, n = self.texts, self.size.n_drawn
        seed = seed_for(self.seed, texts.name, "draw", name)

        def run(work: Work) -> dict[str, Any]:
            model: Any = load_generator(work.inputs[trained].folder / MODEL).model
            conditions: dict[str, Any] = {}
            if contexts is not None:
                conditions = {"context": in_context(contexts.load(work, texts.form), sentiment, model.attributes)}
            with processor_seconds(work.folder) as seconds, workers(1), single_threaded():
                corpus: Corpus = model.sample(n, seed=seed, temperature=temperature, **conditions)
            corpus = as_written(corpus, texts.form, texts.longest)
            save_draws(work.folder / f"{DRAWN}.npz", corpus)
            return {
                "n": n,
                "seconds": seconds(),
                "unk_rate": corpus.unk_rate if len(corpus.tokens) else 0.0,
                "cut_share": float(np.mean(corpus.lengths >= texts.longest)),
                "mean_length": float(np.mean(corpus.lengths)),
                "temperature": temperature,
            }

        settings: dict[str, Any] = {"n": n, "seed": seed, "temperature": temperature, "longest": texts.longest}
        inputs: tuple[Stage, ...] = (trained,)
        if contexts is not None:
            settings |= {"contexts": contexts.settings, "labelled": sentiment is not None}
            inputs = (trained, *contexts.inputs)
        return Stage(stage_kind("draw", texts.name), name, settings, run, inputs)
