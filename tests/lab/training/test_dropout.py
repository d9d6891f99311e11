"""Dropout: the share that is left out, the mean, and where its draws come from."""

import pytest

from textassay_lab.generator.module import dropped

torch = pytest.importorskip("torch")


def test_it_keeps_the_mean_and_leaves_out_its_share() -> None:
    rng, state = torch.Generator().manual_seed(0), torch.get_rng_state()
    ones = torch.ones(200_000)
    found = dropped(ones, 0.3, rng)
    assert float((found == 0).float().mean()) == pytest.approx(0.3, abs=0.005)
    assert float(found.mean()) == pytest.approx(1, abs=0.01)
    assert not torch.equal(dropped(ones, 0.3, rng), found)
    assert torch.equal(dropped(ones, 0.3, torch.Generator().manual_seed(0)), found)
    assert torch.equal(torch.get_rng_state(), state)
    assert dropped(ones, 0.3, None) is dropped(ones, 0.0, rng) is ones
