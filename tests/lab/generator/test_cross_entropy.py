"""The loss in blocks of rows against PyTorch's own, value and gradients."""

from typing import Any

import pytest

from textassay_lab.generator import module
from textassay_lab.generator.module import linear_cross_entropy

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("at_once", [1, 7000, 1 << 22])
@pytest.mark.parametrize("lowered", [False, True])
def test_it_is_the_plain_cross_entropy(at_once: int, lowered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    rng = torch.Generator().manual_seed(0)
    vectors, matrix, bias = (torch.randn(shape, generator=rng) for shape in ((150, 16), (50, 16), (50,)))
    bias[[0, 2]] = -torch.inf
    targets = torch.randint(3, 50, (150,), generator=rng)
    found = []
    for plain in (True, False):
        leaves = [tensor.clone().requires_grad_() for tensor in (vectors, matrix, bias)]
        with torch.autocast("cpu", torch.bfloat16, enabled=lowered):
            if plain:
                loss = torch.nn.functional.cross_entropy(torch.nn.functional.linear(*leaves), targets)
            else:
                loss = linear_cross_entropy(leaves[0], leaves[1], leaves[2], targets)
        (3 * loss).backward()
        found.append((loss.detach(), *(leaf.grad for leaf in leaves)))
    for expected, got in zip(*found, strict=True):
        assert got.dtype == torch.float32
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=0.02 if lowered else 1e-6)


def test_any_number_of_rows_makes_few_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    plain = torch.nn.functional.linear

    def watched(vectors: Any, matrix: Any, bias: Any) -> Any:
        seen.add(len(vectors))
        return plain(vectors, matrix, bias)

    monkeypatch.setattr(torch.nn.functional, "linear", watched)
    matrix, bias = torch.zeros(50, 16), torch.zeros(50)
    for n in range(1, 129):
        linear_cross_entropy(torch.zeros(n, 16), matrix, bias, torch.zeros(n, dtype=torch.int64))
    assert seen == {64, 128}
