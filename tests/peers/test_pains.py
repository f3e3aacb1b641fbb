"""What users of other programs that build clusters complain of most (pains 1 to 15): what ours does about each.

Live, with real daemons: 1, 2, 6 and 15 in tests/mistakes/test_trouble_lab.py, 5 and 7 in
tests/provision/test_members.py and test_live_lab.py, 8 in test_live_lab.py, 12 in test_job_hook_programs.py, 14 in
bench/apply_vs_peers.py. 4 (MIG) and 13 (SPANK plug-ins) wait for drivers and containers.
"""

import re
from fnmatch import fnmatch

import pytest

from clusterwright.check.checks.cgroup_plugin import cgroup_plugin
from clusterwright.check.checks.gpu_device_files import gpu_device_files
from clusterwright.check.checks.real_memory import real_memory
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.cgroup_plugins import CgroupPlugins
from clusterwright.check.facts.slurmd_hardware import Hardware as Found
from clusterwright.config.slurm_keys import RELEASES
from clusterwright.provision.resources import Hardware, Hold, RoleContext
from clusterwright.provision.roles import desired_resources
from clusterwright.provision.roles.package_hold import DRIVER, FABRIC, SLURM, expression
from clusterwright.units import MiB

WE_RENDER = RELEASES[RELEASES.index("21.08") :]
GIVEN = RoleContext({"munge.key": bytes(range(256)) * 4}, {})


def compute(example):
    """What the file wants of the first compute host."""
    return HostSpec(example, example.hosts("compute")[0])


def devices(value):
    """How many files `/dev/nvidia[0-3]` names."""
    found = re.fullmatch(r".*\[(\d+)-(\d+)\]", value)
    return int(found[2]) - int(found[1]) + 1 if found else 1


@pytest.mark.parametrize("release", WE_RENDER)
def test_1_and_2_slurm_conf_and_gres_conf_name_the_same_gpus(example, slurm_files, rows, release):
    """Count and type come from one place; nothing is left to a detection that can find none in silence."""
    files = slurm_files(example, release)
    told = {}
    for row in rows(files["gres.conf"], "NodeName"):
        key = (row["NodeName"], row["Type"])
        told[key] = told.get(key, 0) + devices(row["File"])
    nodes = rows(files["slurm.conf"], "NodeName")
    offered = {(row["NodeName"], *row["Gres"].split(":")[1:]) for row in nodes if "Gres" in row}

    assert {(host, model, str(count)) for (host, model), count in told.items()} == offered
    assert "AutoDetect" not in "".join(line for line in files["gres.conf"].splitlines() if line[0] != "#")


def test_1_a_missing_device_file_is_a_fault_of_its_host(example):
    """And a regular file in its place is one too."""
    want = compute(example)
    paths = want.host.group.gpus.device_files()
    whole = dict.fromkeys(paths, "character special file")

    assert gpu_device_files.judge(want, whole).status == "ok"
    assert gpu_device_files.judge(want, {path: whole[path] for path in paths[:-1]}).status == "fail"
    assert (
        gpu_device_files.judge(want, whole | {paths[0]: "regular file"}).observed
        == f"missing device files: {paths[0]}"
    )


@pytest.mark.parametrize("release", ["21.08", "26.05"])
def test_3_cores_of_a_gpu_are_whole_sockets_or_left_out(example, slurm_files, rows, release):
    """Half a socket, or cores that the host has not, is `invalid GRES core specification`."""
    for row in rows(slurm_files(example, release)["gres.conf"], "NodeName"):
        if "Cores" in row:
            first, last = map(int, row["Cores"].split("-"))
            cpus = next(g.cpus for g in example.nodes.values() if g.gpus and g.gpus.model == row["Type"])
            assert first % cpus.cores_per_socket == 0
            assert (last + 1) % cpus.cores_per_socket == 0
            assert last < cpus.sockets * cpus.cores_per_socket
        assert not re.search(r"Cores=\D", str(row))


