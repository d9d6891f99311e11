"""The published numbers of the paper on GANs as language models, as data.

Sources: Tevet, Habib, Shwartz, Berant, "Evaluating Text GANs as Language Models", NAACL 2019: table 1, appendix A and,
of figure 2, the arrays in its authors' public code. Its rows of other language models are from: Krause et al., "Dynamic
Evaluation of Neural Sequence Models", 2018 (mLSTM with dynamic evaluation); Krause et al., "Multiplicative LSTM for
Sequence Modelling", 2016 (both other mLSTMs); Zilly et al., "Recurrent Highway Networks", 2017 (RHN); Chung, Ahn,
Bengio, "Hierarchical Multiscale Recurrent Neural Networks", 2017 (HM-LSTM); Cooijmans et al., "Recurrent Batch
Normalization", 2017 (BN LSTM).
"""

from collections.abc import Mapping

from textassay.meta_evaluation import PublishedTable

N_TYPES = 27  # of text8: 26 letters and the space
EXACT, APPROXIMATE = "BPC", "approx. BPC"

LITERATURE: Mapping[str, float] = {
    "mLSTM + dynamic evaluation": 1.19,
    "Large mLSTM + emb + WN + VD": 1.27,
    "Large RHN": 1.27,
    "LayerNorm HM-LSTM": 1.29,
    "BN LSTM": 1.36,
    "Unregularised mLSTM": 1.40,
}
MLE = "SeqGAN, pre-trained LM only"
SEQGAN = "SeqGAN, full adversarial training"
WGAN = "recurrent GAN without pre-training"
UNIFORM = "uniform distribution"

BOUND_DRAWS = 4.3e6  # the paper's 4,297,078, in its digits
PUBLISHED_STOPS: Mapping[str, int] = {SEQGAN: 1580, WGAN: 1600}  # in the published arrays; the text says above 1600

TABLE_1 = PublishedTable(
    "table 1",
    "Bits per character of the test text, exact and approximated from N = 2000 draws",
    (*LITERATURE, MLE, SEQGAN, WGAN, UNIFORM),
    (EXACT, APPROXIMATE),
    (
        *((bits, None) for bits in LITERATURE.values()),
        (1.93, 2.05),
        (2.06, 2.25),
        (None, 3.31),
        (4.75, None),  # log2 of 27
    ),
    note="text8. SeqGAN is read in windows of 1000 characters, the recurrent GAN in windows of 7: these are not the "
    "same task. The introduction of the paper says that GANs have substantially lower BPC, where higher is meant. "
    "LeakGAN was worse than SeqGAN, without numbers.",
)
FIGURE_2 = PublishedTable(
    "figure 2",
    "Change of the mean of N draws from that of N - 10: largest coordinate, averaged over positions",
    tuple(f"N = {n}" for n in (20, 50, 100, 200, 500, 1000, 1500, 1600, 2000)),
    (SEQGAN, WGAN),
    tuple(
        zip(
            (0.1062, 0.0345, 0.0164, 0.00806, 0.00320, 0.00158, 0.00106, 0.000994, 0.000792),
            (0.1078, 0.0352, 0.0170, 0.00826, 0.00323, 0.00160, 0.00108, 0.000986, 0.000799),
            strict=True,
        )
    ),
    note="From the arrays in the authors' public code: one batch of 64 sequences. The curve is about 0.16 x 10 / N for "
    "any generator whose output varies as much: it does not see the true error, which falls as 1 / sqrt(N).",
)


def published_bpc(row: str, column: str) -> float | None:
    """Return a cell of table 1; raises KeyError where there is no such row or column."""
    values = dict(zip(TABLE_1.rows, TABLE_1.values, strict=True))[row]
    return dict(zip(TABLE_1.columns, values, strict=True))[column]
