"""The splits of real text for generators, and of generated text and what is left for discriminators."""

import numpy as np
import pytest

from textassay.errors import OptionError, TooFewSentencesError
from textassay_lab.papers.judges.two_stage_split import two_stage_split

SIZES = {f"g{number}": 32_500 for number in range(11)} | {"google": 6_680}


@pytest.mark.feature("JJ-02")
def test_the_counts_of_the_published_study_in_balanced_sets() -> None:
    split = two_stage_split(1_000_000, SIZES, seed=3)
    sets = (split.discriminator_train, split.discriminator_valid, split.discriminator_test)
    assert [len(part.generated["g0"]) for part in sets] == [22_750, 3_250, 6_500]
    assert [len(part.generated["google"]) for part in sets] == [4_676, 668, 1_336]
    assert [len(part.real) for part in sets] == [254_926, 36_418, 72_836]
    assert [sum(map(len, part.generated.values())) for part in sets] == [254_926, 36_418, 72_836]


@pytest.mark.feature("JJ-02")
def test_discriminators_see_only_what_generators_never_saw_and_nothing_twice() -> None:
    split = two_stage_split(2_000, {"a": 500, "b": 100}, seed=1)
    seen = np.concatenate((split.generator_train, split.generator_valid))
    parts = (split.discriminator_train, split.discriminator_valid, split.discriminator_test)
    real = np.concatenate([part.real for part in parts])
    assert len(np.unique(real)) == len(real) == 600
    assert set(real) <= set(split.generator_test)
    assert not set(real) & set(seen)
    for name, n in (("a", 500), ("b", 100)):
        assert sorted(np.concatenate([part.generated[name] for part in parts])) == list(range(n))


def test_a_generators_split_depends_on_neither_the_others_nor_the_call() -> None:
    one = two_stage_split(2_000, {"a": 500}, seed=1).discriminator_test.generated["a"]
    two = two_stage_split(3_000, {"b": 10, "a": 500}, seed=1).discriminator_test.generated["a"]
    assert one.tolist() == two.tolist()
    assert one.tolist() != two_stage_split(2_000, {"a": 500}, seed=2).discriminator_test.generated["a"].tolist()


def test_too_little_real_text_is_refused_with_numbers() -> None:
    with pytest.raises(TooFewSentencesError, match="600 are generated, G-test has 500 of 1,000"):
        two_stage_split(1_000, {"a": 600})
    with pytest.raises(OptionError, match="shares must be three"):
        two_stage_split(1_000, {"a": 60}, generator_shares=(0.5, 0.5))
