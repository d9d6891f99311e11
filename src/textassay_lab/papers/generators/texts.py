"""Texts, generators and sizes of the study ``generators``: reviews in parts that share no line, and news.

Scale ``tiny`` shows in minutes that everything works. ``paper`` draws as many sentences as the paper and has the
networks of the papers, as far as they say; it wants a GPU and more text. ``laptop`` trains for 20 to 30 minutes of one
core (width 128, 3,427 words, 9 tokens a sentence).

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, sections 2 and 3.
Departs from it: parts are taken in the order of the file, which must have been shuffled; a model of news that learns
clauses stands for Google LM, since no sentence of the news is as short as a review.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from textassay.corpus.contexts import Attributes, learn_attributes, review_contexts, with_contexts
from textassay.corpus.corpus import Corpus
from textassay.corpus.text_form import TextForm
from textassay.corpus.texts import read_texts
from textassay.errors import InputError, TooFewSentencesError
from textassay_lab.adversarial.cot import CoT, CotRecipe
from textassay_lab.adversarial.leakgan import LeakGan, LeakGanRecipe
from textassay_lab.adversarial.rankgan import RankGan, RankGanRecipe
from textassay_lab.adversarial.scratchgan import ScratchGan, ScratchGanRecipe
from textassay_lab.adversarial.seqgan import SeqGan, SeqGanRecipe
from textassay_lab.papers.draws import as_written
from textassay_lab.papers.network_stages import Part
from textassay_lab.papers.presets import Network, scales
from textassay_lab.papers.stages import Stage


@dataclass(frozen=True)
class Recipes:
    """How generators are trained."""

    lstm: Network  # The word LSTM
    scheduled: Network  # Scheduled sampling
    conditional: Network  # Att2Seq, C2S and gC2S
    before_rounds: Network  # The LSTM that SeqGAN and RankGAN go on from
    # Their rounds
    seqgan: SeqGanRecipe
    rankgan: RankGanRecipe
    # Settings of the generator, and how both sides learn
    leakgan: tuple[Network, LeakGanRecipe]
    cot: tuple[Network, CotRecipe]
    scratchgan: tuple[Network, ScratchGanRecipe]


@dataclass(frozen=True)
class GeneratorsScale:
    """Sizes of the study."""

    name: str  # Such as ``laptop``
    # Sentences that generators learn from, and that each draws
    n_train: int
    n_drawn: int
    context_count: int  # How often a category of a context must stand in the training text to be one of its own
    recipes: Recipes  # How generators are trained
    n_valid: int  # Sentences that choose epochs
    min_count: int  # How often a word must stand in the training text to be in the vocabulary
    network_judges: bool  # Whether the three networks are among the classifiers
    partitions: int  # How often texts are dealt to classifiers anew
    other_order: int  # Of the n-gram model of news
    # At which conditional generators draw. The paper does not say; lower ones repeat themselves more, which would
    # explain what it prints of C2S.
    temperature: float = 1.0
    # In which networks learn by maximum likelihood; see `Recipe`. All draw and are measured in float32.
    precision: str = "auto"

    @property
    def n_real(self) -> int:
        """Number of unseen real sentences for evaluation: as many as all generators draw."""
        return self.n_drawn * len(GENERATORS)


_SEQGAN, _RANKGAN = SeqGan.presets["tiny"][1], RankGan.presets["tiny"][1]
_LEAKGAN, _COT, _SCRATCHGAN = LeakGan.presets["tiny"], CoT.presets["tiny"], ScratchGan.presets["tiny"]


def _recipes(
    n_train: int, width: int, epochs: int, *, rounds: int, leakgan: tuple[int, int], cot: int, scratchgan: int
) -> Recipes:
    """Return recipes of one width: so many epochs over real text, then so many rounds.

    `leakgan` are its cycles before the rounds, each two epochs, and passes over the text in them; `cot` and
    `scratchgan` their rounds.
    """
    lstm = {"width": width, "dropout": 0.2, "batch_size": 64, "max_epochs": epochs, "learning_rate": 5e-3}
    half = max(epochs * n_train // (2 * 64), 1)  # steps after which every second word is the model's own
    rate = 1e-2 * min(1.0, 32 / width)  # at 1e-2, rounds make a generator of width 128 much worse
    first = max(2, rounds // 10)
    return Recipes(
        lstm=Network("small", lstm),
        scheduled=Network("small", {**lstm, "sampling_schedule": f"linear(k=1,c={0.5 / half:.6f},least=0.5)"}),
        conditional=Network("small", {**lstm, "context_width": 32}),
        before_rounds=Network("small", lstm),
        seqgan=replace(_SEQGAN, adversarial_learning_rate=rate, rounds=rounds, pretraining_rounds=first),
        rankgan=replace(_RANKGAN, adversarial_learning_rate=rate / 3, rounds=rounds, pretraining_rounds=first),
        leakgan=(
            Network("tiny", _LEAKGAN[0]),
            replace(_LEAKGAN[1], rounds=rounds, cycles=leakgan[0], mle_every=max(1, rounds // leakgan[1])),
        ),
        cot=(Network("tiny", {**_COT[0], "width": width}), replace(_COT[1], rounds=cot)),
        scratchgan=(
            Network("tiny", {**_SCRATCHGAN[0], "width": width, "embedding_width": 32, "fixed_width": 32}),
            # at the preset's 3e-3, made for a width of 32, a width of 128 writes one word after four rounds
            replace(_SCRATCHGAN[1], rounds=scratchgan, learning_rate=1e-3),
        ),
    )


def _of_paper() -> Recipes:
    return Recipes(
        lstm=Network("reviews"),
        scheduled=Network("paper"),
        conditional=Network("paper"),
        # SeqGAN's own, but for a width of 128, as for real text
        before_rounds=Network(
            "tiny", {"width": 128, "batch_size": 64, "max_epochs": 120, "learning_rate": 1e-2, "schedule": "constant"}
        ),
        seqgan=SeqGan.presets["paper"][1],
        rankgan=RankGan.presets["paper"][1],
        leakgan=(Network("paper-40", LeakGan.presets["paper-40"][0]), LeakGan.presets["paper-40"][1]),
        cot=(Network("paper", CoT.presets["paper"][0]), CoT.presets["paper"][1]),
        scratchgan=(Network("paper", ScratchGan.presets["paper"][0]), ScratchGan.presets["paper"][1]),
    )


GENERATORS_SCALES: Mapping[str, GeneratorsScale] = scales(
    GeneratorsScale,
    n_train=(3000, 30_000, 300_000),
    n_drawn=(200, 1200, 32_500),
    context_count=(30, 100, 100),
    recipes=(
        _recipes(3000, 32, 4, rounds=4, leakgan=(1, 1), cot=4, scratchgan=4),
        _recipes(30_000, 128, 5, rounds=60, leakgan=(2, 1), cot=40, scratchgan=70),
        _of_paper(),
    ),
    n_valid=(300, 2000, 10_000),
    min_count=(3, 4, 5),
    network_judges=(False, True, True),
    partitions=(1, 1, 3),
    other_order=(3, 3, 5),
)


FLOOR = "real text (floor)"
OTHER_DOMAIN = "other domain"  # in the place of Google LM
DRAWN = "drawn"  # the file, in the folder of a stage ``draw``, of what was drawn
PAPER_NAMES: Mapping[str, str] = {  # of the study to that of `published_judges`
    **{name: name for name in ("Word LSTM 1.0", "Word LSTM 0.7", "Word LSTM 0.5", "Scheduled Sampling")},
    OTHER_DOMAIN: "Google LM",
    **{name: name for name in ("Att2Seq", "C2S", "gC2S", "MLE SeqGAN", "SeqGAN", "RankGAN", "LeakGAN")},
}
BEYOND = ("CoT", "ScratchGAN", "bigram")
GENERATORS = (*PAPER_NAMES, *BEYOND)  # in the order of tables; without news there is no `OTHER_DOMAIN`


@dataclass(frozen=True)
class WrittenTexts:
    """The text, all in one form; no two parts share a line of the file."""

    # How text is written, and tokens of the longest sentence there can be
    form: TextForm
    longest: int
    # What generators learn from, and what chooses their epochs
    train: Part
    valid: Part
    real: Part  # What no generator saw: the real side of what judges
    # As many sentences as each generator draws, seen by none: they stand for a generator that cannot be bettered
    floor: Part
    contexts: Part  # As many, seen by none: what conditional generators answer to
    sizes: Mapping[str, int]  # Part to its number of sentences


@dataclass(frozen=True)
class Generated:
    """The stages of one generator."""

    # Its result: ``model`` (its name), ``trained_as`` (the first generator that is this model), ``n_parameters``,
    # ``seconds`` (of a processor), ``n_seen`` (real sentences it learnt from, each as often as it was shown),
    # ``stopped`` (why training ended early, else None). Several generators may be one model at several temperatures.
    trained: Stage
    # Keeps `DRAWN`, as many sentences as all others draw. Its result: ``n``, ``seconds`` (of a processor),
    # ``unk_rate``, ``cut_share`` (of sentences as long as the longest), ``mean_length`` and ``temperature``.
    drawn: Stage

    @property
    def part(self) -> Part:
        """What it drew."""
        return Part(stage=self.drawn, file=DRAWN)


@dataclass(frozen=True)
class GeneratorStages:
    """The texts, and the stages that train generators and draw from them."""

    texts: WrittenTexts
    # Generator to its stages, in the order of `GENERATORS`; `FLOOR` is not among them: it is `texts.floor`
    generated: Mapping[str, Generated]
    n: int  # Sentences that each generator draws

    @property
    def parts(self) -> dict[str, Part]:
        """What is judged: `FLOOR`, then every generator's sentences."""
        return {FLOOR: self.texts.floor, **{name: one.part for name, one in self.generated.items()}}

    @property
    def targets(self) -> list[Stage]:
        """All that has to be computed for what this class promises."""
        return [one.drawn for one in self.generated.values()]


