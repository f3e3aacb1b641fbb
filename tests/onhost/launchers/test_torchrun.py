import sys

from clusterwright.onhost.launchers import static
from clusterwright.onhost.launchers.torchrun import arguments
from clusterwright.onhost.supervisor.host.generation import Generation

GENERATION = Generation(
    number=3, hosts=("gpu-node1", "gpu-node4"), host="gpu-node4", ranks=2, address="10.77.1.11", port=20031,
    local_address="10.77.1.14", interface="compute", restarts=3, log_dir="/r/logs/3/gpu-node4", run="/shared/runs/r",
)  # fmt: skip


def test_who_serves_the_rendezvous_is_said():
    """Else torchrun guesses it by host name, and two guesses of `not me` hang."""
    first = Generation(**{**GENERATION.__dict__, "host": "gpu-node1"})

    assert any("is_host=1" in argument for argument in arguments(first, ("train.py",)))
    assert any("is_host=0" in argument for argument in arguments(GENERATION, ("train.py",)))


def test_every_generation_has_a_rendezvous_of_its_own():
    """The number is part of the id; what an older generation says is not heard."""
    assert "--rdzv-id=r-3" in arguments(GENERATION, ("train.py",))


def test_the_command_comes_last_and_unchanged():
    """Whatever is in it."""
    assert arguments(GENERATION, ("a b.py", "--x=$(y)"))[-4:] == [sys.executable, "-u", "a b.py", "--x=$(y)"]


def test_fixed_ranks_are_said_and_torchrun_restarts_none():
    """With the static rendezvous; whoever supervises begins anew, with another port."""
    found = static.arguments(GENERATION, ("train.py",))
    index = GENERATION.hosts.index(GENERATION.host)

    assert f"--node-rank={index}" in found
    assert f"--master-addr={GENERATION.address}" in found
    assert "--max-restarts=0" in found
    assert not any("rdzv" in word for word in found)
