"""Stages that train the adversarial models of figure 4: ScratchGAN and CoT from scratch, RankGAN after pre-training.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4.3 and appendix D.
Departs from it: CoT, for which the paper has no result, is added. RankGAN begins with the weights of the model trained
by maximum likelihood, with sentences of the oracle's length, without ends, as wherever EB-C is measured.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.ngram.language_model import LanguageModel
from textassay.resampling.jackknife import terms_interval
from textassay_lab.adversarial.cot import CoT
from textassay_lab.adversarial.rankgan import RankGan
from textassay_lab.adversarial.rounds import RoundsHistory
from textassay_lab.adversarial.scratchgan import ScratchGan
from textassay_lab.adversarial.system import Rounds
from textassay_lab.generator.saved import load_model
from textassay_lab.generator.text_likelihood import Quantity
from textassay_lab.papers.adversarial_stages import adversarial_stage
from textassay_lab.papers.exposure_bias.measures import (
    COT,
    RANDOM_LSTM,
    RANDOM_ORACLE,
    RANKGAN,
    SCRATCHGAN,
    quantity_to_dict,
)
from textassay_lab.papers.network_stages import MODEL, Part, seed_for
from textassay_lab.papers.presets import Contest
from textassay_lab.papers.stages import Stage, Work

_KIND = "two-sided"
_PRESETS: Mapping[str, Any] = {SCRATCHGAN: ScratchGan.presets, COT: CoT.presets, RANKGAN: RankGan.presets}


def from_scratch_stage(
    name: str, kind: str, contest: Contest, text: Part, form: TextForm, *, longest: int, seed: int,
    cost: float,
) -> Stage:  # fmt: skip
    """Return the stage that trains and saves `SCRATCHGAN` or `COT`."""
    preset, recipe = _PRESETS[kind][contest.preset]
    network = {**preset, **contest.network}
    return adversarial_stage(
        _KIND, name, kind.lower(), network, replace(recipe, **contest.recipe), text, form,
        settings={"network": network, "longest": longest, "train": text.settings}, inputs=text.inputs, seed=seed,
        cost=cost, longest=longest,
    )  # fmt: skip


def rankgan_stage(
    name: str, before: Stage, oracle: Stage, contest: Contest, text: Part, form: TextForm, *, n: int, length: int,
    seed: int, cost: float,
) -> Stage:  # fmt: skip
    """Return the stage of RankGAN's rounds on samples of a random LSTM, which writes `length` tokens.

    Its result has also ``oracle``, the values of `ExposureResults.oracle_costs`.
    """
    recipe = replace(RankGan.presets[contest.preset][1], **contest.recipe)

    def ask_oracle(work: Work, rounds: Rounds) -> Any:
        truth = load_model(work.inputs[oracle].folder / MODEL).model
        costs = {RANDOM_LSTM: _cost(truth, truth.sample(n, seed=seed_for(seed, "own")))}
        costs[RANDOM_ORACLE] = _cost(truth, rounds.sample(n, seed=seed_for(seed, "before")))

        def after(history: RoundsHistory) -> dict[str, Any]:
            costs[RANKGAN] = _cost(truth, rounds.sample(n, seed=seed_for(seed, "after")))
            return {"oracle": {title: quantity_to_dict(cost) for title, cost in costs.items()}}

        return after

    return adversarial_stage(
        _KIND, name, "rankgan", before, recipe, text, form, settings={"n": n, "train": text.settings},
        inputs=tuple(dict.fromkeys((before, oracle, *text.inputs))), seed=seed, cost=cost, length=length,
        watch=ask_oracle,
    )  # fmt: skip


def _cost(oracle: LanguageModel, drawn: Corpus) -> Quantity:
    """Return the mean nats per token of sentences of one length under the oracle, with an interval over them."""
    costs = -oracle.log_prob(drawn) / drawn.lengths
    value = float(costs.mean())
    return Quantity(value, terms_interval(value, [costs], level=0.95, method="t: sentences; model fixed", low=0.0))
