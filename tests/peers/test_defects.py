"""Defects that were found in other programs that build clusters (D1 to D13): ours refuses, names or lacks each.

D3 is in tests/provision/test_apply_lab.py, D4 in tests/mistakes/test_trouble_lab.py, D8 in
tests/provision/render/test_job_hooks.py, D9 in tests/house/test_assertions.py. D11 (alerts) waits for the watchers.
"""

import subprocess
from pathlib import Path

import pytest

from clusterwright.check.checks.gpu_ecc import gpu_ecc
from clusterwright.check.checks.mounted import mounted
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.gpus import Driver, Gpu
from clusterwright.config.load import load_cluster
from clusterwright.config.slurm_keys import RELEASES
from clusterwright.config.slurm_keys.lint import lint
from clusterwright.edge.secrets import munge_key
from clusterwright.errors import WrightError
from clusterwright.provision.resources import File, RoleContext
from clusterwright.provision.roles import desired_resources
from clusterwright.units import MiB

ROOT = Path(__file__).parents[2]
HGX = ROOT / "examples" / "hgx" / "cluster.yaml"
WE_RENDER = RELEASES[RELEASES.index("21.08") :]
GIVEN = RoleContext({"munge.key": bytes(range(256)) * 4}, {})


def driver_says(errors):
    """Eight H100 as nvidia-smi lists them, with these uncorrectable errors."""
    return Driver(tuple(Gpu(index, uncorrected=errors[index]) for index in range(8)), ())


@pytest.mark.parametrize("bad", range(8))
def test_d1_the_errors_of_every_gpu_count(bad):
    """A script that summed a second column of one-column output saw none; one that asked GPU 0 saw one in eight."""
    cluster = load_cluster(HGX)
    want = HostSpec(cluster, cluster.host("hgx01"))
    errors = [5 if index == bad else 0 for index in range(8)]

    (found,) = gpu_ecc.judge(want, driver_says(errors))

    assert (found.status, found.part) == ("fail", f"gpu {bad}")
    assert f"GPU {bad}: uncorrectable ECC errors since the driver was loaded: 5" in found.observed
    assert [each.status for each in gpu_ecc.judge(want, driver_says([0] * 8))] == ["ok"]


@pytest.mark.parametrize(
    ("file", "line", "release"),
    [
        ("cgroup.conf", "CgroupAutomount=yes", "23.11"),
        ("cgroup.conf", "CgroupAutomount=yes", "26.05"),
        ("slurm.conf", "AccountingStorageUser=slurm", "25.11"),
        ("slurm.conf", "JobCredentialPrivateKey=/etc/slurm/key", "23.11"),
        ("cgroup.conf", "ConstrainKmemSpace=yes", "23.11"),
    ],
)
def test_d2_a_key_that_a_release_no_longer_takes_is_named(file, line, release):
    """Templates kept it for years: an error line at every start, or a daemon that does not start."""
    (found,) = lint(f"{line}\n", file, release)

    assert found.key.lower() == line.partition("=")[0].lower()


@pytest.mark.parametrize("release", WE_RENDER)
def test_d2_what_we_write_is_known_to_the_release(example, slurm_files, release):
    """Every example, for every release."""
    for name, text in slurm_files(example, release).items():
        assert [str(found) for found in lint(text, name, release)] == [], name


def test_d3_a_file_needs_no_answer_from_any_host(example):
    """A template that looped over facts of all hosts broke on all for one that was off; ours asks the file alone."""
    hosts = example.hosts()
    texts = {
        resource.content
        for host in (hosts[0], hosts[-1])
        for resource in desired_resources(example, host, GIVEN)
        if isinstance(resource, File) and resource.path == "/etc/slurm/slurm.conf"
    }

    assert len(texts) == 1
    for group in example.nodes.values():
        assert (
            group.role != "compute" or f"RealMemory={group.memory // MiB * 31 // 32} " in texts.copy().pop()
        )


