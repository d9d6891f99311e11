"""BLEU of translations, each against the reference of its own source, as sacreBLEU computes it.

Sources: Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation", ACL 2002; Post, "A Call for
Clarity in Reporting BLEU Scores", WMT 2018, whose library counts the n-grams. The interval resamples sentences (Koehn,
"Statistical Significance Tests for Machine Translation Evaluation", EMNLP 2004).
Departs from them: the value is a fraction, not a percentage.
"""

from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Literal

import numpy as np
import numpy.typing as npt

from textassay.errors import EmptyCorpusError, InputError, MissingExtraError
from textassay.estimate import Estimate, Interval, Signature
from textassay.metric.base import check_level
from textassay.seeding import stream

FloatArray = npt.NDArray[np.float64]

_N_RESAMPLES = 1000
_ORDER = 4


def translation_bleu(
    translations: Sequence[str],
    references: Sequence[str],
    *,
    tokenizer: Literal["13a", "none", "intl", "char"] = "13a",
    lowercase: bool = True,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return the corpus BLEU of order 4 of translations against one reference each. Needs the extra ``translation``.

    `tokenizer`: sacreBLEU's; ``none`` for text whose tokens stand apart already.

    In [0, 1], higher is better; a hundredth of what sacreBLEU prints. Details: `precisions` (four fractions),
    `brevity_penalty`, `length_ratio`.
    """
    check_level(level)
    if len(translations) != len(references):
        raise InputError(f"each translation needs its reference, got {len(translations)} and {len(references)}")
    if len(translations) == 0:
        raise EmptyCorpusError("BLEU: there is no translation")
    if find_spec("sacrebleu") is None:
        raise MissingExtraError("BLEU of translations", "translation")
    rows = _statistics(translations, references, tokenizer, lowercase)
    total = rows.sum(0)
    value, precisions, penalty = _value(total[None])
    draws = stream(seed, "translation-bleu").multinomial(len(rows), np.full(len(rows), 1 / len(rows)), _N_RESAMPLES)
    low, high = np.quantile(_value(draws @ rows)[0], [(1 - level) / 2, (1 + level) / 2])
    return Estimate(
        metric="translation-bleu(order=4)",
        value=float(value[0]),
        interval=Interval(float(low), float(high), level, f"percentiles of {_N_RESAMPLES} resamples of sentences"),
        unit="fraction",
        better="higher",
        sizes={"n_generated": len(rows), "n_real": len(rows)},
        signature=Signature(
            {
                "metric": "translation-bleu(order=4)",
                "case": "lc" if lowercase else "mixed",
                "tok": tokenizer,
                "smooth": "exp",
                "n": str(len(rows)),
                "seed": str(seed),
                "sacrebleu": version("sacrebleu"),
                "version": version("textassay"),
            }
        ),
        details={
            "precisions": precisions[0].tolist(),
            "brevity_penalty": float(penalty[0]),
            "length_ratio": float(total[-2] / total[-1]) if total[-1] else float("nan"),
        },
    )


def _statistics(translations: Sequence[str], references: Sequence[str], tokenizer: str, lowercase: bool) -> FloatArray:
    """Return matches and n-grams of each order, then the two lengths, of each sentence: shape (N, 10)."""
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(tokenize=tokenizer, lowercase=lowercase, effective_order=True)  # counts do not depend on the last
    rows = np.empty((len(translations), 2 * _ORDER + 2))
    for row, translation, reference in zip(rows, translations, references, strict=True):
        score = bleu.sentence_score(translation, [reference])
        row[:] = [*score.counts, *score.totals, score.sys_len, score.ref_len]
    return rows


def _value(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return BLEU, precisions (n, 4) and brevity penalty of summed rows, shape (n, 10).

    An order without a match counts as half a match, the next as a quarter, and so on (sacreBLEU's smoothing ``exp``);
    an order without n-grams makes BLEU 0.
    """
    matches, n_grams, lengths = sums[:, :_ORDER], sums[:, _ORDER:-2], sums[:, -2:]
    without = np.cumsum(matches == 0, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        smoothed = np.where(matches == 0, 0.5**without, matches) / n_grams
        precisions = np.where((n_grams > 0) & (matches[:, :1] > 0), smoothed, 0.0)
        penalty = np.where(lengths[:, 0] > 0, np.exp(np.minimum(0.0, 1 - lengths[:, 1] / lengths[:, 0])), 0.0)
        value = penalty * np.exp(np.log(precisions).mean(axis=1))
    return value, precisions, penalty