@pytest.mark.parametrize(
    "package",
    [
        "nvidia-driver-580", "libnvidia-compute-580", "nvidia-fabricmanager-580", "nvidia-dkms-580-open",
        "linux-modules-nvidia-580-generic", "cuda-drivers-580", "kmod-nvidia-open-dkms", "mlnx-ofed-kernel-dkms",
        "doca-ofed", "rdma-core", "libibverbs1", "slurm-wlm", "slurmd", "slurm-smd-slurmctld", "libslurm39",
    ],
)  # fmt: skip
def test_9_nothing_upgrades_driver_fabric_or_slurm_by_itself(package):
    """By dpkg's hold or dnf's versionlock, and by unattended-upgrades' own list."""
    patterns = (*DRIVER, *FABRIC, *SLURM)

    assert any(fnmatch(package, pattern) for pattern in patterns)
    assert any(re.match(expression(pattern), package) for pattern in patterns)


@pytest.mark.parametrize("package", ["openssh-server", "linux-image-amd64", "python3", "libc6", "sudo"])
def test_9_security_updates_of_all_else_go_on(package):
    """A hold of everything would be the other mistake."""
    patterns = (*DRIVER, *FABRIC, *SLURM)

    assert not any(fnmatch(package, pattern) for pattern in patterns)
    assert not any(re.match(expression(pattern), package) for pattern in patterns)


def test_9_every_host_holds_them(example):
    """Control hosts too: a slurmctld that is older than its slurmd loses them."""
    for host in (example.control, example.hosts("compute")[0]):
        holds = [one for one in desired_resources(example, host, GIVEN) if isinstance(one, Hold)]

        assert set(DRIVER + FABRIC + SLURM) <= {pattern for one in holds for pattern in one.patterns}


@pytest.mark.parametrize(
    ("mounted", "plugins", "status"),
    [
        ("v2", ("v1", "v2"), "ok"),
        ("v1", ("v1", "v2"), "ok"),
        ("v2", ("v1",), "fail"),
        ("v1", ("v2",), "fail"),
        ("v2", (), "fail"),
    ],
)
def test_10_a_slurm_without_the_plugin_for_the_hosts_control_groups_is_named(
    example, mounted, plugins, status
):
    """The file is looked at, not the version: it is missing where D-Bus's headers were missing at the build."""
    want = compute(example)
    verdict = cgroup_plugin.judge(want, CgroupPlugins(mounted, plugins))

    assert verdict.status == status
    assert mounted in verdict.observed


def test_11_memory_that_is_less_than_slurm_is_told_is_named(example):
    """Also where it is within the 5 % that a check of the hardware lets pass."""
    want = compute(example)
    told = want.host.group.memory // MiB * 31 // 32
    cpus = want.host.group.cpus

    for mib, status in ((told, "ok"), (told - 1, "fail")):
        found = Found(cpus.sockets, cpus.cores_per_socket, cpus.threads_per_core, mib * MiB)
        assert real_memory.judge(want, found).status == status


def test_11_and_an_apply_looks_at_the_same(example):
    """Where the hosts are not of a lab, whose memory is only modelled."""
    want = compute(example)
    (found,) = (one for one in desired_resources(example, want.host, GIVEN) if isinstance(one, Hardware))

    assert found.devices == want.host.group.gpus.device_files()
    assert found.memory_mib == (0 if example.lab else want.host.group.memory // MiB * 31 // 32)


@pytest.mark.parametrize("release", WE_RENDER)
def test_12_a_prolog_has_time_and_a_job_outlives_one_that_fails(example, slurm_files, release):
    """`Prolog hung`: a batch script waits for its prolog, and a failed one does not hold the job."""
    lines = dict(
        line.split("=", 1) for line in slurm_files(example, release)["slurm.conf"].splitlines() if "=" in line
    )

    assert int(lines["BatchStartTimeout"]) >= 120
    assert "nohold_on_prolog_fail" in lines["SchedulerParameters"]
