"""The published tables of the paper that evaluates evaluators by people, as data and as evaluations.

Source: Garbacea, Carton, Yan, Mei, "Judge the Judges: A Large-Scale Evaluation Study of Neural Language Models for
Online Review Generation", EMNLP 2019, tables 2 to 9; the values behind figures 4 and 10, and people's shares in figure
3, are those of the data that its authors published.
Departs from it: generators and evaluators have short names; what does not agree with itself in the paper is said in the
note of its table.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from textassay.estimate import Better
from textassay_lab.meta_evaluation.evaluation import Evaluation
from textassay_lab.meta_evaluation.reproduction import PublishedTable
from textassay_lab.papers.published_tables import parse_tables

NAMES: Mapping[str, str] = {  # as the judgements call them, and as the tables do
    "WordRNN10": "Word LSTM 1.0",
    "WordRNN07": "Word LSTM 0.7",
    "WordRNN05": "Word LSTM 0.5",
    "SS": "Scheduled Sampling",
    "GoogleLM": "Google LM",
    "AttentionAC": "Att2Seq",
    "NoAttentionAC": "C2S",
    "SkipConnectionsAC": "gC2S",
    "MLESeqGAN": "MLE SeqGAN",
    "SeqGAN": "SeqGAN",
    "RankGAN": "RankGAN",
    "LeakGAN": "LeakGAN",
}
GENERATORS = tuple(NAMES.values())
PEOPLE = ("H1", "H2")
CLASSIFIERS = ("LSTM", "CNN", "CNN & LSTM", "SVM", "RF", "NB", "XGBoost")
INDIVIDUAL = "SVM individual"
OVERLAPS = ("BLEU", "ROUGE", "METEOR", "CIDEr")
SELF_BLEU, DIVERSITY, BLEU_TRAIN = "Self-BLEU", "lexical diversity", "BLEU G-train"
SIDES = ALL, REAL, GENERATED = "(all)", "(real)", "(generated)"

PUBLISHED = parse_tables("""
figure 2: How often people are right, percent
   | (all) | (real) | (generated)
H1 | 66.61 |  78.96 |       54.26
H2 | 72.63 |  88.31 |       56.95
H1 counts every judgement, H2 the majority of each text with five votes.

kappa: Agreement of people, Fleiss' kappa on texts with five votes
                  |    all
right or mistaken | 0.2748
The paper's kappa is of right and mistaken answers, not of the labels that people gave.

figure 3: Share of each generator's texts that is judged fake, percent (lower: better generator)
                   |      H1 |      H2
Word LSTM 1.0      | 54.8732 | 59.7315
Word LSTM 0.7      | 33.9119 | 28.1879
Word LSTM 0.5      | 26.7114 | 17.8082
Scheduled Sampling | 75.2674 | 87.2483
Google LM          | 68.1941 | 79.1667
Att2Seq            | 32.3056 | 27.2109
C2S                | 38.7183 | 34.2282
gC2S               | 24.6319 | 14.8649
MLE SeqGAN         | 76.2350 | 89.9329
SeqGAN             | 74.4966 | 85.0340
RankGAN            | 77.8226 | 84.2466
LeakGAN            | 68.1392 | 76.1905
The figure has no numbers: these are of the published judgements.

table 2: Numbers of generated reviews
                   | total | D-train | D-valid | D-test
Word LSTM 1.0      | 32500 |   22750 |    3250 |   6500
Word LSTM 0.7      | 32500 |   22750 |    3250 |   6500
Word LSTM 0.5      | 32500 |   22750 |    3250 |   6500
Scheduled Sampling | 32500 |   22750 |    3250 |   6500
Google LM          |  6680 |    4676 |     668 |   1336
Att2Seq            | 32500 |   22750 |    3250 |   6500
C2S                | 32500 |   22750 |    3250 |   6500
gC2S               | 32500 |   22750 |    3250 |   6500
MLE SeqGAN         | 32500 |   22750 |    3250 |   6500
SeqGAN             | 32500 |   22750 |    3250 |   6500
RankGAN            | 32500 |   22750 |    3250 |   6500
LeakGAN            | 32500 |   22750 |    3250 |   6500

markup: Share of words that are marks of rare words, percent
            | share
(real)      |   2.5
(generated) |   2.2
In the text of section 3.3.1, which calls them comparable.

table 4: Accuracy of discriminative evaluators, percent (lower: better generator)
                   |   LSTM |    CNN | CNN & LSTM |    SVM |    RF |     NB | XGBoost
