"""The sentences of the study on real text.

Source: Cai et al., "Distributional Discrepancy: A Metric for Unconditional Text Generation", section 6.1.
"""

from textassay.study.dd.judging import Texts
from textassay.study.dd.text import StudyText
from textassay.study.network_stages import Part


def real_texts(text: StudyText) -> Texts:
    """Return the parts of the real text as the study reads them."""
    return Texts(
        train=Part(text.train),
        valid=Part(text.valid),
        test=Part(text.test),
        unseen=None if text.unseen is None else Part(text.unseen),
        more=None if text.more is None else Part(text.more),
        n_train=len(text.train),
    )
