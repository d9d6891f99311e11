"""The published tables of the paper on exposure bias, as data, and what their ratios are when computed again.

Source: He, Zhang, Zhou, Glass, "Quantifying Exposure Bias for Neural Language Generation", 2019, tables 2, 4 and 7,
and the perplexities and the BLEU that sections 4.2 and 5.3 have in their text.
Figures 2 to 4 are drawings without numbers and are not here; tables 1, 3, 5, 6, 8 and 9 hold texts, no numbers.
Departs from it: LSTM and Transformer-XL have their names besides LS and TF. What does not agree with itself is found by
`recomputed_ratios`, not written down.

Scale ``tiny`` shows in minutes that everything works. ``paper`` has the published sizes and networks, and wants a
GPU and the published texts, named as in `textassay_lab.papers.exposure_bias.experiment.FILES`. ``laptop``, with three
trainings of each model, takes one core about an hour: docs/studies/exposure-bias.md has the seconds of each stage.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from textassay_lab.meta_evaluation.reproduction import PublishedTable
from textassay_lab.papers.presets import Contest, Network, scales
from textassay_lab.papers.published_tables import parse_tables

LENGTHS = (5, 10, 15, 20, 25, 30)  # of prefixes in table 2
SYMBOLS: Mapping[str, str] = {"LSTM": "LS", "Transformer-XL": "TF", "position unigram": "U"}
DATA_MODEL, WIKI = "data model", "WikiText"
ORACLE_COSTS = (8.67, 8.55)  # nats per token under the random LSTM, before and after RankGAN's rounds; in the text
_KINDS: Mapping[str, str] = {"data": "D", "shuffled": "D_shuf", "random": "random"}
_MISPRINT = 3.0  # printed spreads: so far apart two means of ten runs each are not


def bleu_row(model: str, prefixes: str) -> str:
    """Return what table 2 calls C-bleu of a model after prefixes of a kind, such as "C-bleu(TF|D)"."""
    own = SYMBOLS.get(model, model)
    return f"C-bleu({own}|{own if prefixes == 'model' else _KINDS.get(prefixes, prefixes)})"


def ratio_row(model: str, prefixes: str = "model") -> str:
    """Return what table 2 calls EB-bleu of a model, such as "EB-bleu(TF|D_shuf)" of shuffled prefixes."""
    own = SYMBOLS.get(model, model)
    return f"EB-bleu({own})" if prefixes == "model" else f"EB-bleu({own}|{_KINDS.get(prefixes, prefixes)})"


PUBLISHED = parse_tables("""
table 2: EB-bleu on wiki-103, BLEU-3 in percent, by the number of words of the prefix
                   |             5 |            10 |            15 |            20 |            25 |            30
C-bleu(LS|D)       |  39.81 ± 0.11 |  39.23 ± 0.13 |  38.42 ± 0.10 |  37.43 ± 0.09 |  36.31 ± 0.13 |  34.80 ± 0.12
C-bleu(LS|LS)      |  38.90 ± 0.10 |  38.41 ± 0.11 |  37.73 ± 0.12 |  36.82 ± 0.13 |  35.70 ± 0.11 |  34.31 ± 0.09
EB-bleu(LS)        | 1.023 ± 0.003 | 1.023 ± 0.004 | 1.020 ± 0.003 | 1.017 ± 0.004 | 1.018 ± 0.005 | 1.016 ± 0.004
C-bleu(TF|D)       |  56.81 ± 0.11 |  57.03 ± 0.12 |  56.84 ± 0.10 |  56.51 ± 0.13 |  56.32 ± 0.15 |  55.82 ± 0.09
C-bleu(TF|TF)      |  56.33 ± 0.10 |  56.22 ± 0.11 |  56.01 ± 0.11 |  55.83 ± 0.12 |  55.01 ± 0.12 |  55.12 ± 0.12
EB-bleu(TF)        | 1.009 ± 0.002 | 1.013 ± 0.003 | 1.012 ± 0.002 | 1.013 ± 0.002 | 1.014 ± 0.002 | 1.013 ± 0.003
C-bleu(TF|D_shuf)  |  55.63 ± 0.11 |  55.04 ± 0.12 |  54.30 ± 0.13 |  53.69 ± 0.10 |  53.01 ± 0.12 |  52.29 ± 0.09
EB-bleu(TF|D_shuf) | 1.020 ± 0.002 | 1.035 ± 0.002 | 1.044 ± 0.003 | 1.052 ± 0.001 | 1.060 ± 0.003 | 1.066 ± 0.003
Mean and spread of 10 runs of 10,000 continuations against 10,000. LS: LSTM, TF: Transformer-XL; after the bar what
the prefixes are of: the data, the model, the data with the words of each prefix shuffled.

