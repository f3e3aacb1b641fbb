"""The programs around jobs as texts: what they declare, and what they never do."""

import re
import shutil
import subprocess

import pytest

from clusterwright.check.checks import clock_offset
from clusterwright.check.facts.rdma_ports import LAYER
from clusterwright.provision.render.job_hooks import FOLDER, PROGRAMS, declared, hook_texts

HEADER = "# header\n"
SLURM = "sinfo squeue scontrol sacct sacctmgr sbatch srun salloc scancel sprio sshare sstat sdiag strigger sattach"


def variables(text):
    """What the file declares, by name."""
    return dict(re.findall(r"(?m)^([A-Z_]+)='(.*)'$", text))


@pytest.fixture
def of(cluster):
    """What is declared for a host."""
    return lambda host, where=cluster: variables(declared(where, where.host(host), HEADER))


def test_what_must_be_there_comes_from_the_file(of, altered):
    """Not from what was there on the day of the apply: a mount that is missing then is missed later (D12)."""
    disks = [{"size": "3.84TB", "mount": "/scratch"}, {"size": "1TB", "mount": "/cache"}]
    folder = {"kind": "nfs", "path": "/data", "server": "control"}
    real = altered({"lab": None, "nodes.a100.disks": disks, "storage.data": folder})
    found = of("gpu-node1", real)

    assert found["GPU_FILES"] == "/dev/nvidia0 /dev/nvidia1 /dev/nvidia2 /dev/nvidia3"
    assert (found["SCRATCH"], found["SCRATCH_MOUNTED"], found["GPU_DRIVER"]) == ("/scratch", "1", "1")
    assert found["MOUNTS"] == "/data /scratch /cache"


def test_a_lab_has_a_driver_where_one_could_be_made_and_no_disks(of, altered):
    """Its GPUs are simulated, its disks folders."""
    disks = [{"size": "3.84TB", "mount": "/scratch"}]
    found = of("gpu-node1", altered({"nodes.a100.disks": disks}))

    assert (found["GPU_DRIVER"], found["SCRATCH_MOUNTED"], found["MOUNTS"]) == ("if-there", "0", "")


def test_a_host_without_gpus_and_disks_declares_none(of):
    """Then nothing is looked for."""
    found = of("control")

    assert (found["GPU_FILES"], found["SCRATCH"]) == ("", "")


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ("health", "isolate")])
def test_no_program_but_health_calls_slurm(name):
    """slurm.conf(5) forbids it to prolog and epilog: they would wait for a controller that waits for them (D8)."""
    texts = hook_texts(HEADER)
    words = set()
    for text in (texts[f"{FOLDER}/{each}"] for each in (name, "common", "probes", "gpus", "isolation")):
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
        words |= set(re.findall(r"[a-z]+", "\n".join(lines)))

    assert words.isdisjoint(SLURM.split())


def test_the_first_line_is_the_interpreter():
    """The kernel reads no other."""
    for name in PROGRAMS:
        first, second, *_rest = hook_texts(HEADER)[f"{FOLDER}/{name}"].splitlines()
        assert (first, second) == ("#!/bin/sh", "# header")


@pytest.mark.skipif(
    not shutil.which("shellcheck"), reason="shellcheck is not installed (apt-get install shellcheck)"
)
def test_shellcheck_finds_nothing(tmp_path):
    """POSIX sh, which is dash on Debian and bash on Rocky."""
    for path, text in hook_texts(HEADER).items():
        (tmp_path / path.rpartition("/")[2]).write_text(text)
    names = [*PROGRAMS, "common", "probes", "gpus", "share"]
    done = subprocess.run(
        ["shellcheck", "-x", "-s", "sh", *names], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout


def test_every_xid_of_the_table_says_what_to_do():
    """A number, a meaning, a fix; what a program does to itself is not in it."""
    rows = [line for line in hook_texts(HEADER)[f"{FOLDER}/xids"].splitlines() if not line.startswith("#")]
    numbers = {int(row.split()[0]) for row in rows}

    assert all(re.fullmatch(r"\d+(\t[^\t]+){5}\t[^\t]+: [^\t]+", row) for row in rows)
    assert {48, 79, 119} <= numbers
    assert numbers.isdisjoint({13, 31, 43, 45})


def test_a_clock_is_off_for_a_host_when_it_is_for_a_check(of):
    """One limit, said in two places."""
    assert float(of("gpu-node1")["CLOCK_OFF_S"]) == clock_offset.FAIL_S


def test_a_port_has_the_layer_that_a_check_asks_for(of, altered):
    """For either kind of network; IPoIB is not asked for an address."""
    for kind, layer in LAYER.items():
        found = of("gpu-node1", altered({"networks.compute.kind": kind, "networks.compute.rails": 2}))
        assert (found["RDMA_PORTS"], found["RDMA_LAYER"]) == ("2", layer)
        assert ("compute=" in found["NETWORKS"]) == (kind == "roce")
    assert of("gpu-node1", altered({"networks.compute.kind": "ethernet"}))["RDMA_PORTS"] == "0"


def test_networks_and_share_are_declared(of, altered):
    """Those that the host's group is on; the share from the file."""
    found = of("gpu-node1", altered({"slurm.max_drained_percent": 25}))

    assert found["NETWORKS"].split()[:2] == ["management=10.77.0.0/24", "compute=10.77.1.0/24"]
    assert (found["MOST_DRAINED"], of("gpu-node1")["MOST_DRAINED"]) == ("25", "10")
