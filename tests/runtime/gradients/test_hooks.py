"""How gradients are added up where the launcher says so; two ranks check their sums themselves."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from clusterwright.runtime import group
from clusterwright.runtime.gradients import hooks, settings

pytestmark = pytest.mark.train
Parallel = torch.nn.parallel.DistributedDataParallel

# One rank of two: its gradient is 1 + 2**-12 everywhere, which bf16 cannot hold.
RANK = """
import os, torch
from clusterwright.runtime import group
from clusterwright.runtime.gradients import hooks, settings
from clusterwright.runtime.services import buckets
joined = group.join()
said = settings.read(os.environ)
hooks.buckets(said)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1, bias=False))
hooks.attach(model, said)
buckets.settle(model)
model(torch.full((1, 3), 1 + 2**-12)).sum().backward()
print(model.bucket_bytes_cap, model.module.weight.grad.tolist()[0])
joined.destroy()
"""


@pytest.fixture
def alone(monkeypatch):
    """A group of one rank, whose models are wrapped as ever once the test is over."""
    monkeypatch.setattr(Parallel, "__init__", Parallel.__init__)
    joined = group.join({})
    yield
    joined.destroy()


def of_two_ranks(tmp_path, **said):
    """What both print."""
    store = {
        "MASTER_ADDR": "127.0.0.1",
        "WORLD_SIZE": "2",
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
    }
    port = {"MASTER_PORT": str(20000 + os.getpid() % 7000)}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK], env=os.environ | store | port | said | {"RANK": str(rank)},
            stdout=subprocess.PIPE, text=True, cwd=tmp_path,
        )
        for rank in range(2)
    ]  # fmt: skip
    return {rank.communicate(timeout=240)[0].strip() for rank in ranks}


def test_sums_are_of_16_bits_where_that_is_said(tmp_path):
    """On both ranks alike, through the layout that is shown zeros first; and in the buckets that are named."""
    said = {settings.BUCKET: "2", settings.COMPRESSION: "bf16"}

    assert of_two_ranks(tmp_path, **said) == {f"{2 << 20} [1.0, 1.0, 1.0]"}


def test_sums_are_of_32_bits_where_nothing_is_said(tmp_path):
    """As torch does it."""
    exact = 1 + 2**-12

    assert of_two_ranks(tmp_path) == {f"{25 << 20} [{exact}, {exact}, {exact}]"}


def test_the_program_s_own_bucket_comes_first(alone):
    """Whoever wrote it had a reason."""
    hooks.buckets(settings.GradientSettings(bucket_mib=2))

    assert Parallel(torch.nn.Linear(1, 1)).bucket_bytes_cap == 2 << 20
    assert Parallel(torch.nn.Linear(1, 1), bucket_cap_mb=5).bucket_bytes_cap == 5 << 20


def test_a_hook_of_the_program_stays(alone):
    """Torch takes one; ours would end the training."""
    model = Parallel(torch.nn.Linear(1, 1))
    model.register_comm_hook(None, own := lambda _state, bucket: done(bucket.buffer()))
    hooks.attach(model, settings.GradientSettings(compress="fp16"))

    assert [hook for hook, _ in model._comm_hooks] == [own]


def done(value):
    """A future that has come."""
    future = torch.futures.Future()
    future.set_result(value)
    return future


def test_what_is_no_such_model_is_left_alone(alone):
    """An optimizer is tracked, too."""
    hooks.attach(object(), settings.GradientSettings(compress="bf16"))
    plain = torch.nn.Linear(1, 1)
    hooks.attach(plain, settings.GradientSettings(compress="bf16"))

    assert isinstance(plain, torch.nn.Linear)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({settings.COMPRESSION: "bf8"}, "compress: bf8: must be one of none, bf16, fp16, int8, power"),
        ({settings.COMPRESSION: "power", settings.RANK: "0"}, "rank: 0"),
        ({settings.COMPRESSION: "power", settings.WARM_UP: "0"}, "warm_up: 0"),
        ({settings.COMPRESSION: "power", settings.HIERARCHICAL: "1"}, "excludes hierarchical: true"),
    ],
)
def test_what_cannot_be_is_refused(said, words):
    """With the fields' own names."""
    with pytest.raises(ValueError, match=words):
        settings.read(said)
