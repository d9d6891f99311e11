"""The study of exposure bias as a graph of stages that train and measure models.

Source: He et al., "Quantifying Exposure Bias for Neural Language Generation", 2019, sections 4 to 6.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from textassay.corpus import Corpus, TextForm
from textassay.study.exposure_bias.adversarial import from_scratch_stage, rankgan_stage
from textassay.study.exposure_bias.results import (
    BLEU_MODELS,
    COT,
    DATA_MODEL,
    FRESH_SAMPLES,
    RANDOM_LSTM,
    RANDOM_ORACLE,
    RANKGAN,
    SCRATCHGAN,
    SYNTHETIC_MODELS,
    TEST_SET,
)
from textassay.study.exposure_bias.scales import CORRUPTION, ExposureScale
from textassay.study.exposure_bias.stages import (
    Subject,
    bleu_stage,
    eb_c_stage,
    eb_dd_stage,
    perplexity_stage,
    random_oracle,
    switching_stage,
)
from textassay.study.exposure_bias.texts import ExposureTexts, FreeText
from textassay.study.exposure_bias.translation import TranslationStages, translation_stages
from textassay.study.network_stages import Part, sampling, seed_for, training
from textassay.study.presets import Network
from textassay.study.stages import Stage

_LSTM, _TRANSFORMER, _UNIGRAM = BLEU_MODELS
_ORACLE_LENGTH = 20  # tokens that the random LSTM writes
_SHOWN, _PREFIX = 4, 10  # samples of each kind, tokens of their prefixes
_SWITCHED: Mapping[str, tuple[str, ...]] = {
    "wikitext2": ("model", "data", "shuffled", "random"),  # tables 1 and 8
    "emnlp_news": ("model", "data", "random"),  # table 9
}


@dataclass
class ExposureExperiment:
    """All stages of the study; names as in `ExposureResults`."""

    bleu: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)  # Text to model to runs
    # Model to kind of prefixes to runs
    synthetic: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    others: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    # Model of `others` to where it is trained, first of several
    adversarial: dict[str, Stage] = field(default_factory=dict)
    # Model to text, and text to model, to trainings
    perplexity: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    held_out_perplexity: dict[str, dict[str, tuple[Stage, ...]]] = field(default_factory=dict)
    # By title
    eb_dd: dict[str, Stage] = field(default_factory=dict)
    switching: dict[str, Stage] = field(default_factory=dict)
    translation: TranslationStages | None = None  # None without pairs

    @property
    def targets(self) -> list[Stage]:
        """The stages that a report needs."""
        stages = [stage for models in self.bleu.values() for runs in models.values() for stage in runs]
        for models in (self.synthetic, self.others):
            stages += [stage for kinds in models.values() for runs in kinds.values() for stage in runs]
        for table in (self.perplexity, self.held_out_perplexity):
            stages += [stage for row in table.values() for trained in row.values() for stage in trained]
        stages += [*self.adversarial.values(), *self.eb_dd.values(), *self.switching.values()]
        return stages if self.translation is None else [*stages, self.translation.quality, self.translation.bias]


def build_exposure(texts: ExposureTexts, scale: ExposureScale, *, precision: str, seed: int) -> ExposureExperiment:
    """Return the stages of the study; nothing is computed yet.

    `precision`: ``float32`` or ``bfloat16``: in which models draw and are measured; perplexities are measured in
    float32.
    """
    experiment = ExposureExperiment()
    plan = _Plan(scale, precision, seed, experiment)
    for name, text in texts.free.items():
        plan.free_text(name, text)
    plan.random_setting()
    if texts.pairs is not None:
        experiment.translation = translation_stages(texts.pairs, scale, precision=precision, seed=seed)
    return experiment


@dataclass(frozen=True)
class _Plan:
    """Settings of the study, and the experiment to which its parts add their stages."""

    scale: ExposureScale
    precision: str
    seed: int
    experiment: ExposureExperiment

    def free_text(self, name: str, text: FreeText) -> None:
        """Add what is measured on one text without an oracle and, on news, against the data model."""
        scale = self.scale
        lstm = scale.data_model if name == "emnlp_news" else scale.lstm[name]
        subjects = {_LSTM: self._trained(f"{name} {_LSTM}", "lstm", lstm, text)}
        if name == "wikitext2":
            title = f"{name} {_TRANSFORMER}"
            subjects[_TRANSFORMER] = self._trained(title, "transformer-xl", scale.transformer_xl, text)
        subjects[_UNIGRAM] = [Subject(f"{name} {_UNIGRAM}", counted=text.train)]
        self.experiment.bleu[name] = {
            model: tuple(self._bleu(name, text, trained[run % len(trained)], run) for run in range(scale.bleu_runs))
            for model, trained in subjects.items()
        }
        self.experiment.held_out_perplexity[name] = {
            model: self._perplexity(trained, "unseen text", Part(text.unseen), text.form)
            for model, trained in subjects.items()
        }
        if name in _SWITCHED:
            model = _TRANSFORMER if name == "wikitext2" else _LSTM
            title = f"{model} on {name}"
            self.experiment.switching[title] = switching_stage(
                title, subjects[model][0], text.unseen, kinds=_SWITCHED[name], length=_PREFIX, n_tokens=2 * _PREFIX,
                n=_SHOWN, seed=self.seed,
            )  # fmt: skip
        if name == "emnlp_news":
            self._synthetic(text, subjects[_LSTM][0])

    def random_setting(self) -> None:
        """Add what is measured against a random LSTM."""
        scale, title = self.scale, RANDOM_LSTM
        stage, form = random_oracle(title, seed=seed_for(self.seed, title))
        oracle = Subject(title, stage, precision=self.precision)
        draws = self._drawn(title, oracle, scale.n_random, _ORACLE_LENGTH, fresh=0)
        models = self._learners(RANDOM_ORACLE, scale.lstm_32, draws, form, _ORACLE_LENGTH)
        self.experiment.synthetic[RANDOM_ORACLE] = self._deviations(models, oracle, _ORACLE_LENGTH, corrupted=False)
        ranked = [
            rankgan_stage(
                RANKGAN if number == 0 else f"{RANKGAN} again {number}",
                before.stage,
                stage,
                scale.rankgan,
                Part(stage=drawn, file="train"),
                form,
                n=scale.n_fresh,
                seed=seed_for(self.seed, RANKGAN, number),
                cost=float(scale.n_random * _ORACLE_LENGTH),
            )
            for number, (before, drawn) in enumerate(zip(models, draws, strict=True))
            if before.stage is not None
        ]
        after = self._compared(RANKGAN, ranked, oracle, _ORACLE_LENGTH)
        drawn = sampling(
            f"{title} fresh", stage, {"fresh": scale.n_fresh}, seed=seed_for(self.seed, title, "fresh"),
            longest=_ORACLE_LENGTH, precision=self.precision,
        )  # fmt: skip
        self.experiment.perplexity |= {
            trained[0].title: {
                FRESH_SAMPLES: self._perplexity(trained, FRESH_SAMPLES, Part(stage=drawn, file="fresh"), form)
            }
            for trained in (models, after)
        }

    def _synthetic(self, text: FreeText, oracle: Subject) -> None:
        """Add what is measured of models that learnt from samples of the data model."""
        scale, length = self.scale, self.scale.sentence_length["emnlp_news"]
        draws = self._drawn(DATA_MODEL, oracle, scale.n_drawn, text.longest, fresh=scale.n_fresh)
        fresh = Part(stage=draws[0], file="fresh")
        judged = {DATA_MODEL: [oracle]}
        for title, network in zip(SYNTHETIC_MODELS, (scale.lstm_512, scale.lstm_32), strict=True):
            models = self._learners(title, network, draws, text.form, text.longest)
            corrupted = title == SYNTHETIC_MODELS[0]
            self.experiment.synthetic[title] = self._deviations(models, oracle, length, corrupted=corrupted)
            self._eb_dd(f"{title} against the {DATA_MODEL}", models[0], None, oracle)
            judged[title] = models
        self._eb_dd(f"{DATA_MODEL} against real text", oracle, text.unseen, None)
        for title, contest in ((SCRATCHGAN, scale.scratchgan), (COT, scale.cot)):
            stages = [
                from_scratch_stage(
                    title if number == 0 else f"{title} again {number}",
                    title,
                    contest,
                    Part(stage=drawn, file="train"),
                    text.form,
                    longest=text.longest,
                    seed=seed_for(self.seed, title, number),
                    cost=float(scale.n_drawn * text.longest),
                )
                for number, drawn in enumerate(draws)
            ]
            judged[title] = self._compared(title, stages, oracle, length)
        self.experiment.perplexity |= {
            title: {
                TEST_SET: self._perplexity(trained, TEST_SET, Part(text.unseen), text.form),
                FRESH_SAMPLES: self._perplexity(trained, FRESH_SAMPLES, fresh, text.form),
            }
            for title, trained in judged.items()
        }

    def _trained(self, title: str, kind: str, network: Network, text: FreeText) -> list[Subject]:
        """Return a network that learns from real text, each of its trainings."""
        return [self._training(title, kind, network, text, number) for number in range(self.scale.trainings)]

    def _training(self, title: str, kind: str, network: Network, text: FreeText, number: int) -> Subject:
        stage = training(
            title if number == 0 else f"{title} again {number}",
            kind,
            preset=network.preset,
            changes=network.changes,
            precision=self.scale.precision,
            text=Part(text.train),
            valid=Part(text.valid),
            form=text.form,
            longest=text.longest,
            seed=seed_for(self.seed, title, *([number] if number else [])),
            cost=float(len(text.train.tokens)) * (1 if kind == "lstm" else 3),
        )
        return Subject(title, stage, precision=self.precision)

    def _drawn(self, title: str, oracle: Subject, n: int, longest: int, *, fresh: int) -> list[Stage]:
        """Return what a model writes for others to learn from: once, or anew for each run."""
        assert oracle.stage is not None
        counts = {"train": n, "valid": max(1, n // 10), **({"fresh": fresh} if fresh else {})}
        return [
            sampling(
                title if number == 0 else f"{title} again {number}",
                oracle.stage,
                counts,
                seed=seed_for(self.seed, "drawn", title, number),
                longest=longest,
                precision=self.precision,
            )
            for number in range(self.scale.runs if self.scale.retrained else 1)
        ]

    def _learners(
        self, title: str, network: Network, draws: list[Stage], form: TextForm, longest: int
    ) -> list[Subject]:  # fmt: skip
        """Return the networks that learn from each of `draws`."""
        models = []
        for number, drawn in enumerate(draws):
            stage = training(
                title if number == 0 else f"{title} again {number}",
                "lstm",
                preset=network.preset,
                changes=network.changes,
                precision=self.scale.precision,
                text=Part(stage=drawn, file="train"),
                valid=Part(stage=drawn, file="valid"),
                form=form,
                longest=longest,
                seed=seed_for(self.seed, title, number),
                cost=float(self.scale.n_drawn * longest),
            )
            models.append(Subject(title, stage, precision=self.precision))
        return models

    def _compared(self, title: str, stages: Sequence[Stage], oracle: Subject, length: int) -> list[Subject]:
        """Add EB-C of a model that has two sides, trained once or anew for each run; return its trainings."""
        models = [Subject(title, stage, precision=self.precision) for stage in stages]
        counts = dict.fromkeys(("data", "model"), self.scale.n_compared)
        self.experiment.adversarial[title] = stages[0]
        self.experiment.others[title] = self._after(counts, models, oracle, length)
        return models

    def _deviations(
        self, models: Sequence[Subject], oracle: Subject, length: int, *, corrupted: bool
    ) -> dict[str, tuple[Stage, ...]]:
        """Return kind of prefixes to runs."""
        damaged = ("shuffled", "random", *(f"corrupted:{rate:g}" for rate in CORRUPTION if corrupted))
        counts = dict.fromkeys(("data", "model"), self.scale.n_sequences) | dict.fromkeys(damaged, self.scale.n_damaged)
        return self._after(counts, models, oracle, length)

    def _after(
        self, counts: Mapping[str, int], models: Sequence[Subject], oracle: Subject, length: int
    ) -> dict[str, tuple[Stage, ...]]:
        """Return kind of prefixes to runs of so many sequences."""
        return {
            kind: tuple(
                eb_c_stage(
                    models[run % len(models)],
                    oracle,
                    kind,
                    lengths=range(length),
                    n=n,
                    run=run,
                    seed=self.seed,
                    cost=float(n * (5 if kind == "shuffled" else 1)),
                )
                for run in range(self.scale.runs)
            )
            for kind, n in counts.items()
        }

    def _bleu(self, name: str, text: FreeText, subject: Subject, run: int) -> Stage:
        scale = self.scale
        return bleu_stage(
            name,
            subject,
            text.unseen,
            sentence_length=scale.sentence_length[name],
            lengths=scale.lengths[name],
            n=scale.n_bleu[name],
            run=run,
            seed=self.seed,
            cost=float(scale.n_bleu[name] * len(scale.lengths[name])) * (3 if _TRANSFORMER in subject.title else 1),
        )

    def _perplexity(self, trained: Sequence[Subject], title: str, part: Part, form: TextForm) -> tuple[Stage, ...]:
        n = self.scale.n_fresh if part.corpus is None else len(part.corpus)
        return tuple(
            perplexity_stage(replace(one, precision="float32"), title, part, form, cost=float(n)) for one in trained
        )

    def _eb_dd(self, title: str, subject: Subject, text: Corpus | None, oracle: Subject | None) -> None:
        length = self.scale.sentence_length["emnlp_news"]
        self.experiment.eb_dd[title] = eb_dd_stage(
            title, subject, text=text, oracle=oracle, length=length // 2, sentence_length=length,
            n=self.scale.n_dd, seed=self.seed, cost=float(10 * self.scale.n_dd),
        )  # fmt: skip
