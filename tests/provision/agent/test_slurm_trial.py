"""Trials by real daemons: what they would die of is refused in their own words, and nothing of them is left."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.onhost.provision import slurm_trial
from clusterwright.provision.resources import File, RoleContext, Trial
from clusterwright.provision.roles.slurm import slurm

SLURMS = Path("/var/cache/clusterwright/slurms")  # where tools/slurms puts them
EVERY = Path(__file__).parents[2] / "golden" / "render" / "versions" / "cluster.yaml"
DEVICES = "/dev/wright-test"


def installed():
    """The release of the slurmctld that is installed, as a parameter with its folder."""
    if not shutil.which("slurmctld"):
        return []
    said = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout
    return [pytest.param(None, ".".join(said.split()[1].split(".")[:2]), id=f"installed-{said.split()[1]}")]


def unpacked():
    """Those that tools/slurms has unpacked."""
    found = sorted(SLURMS.glob("[0-9]*/run")) if SLURMS.exists() else []
    if not found:
        skip = pytest.mark.skip(reason="slurm: newer ones are not unpacked (tools/slurms)")
        return [pytest.param(None, "", id="newer", marks=skip)]
    return [pytest.param(run, ".".join(run.parent.name.split(".")[:2]), id=run.parent.name) for run in found]


pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(os.getuid() != 0 or not shutil.which("slurmctld"), reason="needs root and slurmctld"),
]
each_slurm = pytest.mark.parametrize(("run", "of"), [*installed(), *unpacked()])


def with_release(cluster, of, **slurm_changes):
    """The cluster with another Slurm; where its packages come from is no matter here."""
    software = cluster.software.model_copy(update={"slurm": of})
    return cluster.model_copy(
        update={"software": software, "slurm": cluster.slurm.model_copy(update=slurm_changes)}
    )


@pytest.fixture
def attempt(tmp_path):
    """(exit code, words) of the trial of a host, with files changed as a test wants."""

    def run(cluster, host, programs=None, edit=None):
        resources = slurm(cluster, cluster.host(host), RoleContext())
        (trial,) = (found for found in resources if isinstance(found, Trial))
        folder = tmp_path / "scratch"
        folder.mkdir()
        for file in resources:
            if isinstance(file, File) and file.id in trial.files:
                text = edit(file.path, file.content) if edit else file.content
                (folder / Path(file.path).name).write_text(text)
        path = f"{programs}:{os.environ['PATH']}" if programs else os.environ["PATH"]
        argv = [str(folder) if word == "{}" else word for word in trial.argv]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=150, env=os.environ | {"PATH": path}
        )
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.fixture
def with_devices(cluster):
    """The lab's cluster with device files that are there, and control groups cleared away after."""
    for index in range(4):
        os.mknod(f"{DEVICES}{index}", stat.S_IFCHR | 0o600, os.makedev(195, index))
    group = cluster.nodes["a100"]
    gpus = group.gpus.model_copy(update={"devices": DEVICES})
    yield cluster.model_copy(
        update={"nodes": cluster.nodes | {"a100": group.model_copy(update={"gpus": gpus})}}
    )
    for index in range(4):
        Path(f"{DEVICES}{index}").unlink()
    for left in Path("/sys/fs/cgroup").glob("*/slurm_gpu-node1"):
        for folder in (*left.iterdir(), left):
            if folder.is_dir():
                folder.rmdir()


@each_slurm
@pytest.mark.parametrize("how", ["tree", "block", "configless"])
def test_slurmctld_comes_up_on_everything(attempt, run, of, how):
    """Every plugin and key is there; in three ways to be told of the network and to spread the files."""
    if how == "block" and of < "23.11":
        pytest.skip("blocks came with 23.11; the spec refuses them before")
    asked = {"tree": {}, "block": {"topology": "block", "block_size": 2}, "configless": {"configless": True}}[
        how
    ]

    code, words = attempt(with_release(load_cluster(EVERY), of, **asked), "control", run)

    assert (code, words) == (0, "")


