"""Gradual faults on virtual hosts: they grow, stop at their limit, end when they are undone, and leave nothing."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.edge.ssh import Ssh
from clusterwright.lab import able, cgroups, gradual

REASONS = "; ".join(f"{finding.message} ({finding.fix})" for finding in able())
pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(REASONS), reason=f"hosts cannot be made here: {REASONS}"),
]
NAME, NET, HOST = "wright-gradual", 238, "gpu-node1"
MIB = 2**20


@pytest.fixture(scope="module")
def small_lab(tmp_path_factory, text_of_small_lab, traces):
    """The small lab; nothing of it is left, though a fault grows when it is removed."""
    path = tmp_path_factory.mktemp("gradual") / "cluster.yaml"
    path.write_text(text_of_small_lab.format(name=NAME, net=NET))
    try:
        yield lab.up(load_cluster(path))
        lab.fault(NAME, "degrading-host", HOST)
        assert processes()
    finally:
        assert lab.down(NAME) == []
        assert traces(NAME) == []


@pytest.fixture
def standing(small_lab):
    """The lab without faults, also afterwards."""
    yield small_lab
    lab.undo(NAME)
    wait_for(lambda: not processes())


def processes():
    """The processes of gradual faults."""
    return cgroups.processes(NAME, gradual.GROUP)


def wait_for(seen, limit_s=30):
    """What `seen` returns, once it is something."""
    end = time.monotonic() + limit_s
    while not (value := seen()):
        assert time.monotonic() < end, (lab.state.folder(NAME) / gradual.LOG).read_text()
        time.sleep(0.3)
    return value


def files(name):
    """The files of that name in the control groups of the host."""
    return [path for group in cgroups.groups(NAME, HOST) if (path := group / name).exists()]


def quota():
    """The host's share of a processor in percent; 0 without a limit."""
    for path in files("cpu.cfs_quota_us"):
        return max(0, int(path.read_text()) // 1000)
    text = files("cpu.max")[0].read_text()
    return 0 if text.startswith("max") else int(text.split()[0]) // 1000


def test_the_share_of_a_processor_falls_to_the_lowest(standing):
    """From all of one processor, step by step; then the process has ended, and undo removes the limit."""
    lab.fault(NAME, "degrading-host", HOST, per_minute="100", percent="80")
    assert quota() == 100
    between = wait_for(lambda: quota() if quota() < 100 else 0)
    wait_for(lambda: quota() == 80)
    wait_for(lambda: not processes())
    lab.undo(NAME, HOST)

    assert 80 < between < 100
    assert quota() == 0


def test_a_fault_that_is_undone_grows_no_more(standing):
    """Its process ends by itself, and what it changes stays as the undo has left it; so does a repeated fault's."""
    lab.fault(NAME, "degrading-host", HOST, per_minute="50")
    lab.fault(NAME, "degrading-host", HOST, per_minute="100")
    wait_for(lambda: len(processes()) == 1)
    lab.undo(NAME, HOST)
    wait_for(lambda: not processes())

    assert quota() == 0


def rates(state):
    """The rate of the compute link in both directions, in bits per second."""
    host = state.layout.host(HOST)
    [link] = [link for link in host.links if link.network == "compute"]
    commands = (
        ("tc", "-json", "qdisc", "show", "dev", link.outside),
        ("tc", "-n", host.namespace, "-json", "qdisc", "show", "dev", "compute"),
    )
    texts = [subprocess.run(argv, capture_output=True, text=True, check=True).stdout for argv in commands]
    return [json.loads(text)[0]["options"]["rate"] * 8 for text in texts]


def test_the_rate_of_a_link_falls_in_both_directions(standing):
    """From the file's rate; undone, it is that again."""
    initial = rates(standing)
    lab.fault(NAME, "degrading-link", HOST, per_minute="100", percent="90", network="compute")
    wait_for(lambda: all(rate == 90_000_000 for rate in rates(standing)), 60)
    lab.undo(NAME, HOST)

    assert initial == [100_000_000] * 2
    assert rates(standing) == initial


def test_the_rate_of_a_disk_falls(standing):
    """From the rate of the option; undone, no limit is left."""
    names = ("blkio.throttle.write_bps_device", "io.max")
    lab.fault(NAME, "degrading-disk", HOST, rate="10MB/s", per_minute="100", percent="90")
    first = limits(names)
    wait_for(lambda: limits(names) == [9_000_000])
    lab.undo(NAME, HOST)

    assert first == [10_000_000]
    assert limits(names) == []


def limits(names):
    """The write limits of the host's groups, in bytes per second."""
    rows = [row for name in names for path in files(name) for row in path.read_text().splitlines()]
    return [int(row.rpartition("wbps=")[2].split()[-1]) for row in rows]


def test_a_leak_grows_to_its_most_and_ends(standing):
    """In the host's own control groups, since no job runs there."""
    lab.fault(NAME, "memory-leak", HOST, per_minute="1GiB", most="64MiB")
    [pid] = leaks()
    sizes = [
        wait_for(lambda: resident(pid) > 20 * MIB and resident(pid)),
        *(wait_for(lambda: resident(pid) > 64 * MIB and resident(pid)),),
    ]
    time.sleep(1.5)
    last = resident(pid)
    lab.undo(NAME, HOST)

    assert sizes[0] < sizes[1] <= last < 64 * MIB + 30 * MIB
    assert leaks() == []


def leaks():
    """The leaking processes of the host."""
    found = []
    for pid in cgroups.processes(NAME, HOST):
        line = Path(f"/proc/{pid}/cmdline")
        if line.exists() and b"bytes_per_s" in line.read_bytes():
            found.append(pid)
    return found


def resident(pid):
    """The bytes of a process in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def test_a_gpu_grows_hot_and_throttles(standing):
    """From a GPU at work to a quarter of its clocks, as nvidia-smi shows it."""
    lab.fault(NAME, "gpu-heating", HOST, per_minute="60")
    first = gpu(standing)
    warm = wait_for(lambda: gpu(standing)[0] > 85 and gpu(standing), 60)
    hot = wait_for(lambda: gpu(standing)[0] == 93 and gpu(standing), 60)
    lab.undo(NAME, HOST)

    assert first[1] == gpu(standing)[1] > warm[1] > hot[1] == 345
    assert gpu(standing)[0] < first[0]


def gpu(state):
    """Temperature and clock of the first GPU."""
    query = "nvidia-smi -i 0 --query-gpu=temperature.gpu,clocks.sm --format=csv,noheader,nounits"
    done = Ssh(config=state.ssh_config).run(HOST, query)
    assert done.ok, done.err
    return tuple(int(part) for part in done.out.split(","))
