"""Our AdamW is torch's."""

import pytest

torch = pytest.importorskip("torch")

from clusterwright.train.recipes.adamw import AdamW  # noqa: E402 (torch may be missing)

pytestmark = pytest.mark.train


def test_it_takes_the_steps_that_torchs_takes_bit_for_bit():
    """Also after its state has moved into a fresh one."""
    ours, theirs = (
        [torch.nn.Parameter(torch.linspace(-1, 1, 12).view(3, 4)), torch.nn.Parameter(torch.ones(4))]
        for _ in "12"
    )
    optimizer = AdamW(ours, betas=(0.9, 0.95), weight_decay=0.1)
    groups = [{"params": theirs[:1], "weight_decay": 0.1}, {"params": theirs[1:], "weight_decay": 0.0}]
    expected = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.95), fused=True)

    for step in range(6):
        for mine, other in zip(ours, theirs, strict=True):
            mine.grad = other.grad = torch.sin(mine.detach() * (step + 1))
        optimizer.lr = 0.01
        optimizer.step()
        expected.step()
        fresh = AdamW(ours, betas=(0.9, 0.95), weight_decay=0.1)
        fresh.load_state_dict(optimizer.state_dict())
        optimizer = fresh
        assert all(torch.equal(mine, other) for mine, other in zip(ours, theirs, strict=True))