REVIEWS, NEWS = "yelp", "emnlp_news"
_NEWS_FILES = ("train.txt", "valid.txt", "test.txt")
_BREAKS = frozenset(",;:.!?()\"'`-") | {"``", "''", "--"}  # tokens at which a sentence of the news falls into clauses
_STOP = "."
_SHORTEST = 3  # tokens of a clause, its full stop among them


@dataclass(frozen=True)
class GeneratorsTexts:
    """The lines of all parts."""

    # Lines that generators learn from, and lines that choose their epochs
    train: tuple[str, ...]
    valid: tuple[str, ...]
    # Lines that none of them sees: for judges, as a generator that cannot be bettered, and to answer to
    real: tuple[str, ...]
    floor: tuple[str, ...]
    contexts: tuple[str, ...]
    # Part to the label of each of its lines; empty where there are none
    sentiment: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    news: tuple[str, ...] = ()  # Lines of another domain, lower-cased; empty where there are none

    @property
    def missing(self) -> tuple[str, ...]:
        """Missing folders, without which some results are not measured."""
        return () if self.news else (NEWS,)


def read_generators_texts(folder: Path, scale: GeneratorsScale) -> GeneratorsTexts:
    """Return the texts of the study.

    `folder`: holds ``yelp`` with ``train.txt`` and ``valid.txt``, one sentence a line, tokens separated by spaces;
    where a ``.sentiment`` with one label a line stands beside both, it is a context. And, if it is there,
    ``emnlp_news``.
    """
    reviews = folder / REVIEWS
    if not folder.is_dir():
        raise InputError(f"no folder {folder}: --data names one that holds {REVIEWS} and, optionally, {NEWS}")
    lacking = [name for name in ("train.txt", "valid.txt") if not (reviews / name).is_file()]
    if lacking:
        raise InputError(f"{reviews} lacks {', '.join(lacking)}: the study needs them")
    lines = {name: read_texts(reviews / f"{name}.txt").texts for name in ("train", "valid")}
    labels = {name: _labels(reviews / f"{name}.sentiment", len(texts)) for name, texts in lines.items()}
    sizes = {
        "train": scale.n_train,
        "real": scale.n_real,
        "floor": scale.n_drawn,
        "contexts": scale.n_drawn,
    }
    for name, needed in (("train", sum(sizes.values())), ("valid", scale.n_valid)):
        if len(lines[name]) < needed:
            smaller = "" if scale.name == "tiny" else "; give more text, or --scale tiny"
            raise TooFewSentencesError(
                f"the scale {scale.name} needs {needed} sentences, {reviews / name}.txt has {len(lines[name])}{smaller}"
            )
    parts, sentiment, begin = {}, {}, 0
    for name, count in sizes.items():
        parts[name] = tuple(lines["train"][begin : begin + count])
        sentiment[name] = labels["train"][begin : begin + count]
        begin += count
    parts["valid"], sentiment["valid"] = tuple(lines["valid"][: scale.n_valid]), labels["valid"][: scale.n_valid]
    known = sentiment if labels["train"] and labels["valid"] else {}
    return GeneratorsTexts(**parts, sentiment=known, news=_news(folder / NEWS))