table 4: EB-C with people for the data: how often they do not choose the model's likeliest word
            |      CGD(M|D) |      CGD(M|M) |          EB-C
NLG, l = 10 | 0.726 ± 0.004 | 0.738 ± 0.008 | 1.016 ± 0.014
NLG, l = 20 | 0.735 ± 0.004 | 0.752 ± 0.004 | 1.022 ± 0.012
NLG, l = 30 | 0.731 ± 0.007 | 0.752 ± 0.003 | 1.029 ± 0.010
NMT, l = 5  | 0.485 ± 0.005 | 0.482 ± 0.004 | 0.993 ± 0.008
NMT, l = 10 | 0.563 ± 0.005 | 0.562 ± 0.009 | 0.999 ± 0.017
NMT, l = 15 | 0.530 ± 0.008 | 0.526 ± 0.004 | 0.992 ± 0.019
Spread of 5 evaluations. NLG: Transformer-XL on wiki-103. NMT: translation of IWSLT14, German to English.

table 7: Perplexity
           | perplexity
data model |      55.85
LSTM-512   |      115.3
LSTM-32    |      156.3
RankGAN    |      53.43
The paper does not say on which text; it is read as the test text of EMNLP-news. RankGAN, which was trained in the
setting of the random oracle only, cannot be better than the data model: 53.43 is unexplained and no value to reach.

perplexity, held-out: Perplexity on held-out text
                                | WikiText
LSTM                            |    34.80
Transformer-XL                  |    27.81
Transformer-XL, all of the text |    24.02
Printed in section 4.2: on the test text of wiki-103, of models trained on half of the rest, or on all.

BLEU of translation: BLEU-4 of translation, in percent
                  |  test