def test_d5_the_munge_key_is_random_and_the_clusters_own(tmp_path):
    """Not a hash of a password with a public default: two clusters of one name have nothing in common."""
    keys = []
    for place in ("one", "two"):
        folder = tmp_path / place / "campus"
        folder.mkdir(parents=True)
        keys += [munge_key(folder), munge_key(folder)]

    assert keys[0] == keys[1] != keys[2] == keys[3]
    assert all(len(key) == 1024 and len(set(key)) > 200 for key in keys)
    assert sum(a == b for a, b in zip(keys[0], keys[2], strict=True)) < 30
    assert (tmp_path / "one" / "campus" / "munge.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_d5_a_key_that_others_can_read_is_refused(tmp_path, mode):
    """With the fix: a new key, if somebody has read it."""
    munge_key(tmp_path)
    (tmp_path / "munge.key").chmod(mode)

    with pytest.raises(WrightError, match="munge-key"):
        munge_key(tmp_path)


@pytest.mark.parametrize("length", [0, 31, 1023, 2048])
def test_d5_a_key_that_was_cut_short_is_refused(tmp_path, length):
    """Not spread over the cluster."""
    (tmp_path / "munge.key").write_bytes(b"x" * length)
    (tmp_path / "munge.key").chmod(0o600)

    with pytest.raises(WrightError, match=f"and {length} bytes"):
        munge_key(tmp_path)


def test_d6_no_key_is_in_the_repository_nor_in_a_rendered_tree():
    """A key in public git is the key of every site that took it."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    files = [ROOT / name for name in listed.splitlines() if name.endswith(("munge.key", "jwt_hs256.key"))]

    assert all(file.read_text() == "<secret munge.key>\n" for file in files if file.exists())


def test_d6_on_a_host_only_munge_reads_the_key(example):
    """0400, owner munge; neither a diff nor a render shows it."""
    for host in (example.control, example.hosts("compute")[0]):
        (key,) = (
            one for one in desired_resources(example, host, GIVEN) if one.id == "file:/etc/munge/munge.key"
        )

        assert (key.owner, key.group, key.mode, key.secret) == ("munge", "munge", 0o400, "munge.key")


@pytest.mark.parametrize("release", WE_RENDER)
def test_d7_slurm_can_schedule_gpus(example, slurm_files, release):
    """A file of another time (select/linear, no GresTypes, ControlMachine) gives no job a GPU."""
    files = slurm_files(example, release)
    lines = set(files["slurm.conf"].splitlines())

    assert {"SelectType=select/cons_tres", "GresTypes=gpu", "ProctrackType=proctrack/cgroup"} <= lines
    assert any(line.startswith("TaskPlugin=") and "task/cgroup" in line for line in lines)
    assert any(line.startswith("SlurmctldHost=") for line in lines)
    assert "ConstrainDevices=yes" in files["cgroup.conf"].splitlines()
    assert all(
        f":{group.gpus.model}:" in files["slurm.conf"] for group in example.nodes.values() if group.gpus
    )


@pytest.mark.parametrize("release", ["21.08", "26.05"])
def test_d10_the_first_job_does_not_take_all_memory(example, slurm_files, rows, release):
    """Memory is kept for the system, and a job that asks for none gets the share of its GPUs or CPUs."""
    text = slurm_files(example, release)["slurm.conf"]
    nodes, partitions = rows(text, "NodeName"), rows(text, "PartitionName")

    assert nodes
    assert all(int(node["MemSpecLimit"]) >= 1024 for node in nodes)
    assert partitions
    for one in partitions:
        assert int(one["DefMemPerCPU"]) > 0
        assert int(one["DefMemPerGPU"]) > 0


def test_d12_a_mount_that_is_gone_by_now_is_still_expected():
    """A template made of that day's facts never looked for it again; the file says what must be there."""
    cluster = load_cluster(HGX)
    want = HostSpec(cluster, cluster.host("hgx01"))
    found = list(mounted.judge(want, {}))

    assert [one.status for one in found] == ["fail"] * len(cluster.storage)
    assert [one.observed for one in found] == [
        f"{folder.path} is not mounted" for folder in cluster.storage.values()
    ]


def test_d13_what_others_lack_is_there(slurm_files):
    """Topology, enforced accounting, preemption by QOS: in the file of 1,024 GPUs."""
    cluster = load_cluster(ROOT / "examples" / "gpu1024" / "cluster.yaml")
    files = slurm_files(cluster)

    assert "AccountingStorageEnforce=associations,limits,qos,safe" in files["slurm.conf"].splitlines()
    assert any(name.startswith("topology.") for name in files)
    assert cluster.qos