Word LSTM 1.0      |  48.29 |  55.22 |      45.68 |  50.31 | 53.63 |  32.77 |   48.97
Word LSTM 0.7      |  92.58 |  93.14 |      91.02 |  78.69 | 81.05 |  79.92 |   80.49
Word LSTM 0.5      |  99.31 |  99.35 |      99.08 |  94.74 | 94.29 |  96.86 |   94.71
Scheduled Sampling |  50.09 |  48.77 |      43.37 |  51.31 | 52.88 |  20.97 |   44.12
Google LM          |  84.58 |  74.03 |      74.85 |  78.59 | 82.71 |  48.28 |   82.41
Att2Seq            |  90.08 |  91.78 |      89.94 |  74.37 | 77.29 |  80.02 |   71.68
C2S                | 100.00 | 100.00 |      99.97 | 100.00 | 99.98 | 100.00 |   99.98
gC2S               |  98.37 |  99.06 |      98.38 |  96.26 | 95.35 |  98.63 |   93.62
MLE SeqGAN         |  41.45 |  47.54 |      41.91 |  52.35 | 51.14 |  21.83 |   43.71
SeqGAN             |  50.05 |  52.91 |      47.35 |  56.20 | 54.91 |  25.60 |   48.11
RankGAN            |  66.28 |  67.23 |      59.37 |  70.17 | 61.94 |  35.98 |   61.23
LeakGAN            |  87.03 |  80.28 |      79.57 |  77.55 | 67.74 |  46.80 |   63.80
(all)              |  77.58 |  74.72 |      75.18 |  74.50 | 70.31 |  70.74 |   73.79
(real)             |  80.12 |  73.54 |      77.99 |  75.98 | 68.59 |  83.53 |   79.10
(generated)        |  75.04 |  75.90 |      72.38 |  73.01 | 72.04 |  57.95 |   68.48
Table 3 is its columns LSTM and SVM.

table 5: Correlation of evaluators with people
               |  tau H1 |  rho H1 |    r H1 |  tau H2 |  rho H2 |    r H2
SVM individual | -0.4545 | -0.6294 | -0.6716 | -0.5455 | -0.6783 | -0.6823
LSTM           | -0.5455 | -0.7552 | -0.7699 | -0.6364 | -0.8042 | -0.7829
CNN            | -0.6363 | -0.8112 | -0.8616 | -0.7273 | -0.8741 | -0.8766
CNN & LSTM     | -0.6060 | -0.7902 | -0.8392 | -0.6970 | -0.8462 | -0.8507
SVM            | -0.4545 | -0.6573 | -0.7207 | -0.5455 | -0.6993 | -0.7405
RF             | -0.5455 | -0.7273 | -0.7994 | -0.6364 | -0.7832 | -0.8075
NB             | -0.6364 | -0.8112 | -0.9290 | -0.7273 | -0.8741 | -0.9388
XGBoost        | -0.5455 | -0.7413 | -0.7764 | -0.6364 | -0.8042 | -0.7878
BLEU           |  0.7576 |  0.8601 |  0.8974 |  0.6666 |  0.8182 |  0.9060
ROUGE          |  0.6060 |  0.7692 |  0.8054 |  0.5758 |  0.7483 |  0.8073
METEOR         |  0.5758 |  0.7762 |  0.8225 |  0.5455 |  0.7622 |  0.8231
CIDEr          |  0.5455 |  0.7413 |  0.8117 |  0.4545 |  0.6643 |  0.8203
r of SVM with H2 lacks its star: p is 0.006. tau .6666, .6060 and .6363 are cut off, not rounded.

figures 4 and 10: Word overlap with real reviews, as fractions (higher: better generator)
                   |   BLEU |  ROUGE | BLEU, all references | ROUGE, all references \
                   | BLEU, judged fake | METEOR, judged fake | ROUGE, judged fake | CIDEr, judged fake
Word LSTM 1.0      | 0.2068 | 0.4234 | 0.6618 | 0.4962 | 0.2047 | 0.2487 | 0.4170 | 0.1741
Word LSTM 0.7      | 0.3689 | 0.5200 | 0.8927 | 0.5744 | 0.3612 | 0.3104 | 0.5129 | 0.2746
Word LSTM 0.5      | 0.4619 | 0.5670 | 0.9465 | 0.6110 | 0.4543 | 0.3530 | 0.5583 | 0.2923
Scheduled Sampling | 0.1510 | 0.3964 | 0.5380 | 0.4945 | 0.1413 | 0.2305 | 0.3933 | 0.1888
Google LM          | 0.0907 | 0.4847 | 0.4512 | 0.4852 | 0.0950 | 0.2856 | 0.4922 | 0.0320
Att2Seq            | 0.3735 | 0.5245 | 0.8747 | 0.5827 | 0.3656 | 0.2895 | 0.5341 | 0.4442
C2S                | 0.5967 | 0.6592 | 0.9711 | 0.6924 | 0.5657 | 0.3654 | 0.6570 | 0.3230
gC2S               | 0.5102 | 0.5824 | 0.9311 | 0.6339 | 0.4512 | 0.3264 | 0.5779 | 0.6293
MLE SeqGAN         | 0.1463 | 0.4217 | 0.5384 | 0.5027 | 0.1342 | 0.2360 | 0.4223 | 0.2117
SeqGAN             | 0.1563 | 0.4292 | 0.5597 | 0.5092 | 0.1550 | 0.2442 | 0.4387 | 0.1930
RankGAN            | 0.1240 | 0.4103 | 0.5083 | 0.4884 | 0.1093 | 0.2419 | 0.4026 | 0.1197
LeakGAN            | 0.1611 | 0.3366 | 0.4712 | 0.4286 | 0.1380 | 0.1740 | 0.3196 | 0.1286
Ten nearest references where not all; judged fake: texts that the majority called fake.

