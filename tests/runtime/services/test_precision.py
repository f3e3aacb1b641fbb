"""Which numbers a model computes in."""

import contextlib

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime.services import services

pytestmark = pytest.mark.train
CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("wanted", "dtype"),
    [("auto", None), ("none", None), ("bf16", torch.bfloat16), ("fp16", torch.float16)],
)
def test_the_name_says_which(wanted, dtype):
    """On a processor, auto is as the weights are."""
    chosen = services.choose(wanted, CPU)

    assert chosen is dtype
    with services.autocast(chosen, CPU):
        assert torch.nn.Linear(2, 2)(torch.ones(1, 2)).dtype is (dtype or torch.float32)


def test_only_float16_scales_its_loss():
    """The other numbers reach small enough."""
    assert [services.scaler(each, CPU).is_enabled() for each in (None, torch.bfloat16, torch.float16)] == [
        False, False, True,
    ]  # fmt: skip


def test_without_a_precision_autocast_is_nothing():
    """Not even an autocast that is switched off, which would end one of the script's own."""
    assert isinstance(services.autocast(None, CPU), contextlib.nullcontext)


def test_another_name_is_refused():
    """And the right ones are named."""
    with pytest.raises(ValueError, match="precision=fp8: must be one of auto, bf16, fp16, none"):
        services.choose("fp8", CPU)