@each_slurm
def test_slurmd_comes_up_on_its_own_files(attempt, with_devices, run, of):
    """With device files that are there."""
    code, words = attempt(with_release(with_devices, of), "gpu-node1", run)

    assert (code, words) == (0, "")


@each_slurm
@pytest.mark.parametrize(
    ("file", "line", "words"),
    [
        ("slurm.conf", "PrologTimeoutt=60\n", "PrologTimeoutt"),
        ("slurm.conf", "PartitionName=ghost Nodes=nobody[1-2]\n", "nobody"),
        ("slurm.conf", "SwitchType=switch/nowhere\n", "switch/nowhere"),
    ],
)
def test_what_slurmctld_dies_of_is_refused_in_its_words(attempt, run, of, file, line, words):
    """An unknown key, a node that no line names, a plugin that is not installed."""
    cluster = with_release(load_cluster(EVERY), of)

    code, said = attempt(cluster, "control", run, lambda path, text: text + line * path.endswith(file))

    assert code == 1
    assert words in said


@each_slurm
def test_what_slurmd_dies_of_is_refused_in_its_words(attempt, with_devices, run, of):
    """A key of cgroup.conf that nobody knows."""
    cluster = with_release(with_devices, of)

    code, said = attempt(
        cluster,
        "gpu-node1",
        run,
        lambda path, text: text + "ConstrainMoon=yes\n" * path.endswith("cgroup.conf"),
    )

    assert code == 1
    assert "ConstrainMoon" in said


def test_a_gpu_without_its_device_file_is_named(attempt, cluster):
    """Pain 1: Slurm would drain the host; the trial says which file it waits for."""
    missing = "/dev/wright-no-such"
    group = cluster.nodes["a100"]
    other = group.model_copy(update={"gpus": group.gpus.model_copy(update={"devices": missing})})

    code, said = attempt(cluster.model_copy(update={"nodes": cluster.nodes | {"a100": other}}), "gpu-node1")

    assert code == 1
    assert f"{missing}0" in said


def test_it_takes_no_port(attempt, cluster):
    """In a network of its own, so that it does not matter what runs here."""
    code, words = attempt(cluster, "control")

    assert (code, words) == (0, "")


def test_without_the_daemon_it_says_that_it_could_not_be_tried(tmp_path):
    """And refuses nothing."""
    done = subprocess.run(
        [sys.executable, slurm_trial.__file__, "slurmnone", str(tmp_path), "control"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert done.stdout == "no trial: slurmnone is not installed on this host\n"


@pytest.mark.parametrize(
    ("hostlist", "count"),
    [("a", 1), ("a[1-3]", 3), ("a[1-3,7],b", 5), ("a[001-128],b[08-11],c", 133), ("r[1-2]n[1-4]", 8)],
)
def test_as_many_addresses_as_nodes(hostlist, count):
    """Slurm as its makers build it ends where there are fewer, Debian's where there are more."""
    assert slurm_trial.count_of(hostlist) == count
    assert slurm_trial.count_of(slurm_trial.addresses(count)) == count
    assert slurm_trial.addresses(500) == "127.0.0.[1-250],127.0.1.[1-250]"


def test_what_needs_slurmdbd_or_other_hosts_is_left_out():
    """Accounts, qualities of service, power programs; nodes are all here."""
    partition = "PartitionName=a Nodes=b QoS=headroom-a AllowQos=x,y State=UP"

    assert slurm_trial.localize_line(partition) == "PartitionName=a Nodes=b State=UP"
    assert slurm_trial.localize_line("NodeName=b[1-2] MemSpecLimit=1024 CPUs=2") == (
        "NodeName=b[1-2] CPUs=2 NodeAddr=127.0.0.[1-2]"
    )
    assert slurm_trial.DROPPED.match("AccountingStorageType=accounting_storage/slurmdbd")
    assert slurm_trial.DROPPED.match("SuspendProgram=/opt/site/power-off")
    assert not slurm_trial.DROPPED.match("SchedulerParameters=bf_continue")
