"""The training stages of the study ``generators``: by counting, by maximum likelihood, adversarial.

Sources: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, section 2; the papers of the generators, which their modules name.
Departs from it: RankGAN and SeqGAN begin with the same generator, so that they differ in the rounds alone. Adversarial
generators are those after the last round: none is chosen by likelihood, which rounds make worse.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from textassay.adversarial import (
    COLLAPSE,
    AdversarialTrainer,
    Collapse,
    CoT,
    CotRecipe,
    FromScratch,
    LeakGan,
    Phase,
    RankGan,
    RankGanRecipe,
    RoundsHistory,
    ScratchGan,
    ScratchGanRecipe,
    SeqGan,
    SeqGanRecipe,
    train_in_rounds,
)
from textassay.corpus import Corpus, parse_json, read_document
from textassay.execution import workers
from textassay.generator import (
    LeakGanModel,
    LstmModel,
    TiedLstm,
    load_generator,
    make_generator,
    presets_of,
    save_model,
)
from textassay.storage import atomic_write
from textassay.study.generators.texts import (
    Recipes,
    WorldTexts,
    clauses,
    in_context,
    learnt_attributes,
    stage_kind,
    written,
)
from textassay.study.network_stages import MODEL, first_share, seed_for, tell_step
from textassay.study.presets import Network
from textassay.study.stages import Stage, Work
from textassay.training import single_threaded

_CHECKPOINT, _ROUNDS, _SECONDS = "training.safetensors", "rounds.safetensors", "seconds.json"
_KEEP_EVERY = 5.0  # seconds of a processor
_SHOWN, _ROLLED_OUT = 250.0, 40.0  # sentences for a unit of `Stage.cost`, an eighth of a second at width 128
_DIPS = Collapse("variety", least=0.05)  # trainings from scratch begin with a few words only

Seconds = Callable[[], float]


@dataclass(frozen=True)
class _Begun:
    """An adversarial training before its rounds; `finish` returns the generator after them."""

    training: AdversarialTrainer
    phases: tuple[Phase, ...]
    collapse: Collapse
    finish: Callable[[RoundsHistory], Any]


@dataclass(frozen=True)
class Trainings:
    """Makes the stages that train the generators of a world; their results are as `Generated.trained` says."""

    # Of the world
    texts: WorldTexts
    recipes: Recipes
    context_count: int  # See `textassay.study.generators.texts.WorldScale`
    precision: str  # In which networks learn by maximum likelihood
    seed: int  # Of everything random; each stage has one of its own
    sentiment: Mapping[str, Sequence[str]] = field(default_factory=dict)  # Part to labels; empty where there are none
    news: Sequence[str] = ()  # Lines of another domain

    def counted(self, name: str, *, order: int, of_news: bool = False) -> Stage:
        """Return the stage of an n-gram model of the training text, or of clauses of the news."""

        def text(work: Work) -> Corpus:
            if of_news:
                return written(clauses(self.news, self.texts.longest), self.texts.form, self.texts.longest)
            return self.texts.train.load(work, self.texts.form)

        def run(work: Work) -> dict[str, Any]:
            with processor_seconds(work.folder) as seconds:
                train = text(work)
                model = make_generator("ngram", order=order, max_length=self.texts.longest).fit(train)
            save_model(model, work.folder / MODEL, form=self.texts.form)
            return _summary(name, model, seconds(), len(train))

        source: Any = self.texts.train.settings
        if of_news:
            source = Corpus.from_texts(clauses(self.news, self.texts.longest)).fingerprint
        inputs = () if of_news else self.texts.train.inputs
        return self._stage(name, {"order": order, "train": source}, run, inputs, cost=0.1)

    def likely(self, name: str, kind: str, network: Network, *, share: float = 1.0, conditional: bool = False) -> Stage:
        """Return the stage of a network that learns by maximum likelihood, from the first `share` of the text."""
        n = first_share(self.texts.sizes["train"], share)
        seed = seed_for(self.seed, self.texts.name, name)

        def run(work: Work) -> dict[str, Any]:
            train, valid = (part.load(work, self.texts.form) for part in (self.texts.train, self.texts.valid))
            attribute_settings: dict[str, Any] = {}
            if conditional:
                attributes = self.attributes(train)
                attribute_settings = {"attributes": attributes}
                train, valid = (
                    in_context(corpus, self.sentiment.get(part), attributes)
                    for part, corpus in (("train", train), ("valid", valid))
                )
            train = train.take(np.arange(n))
            model: Any = make_generator(
                kind,
                preset=network.preset,
                seed=seed,
                max_length=self.texts.longest,
                precision=self.precision,
                **network.changes,
                **attribute_settings,
            )
            checkpoint = work.folder / _CHECKPOINT
            with processor_seconds(work.folder) as seconds, _one_thread():

                def progress(step: Any) -> None:
                    seconds()
                    tell_step(work, step)

                model.fit(train, valid, checkpoint=checkpoint, progress=progress)
            save_model(model, work.folder / MODEL, form=self.texts.form)
            checkpoint.unlink(missing_ok=True)
            return _summary(name, model, seconds(), n * len(model.history.epochs))

        presets = presets_of(kind)[network.preset]
        settings = {
            "model": kind,
            "preset": f"{network.preset} {presets}",
            "changes": dict(network.changes),
            "precision": self.precision,
            "seed": seed,
            "n": n,
            "valid": self.texts.valid.settings,
            **self._text_settings(),
            **(self._context_settings() if conditional else {}),
        }
        inputs = (*self.texts.train.inputs, *self.texts.valid.inputs)
        cost = float(n) * network.changes.get("max_epochs", 8) / _SHOWN
        return self._stage(name, settings, run, tuple(dict.fromkeys(inputs)), cost=cost)

    def attributes(self, train: Corpus) -> Any:
        """Return the contexts of conditional generators of this world."""
        return learnt_attributes(train, self.sentiment.get("train"), min_count=self.context_count)

    def after_likelihood(self, name: str, before: Stage, recipe: SeqGanRecipe) -> Stage:
        """Return the stage of the rounds of SeqGAN or, by the kind of `recipe`, of RankGAN."""
        seed = seed_for(self.seed, self.texts.name, name)

        def begin(work: Work, train: Corpus) -> _Begun:
            model = load_generator(work.inputs[before].folder / MODEL).model
            assert isinstance(model, LstmModel)
            training = (
                RankGan(model, train, recipe=recipe, seed=seed)
                if isinstance(recipe, RankGanRecipe)
                else SeqGan(model, train, recipe=recipe, seed=seed)
            )
            phases = (
                Phase("discriminator", recipe.pretraining_rounds, validated=False),
                Phase("adversarial", recipe.rounds),
            )

            def finish(history: RoundsHistory) -> LstmModel:
                training.finish({"kind": name, "kept": history.kept, "seed": seed})
                return model

            return _Begun(training, phases, COLLAPSE, finish)

        def seen(rounds: int, n_train: int) -> int:
            refreshes = min(rounds, recipe.pretraining_rounds)
            refreshes += max(0, rounds - recipe.pretraining_rounds) * recipe.refreshes
            return refreshes * recipe.epochs * recipe.n_negatives

        cost = float(recipe.rounds * recipe.batch_size * recipe.n_roll_outs) / _ROLLED_OUT
        return self._rounds(name, {"recipe": asdict(recipe), "seed": seed}, begin, seen, cost, before)

    def leakgan(self, name: str) -> Stage:
        """Return the stage of LeakGAN: cycles of learning from real text and of its discriminator, then rounds."""
        network, recipe = self.recipes.leakgan
        seed = seed_for(self.seed, self.texts.name, name)

        def begin(work: Work, train: Corpus) -> _Begun:
            model = LeakGanModel(**network.changes, max_length=self.texts.longest, seed=seed)
            training = LeakGan(model, train, recipe=recipe, seed=seed)

            def finish(history: RoundsHistory) -> LeakGanModel:
                training.finish({"kind": name, "kept": history.kept, "seed": seed})
                return model

            phases = (Phase("pretraining", recipe.cycles, validated=False), Phase("adversarial", recipe.rounds))
            return _Begun(training, phases, COLLAPSE, finish)

        def seen(rounds: int, n_train: int) -> int:
            cycles, after = min(rounds, recipe.cycles), max(0, rounds - recipe.cycles)
            refreshes = cycles * recipe.pretraining_refreshes + after * recipe.refreshes
            passes = cycles * recipe.pretraining_epochs + after // recipe.mle_every
            return refreshes * recipe.epochs * recipe.n_negatives + passes * n_train

        settings = {"network": dict(network.changes), "recipe": asdict(recipe), "seed": seed}
        n_shown = (recipe.cycles * recipe.pretraining_epochs + 1) * self.texts.sizes["train"]
        return self._rounds(name, settings, begin, seen, 4 * n_shown / _SHOWN)

    def from_scratch(self, name: str) -> Stage:
        """Return the stage of CoT or ScratchGAN, which have no pre-training."""
        chosen: Mapping[str, tuple[Network, CotRecipe | ScratchGanRecipe]]
        chosen = {"CoT": self.recipes.cot, "ScratchGAN": self.recipes.scratchgan}
        network, recipe = chosen[name]
        seed = seed_for(self.seed, self.texts.name, name)

        def begin(work: Work, train: Corpus) -> _Begun:
            shared: dict[str, Any] = {"max_length": self.texts.longest, "seed": seed}
            training: FromScratch
            if isinstance(recipe, CotRecipe):
                training = CoT(LstmModel(**network.changes, **shared), train, recipe=recipe, seed=seed)
            else:
                training = ScratchGan(TiedLstm(**network.changes, **shared), train, recipe=recipe, seed=seed)

            def finish(history: RoundsHistory) -> Any:
                training.finish(history, {"seed": seed})
                return training.model

            return _Begun(training, training.phases, _DIPS, finish)

        def seen(rounds: int, n_train: int) -> int:
            return rounds * recipe.iterations * recipe.batch_size

        settings = {"network": dict(network.changes), "recipe": asdict(recipe), "seed": seed}
        cost = 6.0 * recipe.rounds * recipe.iterations * recipe.batch_size / _SHOWN
        return self._rounds(name, settings, begin, seen, cost)

    def _rounds(
        self, name: str, settings: Mapping[str, Any], begin: Callable[[Work, Corpus], _Begun],
        seen: Callable[[int, int], int], cost: float, before: Stage | None = None,
    ) -> Stage:  # fmt: skip
        decides = {**json.loads(json.dumps(settings)), **self._text_settings()}

        def run(work: Work) -> dict[str, Any]:
            checkpoint = work.folder / _ROUNDS
            with processor_seconds(work.folder) as seconds, _one_thread():
                train = self.texts.train.load(work, self.texts.form)
                begun = begin(work, train)

                def progress(label: str, done: int, total: int) -> None:
                    seconds()
                    work.tell(f"{label.partition(':')[0]} ({done} of {total})")

                history = train_in_rounds(
                    begun.training,
                    begun.phases,
                    collapse=begun.collapse,
                    checkpoint=checkpoint,
                    config=decides,
                    progress=progress,
                )
                model = begun.finish(history)
            save_model(model, work.folder / MODEL, form=self.texts.form)
            checkpoint.unlink(missing_ok=True)
            shared = {} if before is None else work.inputs[before].result
            n_seen = seen(history.kept, len(train)) + shared.get("n_seen", 0)
            return _summary(name, model, seconds() + shared.get("seconds", 0.0), n_seen, history.stopped)

        inputs = (*self.texts.train.inputs, *(() if before is None else (before,)))
        return self._stage(name, decides, run, inputs, cost=cost)

    def _text_settings(self) -> dict[str, Any]:
        texts = self.texts
        return {"train": texts.train.settings, "form": texts.form.hash, "longest": texts.longest}

    def _context_settings(self) -> dict[str, Any]:
        labels = {part: Corpus.from_texts(list(values)).fingerprint for part, values in self.sentiment.items()}
        return {"context count": self.context_count, "sentiment": labels}

    def _stage(
        self, name: str, settings: Mapping[str, Any], run: Callable[[Work], Any], inputs: tuple[Stage, ...], *,
        cost: float,
    ) -> Stage:  # fmt: skip
        return Stage(stage_kind("train", self.texts.name), name, settings, run, inputs, cost)


@contextmanager
def processor_seconds(folder: Path) -> Iterator[Seconds]:
    """Yield a function for the processor seconds of this thread in the block; those of killed runs count."""
    path = folder / _SECONDS
    try:
        before = float(parse_json(read_document(path)))
    except (OSError, ValueError):
        before = 0.0
    begun = time.thread_time()
    kept, total = begun, None

    def spent() -> float:
        nonlocal kept
        if total is not None:
            return total
        now = time.thread_time()
        if now - kept >= _KEEP_EVERY:
            kept = now
            with atomic_write(path) as file:
                file.write(json.dumps(before + now - begun).encode())
        return before + now - begun

    yield spent
    total = before + time.thread_time() - begun
    path.unlink(missing_ok=True)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: the weights depend on the number of threads."""
    with ExitStack() as stack:
        stack.enter_context(workers(1))
        stack.enter_context(single_threaded())
        yield


def _summary(name: str, model: Any, seconds: float, n_seen: int, stopped: str | None = None) -> dict[str, Any]:
    """Return the result of a stage that trained `model`."""
    return {
        "model": model.name,
        "trained_as": name,
        "n_parameters": int(model.n_parameters),
        "seconds": seconds,
        "n_seen": n_seen,
        "stopped": stopped,
    }
