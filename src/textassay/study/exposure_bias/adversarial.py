"""Stages that train the adversarial models of figure 4: ScratchGAN and CoT from scratch, RankGAN after pre-training.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4.3 and appendix D.
Departs from it: CoT, for which the paper has no result, is added. RankGAN begins with the weights of the model trained
by maximum likelihood, with sentences of the oracle's length, without ends, as wherever EB-C is measured.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from typing import Any

from textassay.adversarial import (
    COLLAPSE,
    COT_PRESETS,
    RANKGAN_PRESETS,
    SCRATCHGAN_PRESETS,
    AdversarialTrainer,
    Collapse,
    CoT,
    CotRecipe,
    FromScratch,
    Phase,
    RankGan,
    RoundsHistory,
    ScratchGan,
    train_in_rounds,
)
from textassay.corpus import Corpus, TextForm
from textassay.execution import workers
from textassay.generator import LanguageModel, LstmModel, Quantity, RandomLstm, TiedLstm, load_generator, save_model
from textassay.resampling import terms_interval
from textassay.study.exposure_bias.measures import (
    COT,
    RANDOM_LSTM,
    RANDOM_ORACLE,
    RANKGAN,
    SCRATCHGAN,
    quantity_to_dict,
)
from textassay.study.network_stages import MODEL, Part, seed_for
from textassay.study.presets import Contest
from textassay.study.stages import Stage, Work
from textassay.training import single_threaded

_KIND = "two-sided"
_ROUNDS = "rounds.safetensors"  # the checkpoint of the training itself
_FROM_SCRATCH = Collapse("variety", least=0.05)  # as in `train`: trainings begin with a few words only
_PRESETS: Mapping[str, Any] = {SCRATCHGAN: SCRATCHGAN_PRESETS, COT: COT_PRESETS, RANKGAN: RANKGAN_PRESETS}


def from_scratch_stage(
    name: str, kind: str, contest: Contest, text: Part, form: TextForm, *, longest: int, seed: int,
    cost: float,
) -> Stage:  # fmt: skip
    """Return the stage that trains and saves `SCRATCHGAN` or `COT`.

    Its result has the number of rounds that count (``kept``), the values of the last of them (``last``), and why
    training ended early (``stopped``, None where it did not).
    """
    preset, recipe = _PRESETS[kind][contest.preset]
    network, recipe = {**preset, **contest.network}, replace(recipe, **contest.recipe)
    settings = _json({"network": network, "recipe": asdict(recipe), "seed": seed, "longest": longest})
    settings |= {"train": text.settings, "form": form.hash}

    def run(work: Work) -> dict[str, Any]:
        train = text.load(work, form)
        training: FromScratch
        if isinstance(recipe, CotRecipe):
            training = CoT(LstmModel(**network, max_length=longest, seed=seed), train, recipe=recipe, seed=seed)
        else:
            training = ScratchGan(TiedLstm(**network, max_length=longest, seed=seed), train, recipe=recipe, seed=seed)
        with _one_thread(), training.lasting:
            history = _trained(training, training.phases, kind, settings, work)
            training.finish(history, {"seed": seed})
        return _kept(training.model, form, history, work)

    return Stage(_KIND, name, settings, run, text.inputs, cost)


def rankgan_stage(
    name: str, before: Stage, oracle: Stage, contest: Contest, text: Part, form: TextForm, *, n: int,
    seed: int, cost: float,
) -> Stage:  # fmt: skip
    """Return the stage of RankGAN's rounds on samples of a random LSTM; see `from_scratch_stage`.

    Its result has also ``oracle``, the values of `ExposureResults.oracle_costs`.
    """
    recipe = replace(_PRESETS[RANKGAN][contest.preset][1], **contest.recipe)
    settings = _json({"recipe": asdict(recipe), "seed": seed, "n": n, "train": text.settings, "form": form.hash})

    def run(work: Work) -> dict[str, Any]:
        learnt, truth = (load_generator(work.inputs[stage].folder / MODEL).model for stage in (before, oracle))
        assert isinstance(learnt, LstmModel)
        assert isinstance(truth, RandomLstm)
        model = _of_length(learnt, truth.length)
        training = RankGan(model, text.load(work, form), recipe=recipe, seed=seed)
        phases = (
            Phase("discriminator", recipe.pretraining_rounds, validated=False),
            Phase("adversarial", recipe.rounds),
        )
        with _one_thread():
            own = truth.sample(n, seed=seed_for(seed, "own"))
            costs = {RANDOM_LSTM: _cost(truth, own)}
            costs[RANDOM_ORACLE] = _cost(truth, training.sample(n, seed=seed_for(seed, "before")))
            history = _trained(training, phases, RANKGAN, settings, work)
            costs[RANKGAN] = _cost(truth, training.sample(n, seed=seed_for(seed, "after")))
        training.finish({"kind": "rankgan", "kept": history.kept, "seed": seed})
        oracle_costs = {"oracle": {title: quantity_to_dict(cost) for title, cost in costs.items()}}
        return oracle_costs | _kept(model, form, history, work)

    return Stage(_KIND, name, settings, run, tuple(dict.fromkeys((before, oracle, *text.inputs))), cost)


def _trained(
    training: AdversarialTrainer, phases: Any, kind: str, settings: Mapping[str, Any], work: Work
) -> RoundsHistory:
    """Train through all phases, or resume a killed run."""
    return train_in_rounds(
        training,
        phases,
        collapse=COLLAPSE if kind == RANKGAN else _FROM_SCRATCH,
        checkpoint=work.folder / _ROUNDS,
        config=settings,
        progress=lambda label, done, total: work.tell(f"{label.partition(':')[0]} ({done} of {total})"),
    )


def _kept(model: Any, form: TextForm, history: RoundsHistory, work: Work) -> dict[str, Any]:
    """Save the generator, and return the result of its training."""
    save_model(model, work.folder / MODEL, form=form)
    (work.folder / _ROUNDS).unlink(missing_ok=True)
    last = dict(history.rounds[history.kept - 1].values) if history.kept else {}
    return {"model": model.name, "kept": history.kept, "last": last, "stopped": history.stopped}


def _of_length(model: LstmModel, length: int | None) -> LstmModel:
    """Return a model with the same weights and sentences of `length` tokens."""
    fixed_length = LstmModel(**{**model.settings, "recipe": model.recipe, "length": length, "max_length": length})
    fixed_length.restore(model.arrays(), vocabulary=model.vocabulary, tokenizer=model.tokenizer, record=model.record)
    return fixed_length


def _cost(oracle: LanguageModel, drawn: Corpus) -> Quantity:
    """Return the mean nats per token of sentences of one length under the oracle, with an interval over them."""
    costs = -oracle.log_prob(drawn) / drawn.lengths
    value = float(costs.mean())
    return Quantity(value, terms_interval(value, [costs], level=0.95, method="t: sentences; model fixed", low=0.0))


def _json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as they come back from JSON."""
    document: dict[str, Any] = json.loads(json.dumps(settings))
    return document


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread: the weights depend on the number of threads."""
    with ExitStack() as stack:
        stack.enter_context(workers(1))
        stack.enter_context(single_threaded())
        yield
