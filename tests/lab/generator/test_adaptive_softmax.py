"""Adaptive softmax: one distribution over all types, its loss the cross-entropy of it, the same gradient."""

import numpy as np
import pytest

from textassay_lab.generator.transformer_xl_model import AdaptiveSoftmax

torch = pytest.importorskip("torch")


def made() -> AdaptiveSoftmax:
    rng = torch.Generator().manual_seed(0)
    matrix = torch.randn(30, 6, generator=rng, requires_grad=True)
    bias = torch.randn(30, generator=rng)
    bias[[0, 2]] = -np.inf
    return AdaptiveSoftmax(matrix, bias, torch.randn(2, 6, generator=rng), torch.randn(2, generator=rng), (8, 20))


def test_probabilities_are_those_of_the_cluster_times_those_within() -> None:
    clusters = made()
    vectors = torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    found = clusters.log_probs(vectors).detach().double().exp()
    np.testing.assert_allclose(found.sum(1), 1.0, atol=1e-6)
    assert (found[:, [0, 2]] == 0).all()
    plain = vectors @ clusters.matrix.detach().T + clusters.bias
    heads = vectors @ clusters.heads.T + clusters.head_bias
    first = torch.softmax(torch.cat([plain[:, :8], heads], 1), 1)
    within = torch.softmax(plain[:, 8:20], 1)
    np.testing.assert_allclose(found[:, 8:20], first[:, 8:9] * within, rtol=1e-4)
    np.testing.assert_allclose(found[:, :8], first[:, :8], rtol=1e-4)


@pytest.mark.parametrize("wanted", [[1, 7, 8, 19, 20, 29, 3], [1, 3, 4], [25, 25]])
def test_the_loss_is_the_cross_entropy(wanted: list[int]) -> None:
    clusters = made()
    vectors = torch.randn(len(wanted), 6, generator=torch.Generator().manual_seed(1), requires_grad=True)
    types = torch.tensor(wanted)
    loss = clusters.loss(vectors, types)
    gradients = torch.autograd.grad(loss, [vectors, clusters.matrix])
    plain = -clusters.log_probs(vectors)[torch.arange(len(wanted)), types].mean()
    assert float(loss.detach()) == pytest.approx(float(plain.detach()), rel=1e-5)
    for ours, peer in zip(gradients, torch.autograd.grad(plain, [vectors, clusters.matrix]), strict=True):
        np.testing.assert_allclose(ours, peer, atol=1e-6)
