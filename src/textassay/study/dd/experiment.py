"""The experiment on distributional discrepancy as a graph of stages: ten generators, many metrics.

The study on real text and that on synthetic text differ in where their sentences come from (`Texts`) and in what is
known: on synthetic text, the exact discrepancy.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", sections 4 to 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from textassay.corpus import TextForm
from textassay.study.dd.judging import REAL, Cells, Judging, Texts
from textassay.study.dd.published import generator_name
from textassay.study.dd.scales import FAMILIES, TEMPERATURES, Scale
from textassay.study.network_stages import Part, first_share, sampling, seed_for, training
from textassay.study.stages import Stage


@dataclass(frozen=True)
class Experiment:
    """All stages of a study."""

    generators: Mapping[str, int]  # Name to training sentences, families one after the other, rising
    families: Mapping[str, tuple[str, ...]]  # Family to its generators, rising
    trained: Mapping[str, Stage]  # Name to the stage that trained the first initialisation
    drawn: Mapping[str, Stage]  # The same for its sentences
    # (generator or `REAL`, initialisation, temperature) to what was measured
    cells: Mapping[tuple[str, int, float], tuple[Cells, ...]]
    targets: tuple[Stage, ...]  # The stages that a report needs
    # Which of the training text classifiers are given: with "fraction", each generator is judged by real text of its
    # own
    positives: Literal["everything", "fraction"] = "everything"
    preset: str = "tiny"  # of the generators


def build(
    texts: Texts,
    scale: Scale,
    form: TextForm,
    *,
    longest: int,
    seed: int,
    initialisations: int,
    positives: Literal["everything", "fraction"] = "everything",
) -> Experiment:
    """Return the stages of a study; nothing is computed yet."""
    plan = Judging(texts, scale, form, longest, seed, positives)
    sizes = {fraction: first_share(texts.n_train, fraction) for fraction in scale.fractions}
    families = {family: tuple(generator_name(family, fraction) for fraction in scale.fractions) for family in FAMILIES}
    judges = {
        family: training(
            f"{family} judge",
            kind,
            preset=scale.preset,
            precision=scale.precision,
            text=texts.train,
            valid=texts.valid,
            form=form,
            longest=longest,
            seed=seed_for(seed, family, "judge"),
            cost=float(texts.n_train),
        )
        for family, kind in FAMILIES.items()
    }
    trained: dict[str, Stage] = {}
    drawn: dict[str, Stage] = {}
    cells: dict[tuple[str, int, float], tuple[Cells, ...]] = {}
    for family, kind in FAMILIES.items():
        for fraction, n in sizes.items():
            name = generator_name(family, fraction)
            for number in range(initialisations):
                label = name if number == 0 else f"{name} initialisation {number + 1}"
                model = training(
                    label,
                    kind,
                    preset=scale.preset,
                    precision=scale.precision,
                    text=replace(texts.train, first=n),
                    valid=texts.valid,
                    form=form,
                    longest=longest,
                    seed=seed_for(seed, name, number),
                    cost=float(n),
                )
                draw_seed = seed_for(seed, "sample", name, *([number] if number else []))
                counts = {"class": plan.n_class, "valid": scale.n_valid, "test": scale.n_test}
                sample = sampling(label, model, counts, seed=draw_seed, longest=longest)
                test = Part(stage=sample, file="test")
                cells[name, number, 1.0] = (
                    plan.overlap(label, test),
                    plan.cost(label, test, judges[family], model),
                    *plan.discrepancies(label, sample, n, number),
                    *([plan.exact(label, test, model)] if texts.original is not None else []),
                    *([plan.reverse(label, kind, sample)] if scale.reverse_network and number == 0 else []),
                )
                if number > 0:
                    continue
                trained[name], drawn[name] = model, sample
                for temperature in TEMPERATURES:
                    if temperature == 1:
                        continue
                    at = f"{name} T={temperature:g}"
                    sample = sampling(
                        at,
                        model,
                        {"test": scale.n_test, **({"class": plan.n_class} if scale.reverse_network else {})},
                        seed=draw_seed,
                        temperature=temperature,
                        longest=longest,
                    )
                    part = Part(stage=sample, file="test")
                    cells[name, 0, temperature] = (
                        plan.overlap(at, part),
                        plan.cost(at, part, judges[family], model),
                        *([plan.reverse(at, kind, sample)] if scale.reverse_network else []),
                    )
    cells[REAL, 0, 1.0] = plan.real(judges)
    return Experiment(
        generators={names[i]: n for names in families.values() for i, n in enumerate(sizes.values())},
        families=families,
        trained=trained,
        drawn=drawn,
        cells=cells,
        targets=tuple(kept.stage for group in cells.values() for kept in group),
        positives=positives,
        preset=scale.preset,
    )
