"""BLEU of translations: the numbers of sacreBLEU, and an interval that covers."""

import numpy as np
import pytest

from textassay.errors import EmptyCorpusError, InputError
from textassay_lab.exposure.translation_bleu import translation_bleu

sacrebleu = pytest.importorskip("sacrebleu")

WORDS = ["the", "cat", "Dog", "sat,", "on", "mat.", "3,5", "well-known"]


def made_up(n: int, seed: int, *, kept: float = 0.8) -> tuple[list[str], list[str]]:
    """Return translations and references; each word of a reference is kept or exchanged."""
    rng = np.random.default_rng(seed)
    references = [rng.choice(WORDS, size=rng.integers(3, 12)).tolist() for _ in range(n)]
    translations = [[word if rng.random() < kept else str(rng.choice(WORDS)) for word in line] for line in references]
    return [" ".join(line) for line in translations], [" ".join(line) for line in references]


@pytest.mark.parametrize("tokenizer", ["13a", "none"])
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize(("n", "kept"), [(40, 0.8), (1, 0.9), (3, 0.2), (5, 0.0)])
def test_the_numbers_are_those_of_sacrebleu(n: int, kept: float, tokenizer: str, lowercase: bool) -> None:
    for seed in range(5):
        translations, references = made_up(n, seed, kept=kept)
        translations[0] = " ".join(translations[0].split()[:2])
        found = translation_bleu(translations, references, tokenizer=tokenizer, lowercase=lowercase)  # type: ignore[arg-type]
        peer = sacrebleu.BLEU(tokenize=tokenizer, lowercase=lowercase).corpus_score(translations, [references])
        assert 100 * found.value == pytest.approx(peer.score, rel=1e-9, abs=1e-12)
        assert [100 * part for part in found.details["precisions"]] == pytest.approx(peer.precisions, rel=1e-9)
        assert found.details["brevity_penalty"] == pytest.approx(peer.bp, rel=1e-12)


@pytest.mark.slow
def test_the_interval_covers() -> None:
    truth = translation_bleu(*made_up(3_000, 99)).value
    intervals = [translation_bleu(*made_up(60, seed)).interval for seed in range(60)]
    hits = sum(interval is not None and interval.low <= truth <= interval.high for interval in intervals)
    assert 50 <= hits <= 60


def test_what_is_refused() -> None:
    with pytest.raises(EmptyCorpusError, match="there is no translation"):
        translation_bleu([], [])
    with pytest.raises(InputError, match="needs its reference, got 1 and 2"):
        translation_bleu(["a"], ["a", "b"])