def clauses(lines: Sequence[str], longest: int) -> list[str]:
    """Return the clauses between punctuation marks, each closed by a full stop, up to `longest` tokens."""
    parts = []
    for line in lines:
        words: list[str] = []
        for token in (*line.split(), _STOP):
            if token not in _BREAKS:
                words.append(token)
            elif words:
                if _SHORTEST <= len(words) + 1 <= longest:
                    parts.append(" ".join((*words, _STOP)))
                words = []
    return parts


def learnt_attributes(train: Corpus, sentiment: Sequence[str] | None, *, min_count: int) -> Attributes:
    """Return the contexts that there are: `sentiment` where it is known, class of length, first content word."""
    return learn_attributes(_contexts(train, sentiment), min_count=min_count)


def in_context(corpus: Corpus, sentiment: Sequence[str] | None, attributes: Attributes) -> Corpus:
    """Return `corpus` with columns of its contexts."""
    return with_contexts(corpus, _contexts(corpus, sentiment), attributes)


def written(lines: Sequence[str], form: TextForm, longest: int) -> Corpus:
    """Return lines as a generator would write them: unknown words marked, cut after `longest` tokens."""
    return as_written(form.corpus(list(lines)), form, longest)


def _contexts(corpus: Corpus, sentiment: Sequence[str] | None) -> dict[str, list[str]]:
    contexts = review_contexts(corpus.texts, [""] * len(corpus) if sentiment is None else sentiment)
    return {name: values for name, values in contexts.items() if name != "sentiment" or sentiment is not None}


def _labels(path: Path, n: int) -> tuple[str, ...]:
    if not path.is_file():
        return ()
    labels = tuple(line.strip() for line in read_texts(path).texts)
    if len(labels) != n:
        raise InputError(f"{path} must have {n} labels, one for each sentence, got {len(labels)}")
    return labels


def _news(folder: Path) -> tuple[str, ...]:
    if not folder.is_dir():
        return ()
    there = [folder / name for name in _NEWS_FILES if (folder / name).is_file()]
    if not there:
        raise InputError(f"{folder} has none of {', '.join(_NEWS_FILES)}: add one, or remove the folder")
    return tuple(line.lower() for path in there for line in read_texts(path).texts)
