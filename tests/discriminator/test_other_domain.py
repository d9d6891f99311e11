"""A language model from outside, trained on other text: its samples come by the adapter, and are judged fake."""

import sys
from pathlib import Path

import pytest

from textassay.corpus.corpus import corpora_from_texts
from textassay.discriminator.cross_fitting import cross_fit
from textassay.discriminator.logistic import LogisticDiscriminator
from textassay.ngram.language_model import Generator
from textassay.source.external import ExternalCommand

# A whole language model in a few lines, which knows nothing of textassay: bigrams of a file.
STUB = """
import random, sys
lines = [line.split() for line in open(sys.argv[1], encoding="utf-8")]
after = {}
for words in lines:
    for this, that in zip(["", *words], [*words, ""]):
        after.setdefault(this, []).append(that)
draw = random.Random(int(sys.argv[3])).choice
for _ in range(int(sys.argv[2])):
    words = []
    while (word := draw(after[words[-1] if words else ""])) and len(words) < 40:
        words.append(word)
    print(*words)
"""


@pytest.mark.feature("JJ-08")
def test_a_model_of_another_domain_is_judged_fake(data_dir: Path, tmp_path: Path) -> None:
    """Bigrams of photo captions among restaurant reviews; those of reviews are the harder to tell."""
    reviews = (data_dir / "yelp" / "train.txt").read_text(encoding="utf-8").splitlines()[:4000]
    captions = (data_dir / "coco" / "train.txt").read_text(encoding="utf-8").splitlines()[:3000]
    (tmp_path / "stub.py").write_text(STUB, encoding="utf-8")
    share_fake, accuracy = {}, {}
    for domain, lines in (("reviews", reviews[:3000]), ("captions", captions)):
        (tmp_path / domain).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        outside: Generator = ExternalCommand(f"{sys.executable} {tmp_path}/stub.py {tmp_path}/{domain} {{n}} {{seed}}")
        sample = outside.sample(1000, seed=1)
        assert list(sample.texts) == list(outside.sample(1000, seed=1).texts)
        real, generated = corpora_from_texts({"real": reviews[3000:], "generated": sample.texts}).values()
        judged = cross_fit(LogisticDiscriminator(), real, generated, folds=3, threshold="half", seed=0)
        share_fake[domain] = float((judged.generated_scores <= 0.5).mean())
        accuracy[domain] = (share_fake[domain] + float((judged.real_scores > 0.5).mean())) / 2
    assert share_fake["captions"] > 0.95
    assert share_fake["captions"] > share_fake["reviews"] + 0.1
    assert accuracy["captions"] > accuracy["reviews"] + 0.1
