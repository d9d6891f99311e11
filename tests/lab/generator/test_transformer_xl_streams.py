"""Running text: what is read and what is to come, streams, segments, and how often the memory is emptied."""

import numpy as np
import pytest

from textassay.corpus.encoding import EOS, PAD, SOS
from textassay_lab.generator.transformer_xl_model import Segment, running, segments, streams

TOKENS = np.array([4, 5, 6, 7, 8], dtype=np.int32)
OFFSETS = np.array([0, 2, 2, 5])  # two tokens, none, three


def test_ends_are_written_as_ends_and_read_as_beginnings() -> None:
    inputs, targets = running(TOKENS, OFFSETS)
    assert inputs.tolist() == [SOS, 4, 5, SOS, SOS, 6, 7, 8]
    assert targets.tolist() == [4, 5, EOS, EOS, 6, 7, 8, EOS]


def test_streams_hold_everything_in_order() -> None:
    for n_streams in (1, 2, 3, 7, 8, 20):
        inputs, targets = streams(TOKENS, OFFSETS, n_streams)
        assert inputs.shape == targets.shape
        assert len(inputs) <= n_streams
        assert inputs[inputs != PAD].tolist() == running(TOKENS, OFFSETS)[0].tolist()
        assert targets[targets != PAD].tolist() == running(TOKENS, OFFSETS)[1].tolist()
        assert (targets[:, 0] != PAD).all(), "no stream is empty"


def test_segments_remember_what_was_before() -> None:
    told: dict[str, int] = {"segment": 4, "memory": 6}
    assert segments(11, **told) == [Segment(0, 4, 0), Segment(4, 8, 4), Segment(8, 11, 6)]
    assert [part.remembered for part in segments(11, **told, reset_prob=1.0)] == [0, 0, 0]
    assert [part.remembered for part in segments(11, segment=4, memory=0)] == [0, 0, 0]


@pytest.mark.feature("EB-10")
def test_the_memory_is_emptied_as_often_as_said() -> None:
    """In 40,000 segments 0.03 comes out within four standard errors; other epochs empty elsewhere."""
    found = segments(40_000, segment=1, memory=1, reset_prob=0.03, seed=5)
    empty = np.array([part.remembered == 0 for part in found])
    assert abs(empty[1:].mean() - 0.03) < 4 * np.sqrt(0.03 * 0.97 / 40_000)
    again = segments(40_000, segment=1, memory=1, reset_prob=0.03, seed=5)
    assert again == found
    other = segments(40_000, segment=1, memory=1, reset_prob=0.03, seed=5, epoch=1)
    both = empty & np.array([part.remembered == 0 for part in other])
    assert both[1:].mean() < 0.005
