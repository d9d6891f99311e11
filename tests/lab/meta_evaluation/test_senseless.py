"""Senseless samplers beside a fair generator, by what papers on diffusion language models report, and by dd."""

from itertools import pairwise

import textassay as ta
from made_up import sentences
from textassay.corpus.corpus import Corpus, corpora_from_texts
from textassay.ngram.model import NgramModel
from textassay_lab.meta_evaluation.damage import damage


def test_none_is_first_by_dd_though_fragments_are_as_varied_as_real_text() -> None:
    corpus = corpora_from_texts({"other": sentences(600, 2)})["other"]
    senseless = {
        name: [" ".join(corpus.vocabulary.decode(made.tokens[a:b])) for a, b in pairwise(made.offsets.tolist())]
        for name in ("tilted-words", "spliced-fragments", "looped-phrases")
        for made in [damage(corpus, name, 1.0)]
    }
    fair = list(NgramModel(3).fit(Corpus.from_texts(sentences(2000, 3))).sample(600, seed=0).texts)
    found = ta.compare(
        {"fair": fair, **senseless}, sentences(600, 1), metrics=["diffusion"], effort="quick", explain=False,
        independent=True,
    )  # fmt: skip
    assert found.metrics == ("dd", "lm-score", "text-entropy")
    values = {(one.generator, one.metric): one.estimate.value for one in found.results if one.estimate is not None}
    assert min(("fair", *senseless), key=lambda name: values[name, "dd"]) == "fair"
    assert all(values[name, "dd"] > values["fair", "dd"] + 0.3 for name in senseless)
    assert abs(values["spliced-fragments", "text-entropy"] - values["(real)", "text-entropy"]) < 0.1