translation model | 35.81
Printed in section 5.3: on the test text of IWSLT14, German to English, by beam search of width 10.
""")
_RATIOS: Mapping[str, tuple[tuple[str, str, str], ...]] = {  # table 2: rows ratio, above, below; table 4: columns
    "table 2": (
        ("EB-bleu(LS)", "C-bleu(LS|D)", "C-bleu(LS|LS)"),
        ("EB-bleu(TF)", "C-bleu(TF|D)", "C-bleu(TF|TF)"),
        ("EB-bleu(TF|D_shuf)", "C-bleu(TF|D)", "C-bleu(TF|D_shuf)"),
    ),
    "table 4": (("EB-C", "CGD(M|M)", "CGD(M|D)"),),
}


@dataclass(frozen=True)
class Recomputed:
    """A printed ratio and the ratio of the printed numbers it is of."""

    # The cell of the printed ratio
    table: str
    row: str
    column: str
    # As printed
    printed: float
    spread: float
    value: float  # The ratio of the other two
    # These two cells, as (row, column): what is divided, and what it is divided by
    parts: tuple[tuple[str, str], tuple[str, str]]
    rounding: float  # By how much `value` and `printed` may differ because all three are rounded
    spread_of_parts: float  # Spread of the ratio where its parts vary independently with their printed spreads

    @property
    def in_spreads(self) -> float:
        """By how many printed spreads the two differ."""
        return abs(self.value - self.printed) / self.spread


def published_table(name: str) -> PublishedTable:
    """Return one table by its id, such as "table 2"; raises KeyError for an unknown one."""
    return {table.id: table for table in PUBLISHED}[name]


def recomputed_ratios(table: str) -> tuple[Recomputed, ...]:
    """Return every ratio that "table 2" or "table 4" prints, computed again from the numbers it is of."""
    cells = {(cell.row, cell.column): cell for cell in published_table(table).cells()}
    across = table == "table 4"  # the parts of a ratio stand in other columns, not in other rows
    ratios = []
    for names in _RATIOS[table]:
        for place in published_table(table).rows if across else published_table(table).columns:
            key, above, below = ((place, name) if across else (name, place) for name in names)
            values = [cells[one].published or 0.0 for one in (above, below)]
            relative = [(cells[one].published_spread or 0.0) / (cells[one].published or 1.0) for one in (above, below)]
            half = 0.005 if table == "table 2" else 0.0005  # of the last digit of the parts
            value = values[0] / values[1]
            ratios.append(
                Recomputed(
                    table,
                    *key,
                    printed=cells[key].published or 0.0,
                    spread=cells[key].published_spread or 0.0,
                    value=value,
                    parts=(above, below),
                    rounding=0.0005 + value * half * (1 / values[0] + 1 / values[1]),
                    spread_of_parts=value * (relative[0] ** 2 + relative[1] ** 2) ** 0.5,
                )
            )
    return tuple(ratios)


def misprints(table: str) -> tuple[Recomputed, ...]:
    """Return the ratios that are more than three printed spreads from the numbers they are of."""
    return tuple(one for one in recomputed_ratios(table) if one.in_spreads > _MISPRINT)


def out_of_line(ratio: Recomputed) -> tuple[tuple[str, str], float]:
    """Return which of the three cells of a ratio in table 2 is the likeliest misprint, and what it should be.

    Each is compared with the mean of its neighbours in the row, in its own spreads; one at an end with its neighbour.
    """
    cells = {(cell.row, cell.column): cell for cell in published_table(ratio.table).cells()}
    columns = published_table(ratio.table).columns
    place = columns.index(ratio.column)
    beside = [columns[k] for k in (place - 1, place + 1) if 0 <= k < len(columns)]
    top, bottom = (cells[part].published or 0.0 for part in ratio.parts)
    restored = {
        (ratio.row, ratio.column): ratio.value,
        ratio.parts[0]: ratio.printed * bottom,
        ratio.parts[1]: top / ratio.printed,
    }

    def oddness(key: tuple[str, str]) -> float:
        expected = sum(cells[key[0], column].published or 0.0 for column in beside) / len(beside)
        return abs((cells[key].published or 0.0) - expected) / (cells[key].published_spread or 1.0)

    worst = max(restored, key=oddness)
    return worst, restored[worst]


CORRUPTION = (0.05, 0.1, 0.2, 0.3, 0.5)  # rates of figure 3; the paper does not say which it has


NEXT_WORD = ("Transformer-XL on wikitext2", "translation of multi30k")  # models of table 4
SKILLS: Mapping[str, tuple[tuple[float, float], ...]] = {
    NEXT_WORD[0]: ((0.40, 0.36), (0.34, 0.28), (0.46, 0.34)),
    NEXT_WORD[1]: ((0.60, 0.60), (0.52, 0.58), (0.55, 0.47)),
}


@dataclass(frozen=True, kw_only=True)
class ExposureScale:
    """Sizes of the study."""

    name: str  # Such as ``laptop``
    # Text to how many of its lines are read, from the first on (pairs, of ``multi30k``; of ``emnlp_news``, of each
    # file); none for all
    most: Mapping[str, int | None]
    min_count: Mapping[str, int]  # Text to how often a word must stand in the training text to be in the vocabulary
    # Text to tokens at which all sentences are cut; of ``wikitext2``, tokens of a block
    sentence_length: Mapping[str, int] = field(default_factory=lambda: {"wikitext2": 50, "emnlp_news": 20, "yelp": 11})
    lengths: Mapping[str, tuple[int, ...]]  # Text to the prefix lengths of EB-bleu
    # Text to the network that EB-bleu is measured of; ``emnlp_news`` has the data model
    lstm: Mapping[str, Network]
    transformer_xl: Network
    data_model: Network  # Of the synthetic setting
    # Networks of the synthetic setting; the data model is as the first
    lstm_512: Network
    lstm_32: Network
    # Text to continuations and references of a run of EB-bleu, at most; runs
    n_bleu: Mapping[str, int]
    bleu_runs: int
    n_drawn: int  # Sentences that the data model writes to train on; a tenth more, to validate
    n_random: int  # The same of the random LSTM
    # Sequences a side of a run of EB-C, and runs
    n_sequences: int
    n_damaged: int  # Sequences of corrupted, shuffled and random prefixes
    runs: int
    # Whether runs have models of their own, trained from other seeds and, on what a model writes, on fresh draws: each
    # run of EB-C, and as many trainings of those whose EB-bleu is measured
    retrained: bool
    # What is not trained by maximum likelihood alone: ScratchGAN and CoT on what the data model writes; the rounds of
    # RankGAN, which go on from `lstm_32` on what the random LSTM writes
    scratchgan: Contest
    cot: Contest
    rankgan: Contest
    n_compared: int  # Sequences a side of a run of their EB-C
    n_dd: int  # Sentences a side of EB-DD
    n_fresh: int  # Sentences of an oracle that perplexities are measured on, and sentences that it is asked about
    translation: Network  # Both translation models
    byte_pairs: int  # Tokens of translation
    n_held_back: int  # Pairs that no translation model sees
    translation_lengths: tuple[int, ...]  # Prefix lengths of translation
    # Next-word task: prefixes of each side at each length, a multiple of 5, and simulated raters, who take turns
    n_prefixes: int
    n_raters: int
    judgements_per_page: int = 5
    next_word_lengths: tuple[int, ...] = (10, 20, 30)  # Prefix lengths of language models, as in table 4
    # How often raters choose the model's most probable word, after prefixes of the data and of the model, a pair a
    # length: chosen by us, so that EB-C differs between lengths, is 1 in one cell, and is printed nowhere
    skills: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=lambda: SKILLS)
    # In which networks are trained, draw and are measured: ``auto`` is bfloat16 where the device has it
    precision: str = "auto"

    @property
    def trainings(self) -> int:
        """How often the models are trained whose EB-bleu is measured."""
        return min(self.runs, self.bleu_runs) if self.retrained else 1


_LENGTHS = {"wikitext2": (5, 10, 15, 20, 25, 30), "emnlp_news": (5, 10, 15), "yelp": (2, 4, 6, 8)}
_TINY = {"rounds": 2, "iterations": 5, "batch_size": 16}


def _by_text(wikitext2: int | None, emnlp_news: int | None, yelp: int | None) -> dict[str, Any]:
    return {"wikitext2": wikitext2, "emnlp_news": emnlp_news, "yelp": yelp}


def _lstms(preset: str, changes: Mapping[str, Any]) -> dict[str, Network]:
    return dict.fromkeys(("wikitext2", "yelp"), Network(preset, changes))


def _lstms_of_news(width: int) -> tuple[Network, Network, Network]:
    """Return the LSTM of so many units at each scale."""
    preset = f"exposure-{width}"
    return Network(preset, {"max_epochs": 2}), Network(preset, {"max_epochs": 5}), Network(preset)


EXPOSURE_SCALES: Mapping[str, ExposureScale] = scales(
    ExposureScale,
    most=(
        {**_by_text(600, 1000, 4000), "multi30k": 1500},
        {**_by_text(2500, 2500, 30_000), "multi30k": None},
        {**_by_text(None, None, None), "multi30k": None},
    ),
    min_count=(_by_text(2, 2, 2), _by_text(3, 3, 2), _by_text(1, 1, 1)),
    lengths=({"wikitext2": (5, 20), "emnlp_news": (5, 15), "yelp": (2, 8)}, _LENGTHS, _LENGTHS),
    lstm=(
        _lstms("exposure-32", {"max_epochs": 4}),
        _lstms("small", {"width": 128, "max_epochs": 6}),
        _lstms("exposure-600", {}),
    ),
    transformer_xl=(
        Network("tiny"),
        Network("small", {"layers": 2, "width": 128, "feedforward_width": 512, "max_epochs": 6}),
        Network("paper"),
    ),
    data_model=_lstms_of_news(512),
    lstm_512=_lstms_of_news(512),
    lstm_32=_lstms_of_news(32),
    n_bleu=(_by_text(200, 200, 200), _by_text(400, 1000, 2000), _by_text(10_000, 10_000, 10_000)),
    bleu_runs=(3, 3, 10),
    n_drawn=(1000, 2500, 268_000),
    n_random=(1000, 4000, 10_000),
    n_sequences=(200, 1500, 100_000),
    n_damaged=(100, 500, 100_000),
    runs=(3, 3, 5),
    retrained=(False, True, True),
    scratchgan=(
        Contest("tiny", {}, _TINY),
        Contest(
            "tiny",
            {"width": 64, "embedding_width": 32},
            # at a rate of 1e-2 it writes one word after 8 rounds
            {
                "rounds": 18,
                "batch_size": 64,
                "learning_rate": 1e-3,
                "discriminator_embedding_width": 32,
                "discriminator_width": 64,
            },
        ),
        Contest("paper", {"layers": 1}),
    ),
    cot=(
        Contest("tiny", {}, _TINY),
        Contest("tiny", {}, {"rounds": 20, "iterations": 20, "batch_size": 16}),
        Contest("paper"),
    ),
    rankgan=(
        Contest(
            "tiny",
            {},
            {"rounds": 2, "pretraining_rounds": 2, "negatives": 100, "adversarial_batch_size": 16, "roll_outs": 1},
        ),
        Contest("tiny", {}, {"rounds": 30, "pretraining_rounds": 20}),
        Contest("paper"),
    ),
    n_compared=(100, 1000, 100_000),
    n_dd=(200, 1000, 10_000),
    n_fresh=(500, 2000, 10_000),
    translation=(
        Network("tiny", {"max_epochs": 10}),
        Network(
            "small",
            {"width": 128, "feedforward_width": 256, "encoder_layers": 2, "decoder_layers": 2, "max_epochs": 12},
        ),
        Network("paper"),
    ),
    byte_pairs=(1000, 4000, 8000),
    n_held_back=(100, 10_000, 10_000),
    translation_lengths=((1, 2, 3), (5, 10, 15), (5, 10, 15)),
    n_prefixes=(40, 200, 3000),
    n_raters=(10, 20, 300),
)