table 6: Diversity, as fractions
                   | Self-BLEU | lexical diversity
Word LSTM 1.0      |    0.1886 |            0.6467
Word LSTM 0.7      |    0.4804 |            0.2932
Word LSTM 0.5      |    0.6960 |            0.1347
Scheduled Sampling |    0.1233 |            0.7652
Google LM          |    0.1706 |            0.7745
Att2Seq            |    0.5021 |            0.2939
C2S                |    0.8950 |            0.0032
gC2S               |    0.7330 |            0.1129
MLE SeqGAN         |    0.1206 |            0.7622
SeqGAN             |    0.1370 |            0.7330
RankGAN            |    0.1195 |            0.7519
LeakGAN            |    0.1775 |            0.7541
Its lexical diversity can only be that of trigrams.

table 7: Correlation with Self-BLEU (turned: less is better)
           |     tau |     rho |       r
H1         | -0.8788 | -0.9301 | -0.8920
H2         | -0.7879 | -0.8881 | -0.9001
LSTM       |  0.6667 |  0.8252 |  0.7953
CNN        |  0.7576 |  0.8811 |  0.8740
CNN & LSTM |  0.7273 |  0.8601 |  0.8622
SVM        |  0.5758 |  0.7413 |  0.8518
RF         |  0.6667 |  0.8112 |  0.8944
NB         |  0.7576 |  0.8811 |  0.9569
XGBoost    |  0.6667 |  0.8252 |  0.8693
BLEU       | -0.8788 | -0.9301 | -0.9880
ROUGE      | -0.7273 | -0.8392 | -0.9299
METEOR     | -0.6967 | -0.8462 | -0.8955
CIDEr      | -0.5455 | -0.7413 | -0.7987
tau of METEOR is misprinted: no tau of twelve is -.6967, -.6970 is. That of BLEU lacks its star.

table 8: Correlation with BLEU against the training text
           |     tau |     rho |       r
H1         |  0.7176 |  0.8511 |  0.9111
H2         |  0.6260 |  0.8091 |  0.9209
LSTM       | -0.5649 | -0.7461 | -0.7091
CNN        | -0.6565 | -0.7951 | -0.8213
CNN & LSTM | -0.6260 | -0.7811 | -0.7951
SVM        | -0.4428 | -0.6130 | -0.7442
RF         | -0.5038 | -0.6340 | -0.7864
NB         | -0.6260 | -0.7601 | -0.9164
XGBoost    | -0.5649 | -0.6550 | -0.7586
BLEU       |  0.9619 |  0.9912 |  0.9936
ROUGE      |  0.5954 |  0.7496 |  0.8717
METEOR     |  0.6260 |  0.7636 |  0.8477
CIDEr      |  0.6565 |  0.8371 |  0.8318
tau of CNN lacks its star.

table 9: BLEU against the training text
                   | BLEU G-train
Word LSTM 1.0      |       0.2701
Word LSTM 0.7      |       0.4998
Word LSTM 0.5      |       0.6294
Scheduled Sampling |       0.1707
Google LM          |       0.0475
Att2Seq            |       0.5122
C2S                |       0.7542
gC2S               |       0.6240
MLE SeqGAN         |       0.1707
SeqGAN             |       0.1751
RankGAN            |       0.1525
LeakGAN            |       0.1871
""")


def published_table(name: str) -> PublishedTable:
    """Return one table by its id, such as "table 4"; raises KeyError for an unknown one."""
    return {table.id: table for table in PUBLISHED}[name]


def published_evaluations() -> dict[str, Evaluation]:
    """Return the evaluators whose values for each generator are printed, by name.

    METEOR, CIDEr and the individual SVM are not among them: their values are in figures alone.
    """
    sources: tuple[tuple[str, Sequence[str], Better], ...] = (
        ("figure 3", PEOPLE, "lower"),
        ("table 4", CLASSIFIERS, "lower"),
        ("figures 4 and 10", ("BLEU", "ROUGE"), "higher"),
        ("table 6", (SELF_BLEU,), "lower"),
        ("table 6", (DIVERSITY,), "higher"),
        ("table 9", (BLEU_TRAIN,), "higher"),
    )
    return {
        column: published_evaluation(column, better, table, column)
        for table, columns, better in sources
        for column in columns
    }


def published_evaluation(name: str, better: Better, table: str, column: str) -> Evaluation:
    """Return a column of a table as an evaluator's values for each generator."""
    values = published_table(table).column(column)
    return Evaluation(name, better, GENERATORS, np.array([values[generator] for generator in GENERATORS]))


def short_name(generator: str) -> str:
    """Return what the tables call a generator; its own name where it is none of the twelve."""
    return NAMES.get(generator, generator)
