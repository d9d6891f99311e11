"""The training stages of the study ``generators``: by counting, by maximum likelihood, adversarial.

Sources: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, section 2; the papers of the generators, which their modules name.
Departs from it: RankGAN and SeqGAN begin with the same generator, so that they differ in the rounds alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from textassay.corpus.corpus import Corpus
from textassay_lab.adversarial.leakgan import LeakGanRecipe
from textassay_lab.adversarial.rounds import RoundsHistory
from textassay_lab.adversarial.seqgan import SeqGanRecipe
from textassay_lab.adversarial.system import Rounds
from textassay_lab.generator.catalog import make_generator, presets_of
from textassay_lab.generator.saved import save_model
from textassay_lab.papers.adversarial_stages import adversarial_stage
from textassay_lab.papers.generators.texts import WrittenTexts, clauses, in_context, learnt_attributes, written
from textassay_lab.papers.network_stages import MODEL, fitted, processor_seconds, seed_for
from textassay_lab.papers.presets import Network
from textassay_lab.papers.stages import Stage, Work

_SHOWN, _ROLLED_OUT = 250.0, 40.0  # sentences for a unit of `Stage.cost`, an eighth of a second at width 128


@dataclass(frozen=True)
class Trainings:
    """Makes the stages that train the generators; their results are as `Generated.trained` says."""

    texts: WrittenTexts
    context_count: int  # See `textassay_lab.papers.generators.texts.GeneratorsScale`
    precision: str  # In which networks learn by maximum likelihood
    seed: int  # Of everything random; each stage has one of its own
    sentiment: Mapping[str, Sequence[str]] = field(default_factory=dict)  # Part to labels; empty where there are none
    news: Sequence[str] = ()  # Lines of another domain

    def counted(self, name: str, *, order: int, of_news: bool = False) -> Stage:
        """Return the stage of an n-gram model of the training text, or of clauses of the news."""
        texts = self.texts

        def run(work: Work) -> dict[str, Any]:
            with processor_seconds(work.folder) as seconds:
                train = (
                    written(clauses(self.news, texts.longest), texts.form, texts.longest)
                    if of_news
                    else texts.train.load(work, texts.form)
                )
                model: Any = make_generator("ngram", order=order, max_length=texts.longest).fit(train)
            save_model(model, work.folder / MODEL, form=texts.form)
            result = {"model": model.name, "n_parameters": int(model.n_parameters), "seconds": seconds()}
            return {**result, "trained_as": name, "n_seen": len(train), "stopped": None}

        if of_news:
            source: Any = Corpus.from_texts(clauses(self.news, texts.longest)).fingerprint
        else:
            source = texts.train.settings
        return Stage("train", name, {"order": order, "train": source}, run, cost=0.1)

    def likely(self, name: str, kind: str, network: Network, *, conditional: bool = False) -> Stage:
        """Return the stage of a network that learns by maximum likelihood."""
        texts = self.texts
        n = texts.sizes["train"]
        seed = seed_for(self.seed, name)

        def run(work: Work) -> dict[str, Any]:
            parts = {"train": texts.train.load(work, texts.form), "valid": texts.valid.load(work, texts.form)}
            more: dict[str, Any] = {}
            if conditional:
                labels = self.sentiment
                attributes = learnt_attributes(parts["train"], labels.get("train"), min_count=self.context_count)
                parts = {part: in_context(corpus, labels.get(part), attributes) for part, corpus in parts.items()}
                more = {"attributes": attributes}
            model: Any = make_generator(
                kind,
                preset=network.preset,
                seed=seed,
                max_length=texts.longest,
                precision=self.precision,
                **network.changes,
                **more,
            )
            result = fitted(work, model, parts["train"], parts["valid"], texts.form)
            return {**result, "trained_as": name, "n_seen": n * len(model.history.epochs), "stopped": None}

        settings = {
            **self._text,
            "model": kind,
            "preset": f"{network.preset} {presets_of(kind)[network.preset]}",
            "changes": dict(network.changes),
            "precision": self.precision,
            "seed": seed,
            "valid": texts.valid.settings,
        }
        if conditional:
            labels = {part: Corpus.from_texts(list(values)).fingerprint for part, values in self.sentiment.items()}
            settings |= {"context count": self.context_count, "sentiment": labels}
        return Stage("train", name, settings, run, cost=float(n) * network.changes.get("max_epochs", 8) / _SHOWN)

    def adversarial(self, name: str, start: Network | Stage, recipe: Any) -> Stage:
        """Return the stage of a generator that learns against a discriminator, from nothing or after another stage."""
        texts = self.texts
        begins = start if isinstance(start, Stage) else dict(start.changes)

        def watch(work: Work, rounds: Rounds) -> Callable[[RoundsHistory], Mapping[str, Any]]:
            n_seen = work.inputs[start].result["n_seen"] if isinstance(start, Stage) else 0

            def results(history: RoundsHistory) -> dict[str, Any]:
                n_shown = sentences_seen(recipe, history.kept, texts.sizes["train"])
                return {"trained_as": name, "n_seen": n_seen + n_shown}

            return results

        return adversarial_stage(
            "train",
            name,
            name.lower(),
            begins,
            recipe,
            texts.train,
            texts.form,
            settings=self._text | ({} if isinstance(start, Stage) else {"network": begins}),
            inputs=(start,) if isinstance(start, Stage) else (),
            seed=seed_for(self.seed, name),
            cost=_cost(recipe, texts.sizes["train"]),
            longest=texts.longest,
            watch=watch,
        )

    @property
    def _text(self) -> dict[str, Any]:
        texts = self.texts
        return {"train": texts.train.settings, "form": texts.form.hash, "longest": texts.longest}


def sentences_seen(recipe: Any, rounds: int, n_train: int) -> int:
    """Return how many real sentences are shown in so many rounds of all phases, each as often as it is shown."""
    if isinstance(recipe, SeqGanRecipe):
        pretraining = min(rounds, recipe.pretraining_rounds)
        refreshes = pretraining + (rounds - pretraining) * recipe.refreshes
        return refreshes * recipe.discriminator_epochs * recipe.negatives
    if isinstance(recipe, LeakGanRecipe):
        cycles = min(rounds, recipe.cycles)
        refreshes = cycles * recipe.pretraining_refreshes + (rounds - cycles) * recipe.refreshes
        passes = cycles * recipe.epochs + (rounds - cycles) // recipe.mle_every
        return refreshes * recipe.discriminator_epochs * recipe.negatives + passes * n_train
    return int(rounds * recipe.iterations * recipe.batch_size)


def _cost(recipe: Any, n_train: int) -> float:
    if isinstance(recipe, SeqGanRecipe):
        return float(recipe.rounds * recipe.adversarial_batch_size * recipe.roll_outs) / _ROLLED_OUT
    if isinstance(recipe, LeakGanRecipe):
        return 4 * (recipe.cycles * recipe.epochs + 1) * n_train / _SHOWN
    return 6 * float(recipe.rounds * recipe.iterations * recipe.batch_size) / _SHOWN
