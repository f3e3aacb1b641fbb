"""What hosts on InfiniBand and RoCE have: drivers, modules, RoCE's settings, subnet managers, MPI, NCCL's files."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.config.field import Cost
from clusterwright.provision.gpudirect import gpudirect
from clusterwright.provision.render.rdma import find_gpudirect
from clusterwright.provision.render.tree import tree
from clusterwright.provision.resources import Derived, File, Package, Unit
from clusterwright.provision.roles import desired_resources

ROCE = {"lab": None, "rdma": {}}
INFINIBAND = {**ROCE, "networks.compute.kind": "infiniband"}
REPOSITORY = {
    "software.repositories": {"doca": {"url": "https://packages.example.org/doca", "unsigned": True}}
}
SLURM = {"software.slurm": "23.11"}  # that all of them have packages of


@pytest.fixture
def found(altered, given):
    """The resources of a host by id, where the file has these values."""

    def found(changes, host="gpu-node1"):
        cluster = altered(changes)
        return {resource.id: resource for resource in desired_resources(cluster, cluster.host(host), given)}

    return found


def packages(resources):
    """Name and version."""
    return {one.name: one.version for one in resources.values() if isinstance(one, Package)}


def test_a_file_that_says_nothing_of_rdma_gets_nothing(found):
    """What was set up by hand stays."""
    resources = found({"lab": None})

    assert not any("rdma" in name or "roce" in name or "ucx" in name for name in resources)
    assert "rdma-core" not in packages(resources)


@pytest.mark.parametrize(
    ("system", "names"),
    [
        ("debian-12", {"rdma-core", "ibverbs-providers", "openmpi-bin", "ucx-utils", "libpmix-dev"}),
        ("ubuntu-22.04", {"rdma-core", "ibverbs-providers", "openmpi-bin", "ucx-utils", "libpmix-dev"}),
        ("rocky-9", {"rdma-core", "libibverbs", "libibverbs-utils", "openmpi", "ucx", "pmix"}),
    ],
)
def test_each_distribution_has_its_own_names(found, system, names):
    """By the table, with its sources."""
    has = packages(found({**ROCE, **SLURM, **REPOSITORY, "os": system}))

    assert names <= set(has)
    assert ("ibverbs-providers" in has) == (not system.startswith("rocky"))


def test_nvidias_drivers_have_their_version_and_come_instead(found):
    """DOCA-OFED brings verbs and tools of its own."""
    asked = {"rdma": {"driver": "doca-ofed", "driver_version": "3.1"}, **REPOSITORY}
    has = packages(found({**ROCE, **asked}))

    assert has["doca-ofed"] == "3.1"
    assert "rdma-core" not in has
    assert "ibverbs-utils" not in has


def test_modules_are_loaded_at_boot_and_one_that_is_missing_is_named(found, tmp_path):
    """The others are loaded; a host without hardware comes up."""
    script = found(INFINIBAND)["file:/etc/clusterwright/rdma-modules.sh"].content
    (tmp_path / "modprobe").write_text('#!/bin/sh\n[ "$1" != ib_umad ]\n')
    (tmp_path / "modprobe").chmod(0o755)
    done = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": f"{tmp_path}:/bin:/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "ib_uverbs rdma_ucm ib_umad ib_ipoib" in script
    assert done.stdout == "ib_umad is not loaded\n"
    assert "ib_umad" not in found(ROCE)["file:/etc/clusterwright/rdma-modules.sh"].content


@pytest.mark.parametrize(
    ("system", "rdma", "driver", "way", "module"),
    [
        ("ubuntu-22.04", "inbox", "580.95", "peermem", "nvidia-peermem"),
        ("ubuntu-20.04", "inbox", "470.57", "peermem", "nvidia-peermem"),
        ("debian-12", "inbox", "580.95", "dma-buf", ""),
        ("rocky-9", "inbox", "580.95", "dma-buf", ""),
        ("rocky-8", "inbox", "580.95", None, None),
        ("rocky-8", "doca-ofed", "580.95", "peermem", "nvidia-peermem"),
        ("ubuntu-20.04", "mlnx-ofed", "460.91", "nv-peer-mem", "nv_peer_mem"),
    ],
)
def test_gpus_are_reached_by_what_driver_and_kernel_offer(altered, system, rdma, driver, way, module):
    """Each from the table, with its source."""
    cluster = altered(
        {**ROCE, **SLURM, **REPOSITORY, "os": system, "software.driver": driver, "rdma": {"driver": rdma}}
    )
    found = find_gpudirect(cluster, cluster.host("gpu-node1"))

    assert (found and found.name) == way
    assert (found and found.module) == module


def test_the_closed_modules_offer_no_dma_buf(altered, given):
    """On Debian then nothing is left: adapters go through the host's memory, and `peer_memory` says so."""
    nvidia = {"kernel_modules": "proprietary", "repository": "doca"}
    cluster = altered({**ROCE, **REPOSITORY, "software.driver": "580.95.05", "software.nvidia": nvidia})

    have = {one.id: one for one in desired_resources(cluster, cluster.host("gpu-node1"), given)}

    assert find_gpudirect(cluster, cluster.host("gpu-node1")) is None
    assert "# No way to the GPUs' memory" in have["file:/etc/clusterwright/rdma-modules.sh"].content


def test_every_way_to_gpus_has_a_source():
    """Whoever doubts it can read on."""
    assert all(way.source for way in gpudirect())


def test_without_gpus_or_a_driver_no_module_is_loaded(found):
    """The control host has no GPUs; a file without a driver leaves them to somebody else."""
    script = found(ROCE)["file:/etc/clusterwright/rdma-modules.sh"].content

    assert "peermem" not in script


def test_a_change_of_roce_wants_an_empty_host(found):
    """Buffers are laid out anew: what is under way is lost."""
    script = found(ROCE)["file:/etc/clusterwright/roce.sh"]

    assert script.cost == Cost.DRAIN
    assert "tos=106" in script.content
    assert "pauses=0,0,0,1,0,0,0,0" in script.content
    assert found(ROCE)["unit:clusterwright-roce.service"].reload


@pytest.fixture
def run_roce(found, tmp_path):
    """The script on a host with these files of /sys: what it said, and the calls of `dcb`."""

    def run(ports, *files, refused=""):
        script = found(ROCE)["file:/etc/clusterwright/roce.sh"].content
        for path in files:
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("1500\n")
        (tmp_path / "rdma-ports").write_text("# NETWORK DEVICE PORT INTERFACE MTU\n" + ports)
        for name in ("dcb", "ip", "modprobe", "mount", "mountpoint"):
            no = f'if [ "$4" = "{refused}" ]; then echo "{name}: no"; exit 1; fi'
            (tmp_path / name).write_text(f'#!/bin/sh\necho "{name} $*" >>{tmp_path}/calls\n{no}\n')
            (tmp_path / name).chmod(0o755)
        text = script.replace("/sys/", f"{tmp_path}/sys/").replace("/etc/clusterwright/", f"{tmp_path}/")
        path = f"{tmp_path}:/usr/bin:/bin"
        done = subprocess.run(
            ["sh", "-euc", text], env={"PATH": path}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        calls = tmp_path / "calls"
        return done.stdout.splitlines(), calls.read_text().splitlines() if calls.exists() else []

    return run


def test_an_adapter_is_set_as_the_file_says(run_roce, tmp_path):
    """By the kernel's own tool where NVIDIA's is not; its ECN is where NVIDIA's drivers have it."""
    ecn = "sys/class/net/rail0/ecn"
    cma = "sys/kernel/config/rdma_cm/mlx5_0/ports/1"
    said, calls = run_roce(
        "compute mlx5_0 1 rail0 9000\nstorage mlx5_9 1 eth9 1500\n",
        "sys/class/net/rail0/mtu", f"{ecn}/roce_np/enable/3", f"{ecn}/roce_rp/enable/3", f"{ecn}/roce_np/cnp_dscp",
        f"{cma}/default_roce_mode", f"{cma}/default_roce_tos",
    )  # fmt: skip

    assert said == []
    assert calls == [
        "ip link set dev rail0 mtu 9000",
        "dcb app replace dev rail0 dscp-prio 26:3",
        "dcb pfc set dev rail0 prio-pfc all:off 3:on",
    ]
    assert (tmp_path / ecn / "roce_np/enable/3").read_text() == "1\n"
    assert (tmp_path / ecn / "roce_np/cnp_dscp").read_text() == "48\n"
    assert (tmp_path / cma / "default_roce_tos").read_text() == "106\n"


def test_an_adapter_that_cannot_is_named_and_the_rest_is_done(run_roce):
    """One has no interface, one refuses, one is as it should be."""
    said, calls = run_roce(
        "compute mlx5_0 1 gone 9000\ncompute mlx5_1 1 rail1 1500\ncompute mlx5_2 1 rail2 1500\n",
        "sys/class/net/rail1/mtu", "sys/class/net/rail2/mtu", "sys/kernel/config/rdma_cm/other", refused="rail1",
    )  # fmt: skip

    assert said[0] == "mlx5_0: no interface gone; nothing is set"
    assert "mlx5_1 (rail1): PFC of priority 3: not set: dcb: no" in said
    assert any(line.startswith("mlx5_2 (rail2): ECN: left as the firmware has it") for line in said)
    assert "dcb pfc set dev rail2 prio-pfc all:off 3:on" in calls


def test_storage_over_roce_is_kept_whole_too(found):
    """NFS and Lustre go over RDMA as well."""
    script = found({**ROCE, "networks.storage.kind": "roce"})["file:/etc/clusterwright/roce.sh"].content

    assert 'networks="compute storage"\n' in script


def test_infiniband_has_no_roce(found):
    """Nor does a host of the management network alone."""
    assert "file:/etc/clusterwright/roce.sh" not in found(INFINIBAND)
    assert "file:/etc/clusterwright/roce.sh" not in found(ROCE, "control")
    assert "rdma-core" not in packages(found(ROCE, "control"))


def test_subnet_managers_run_where_the_file_says(found):
    """With their priorities, at each distribution's place."""
    managers = [{"host": "gpu-node1", "priority": 14}, {"host": "gpu-node3", "priority": 2}]
    asked = {**INFINIBAND, "rdma": {"subnet_managers": managers}}
    master, standby, none = (found(asked, host) for host in ("gpu-node1", "gpu-node3", "gpu-node2"))
    rocky = found({**asked, "os": "rocky-9"})

    assert "\nsm_priority 14\n" in master["file:/etc/opensm/opensm.conf"].content
    assert "\nsm_priority 2\n" in standby["file:/etc/opensm/opensm.conf"].content
    assert isinstance(master["unit:opensm.service"], Unit)
    assert "file:/etc/opensm/opensm.conf" not in none
    assert "file:/etc/rdma/opensm.conf" in rocky


def test_mpi_goes_over_the_network_of_the_gradients(found):
    """By address, as interfaces are called differently; a lab's adapters carry nothing, so it has TCP."""
    path = "file:/etc/openmpi/openmpi-mca-params.conf"
    real, lab = found(ROCE)[path].content, found({"rdma": {}})[path].content

    assert "btl_tcp_if_include = 10.77.1.0/24\n" in real
    assert "oob_tcp_if_include = 10.77.0.0/24\n" in real
    assert "pml = ucx" in real
    assert "pml = ob1" in lab
    assert "pml = ob1" in found({**ROCE, "networks.compute.kind": "ethernet"})[path].content
    assert path not in found({**ROCE, "rdma": {"mpi": False}})
    assert path not in found(ROCE, "control")


def test_nccl_and_ucx_are_worked_out_on_each_host(found):
    """What the host is told is its own addresses, its network, and what the file sets."""
    resources = found({**ROCE, "jobs.variables": {"NCCL_ALGO": "Tree"}, "software.nccl": "2.27"})
    file = resources["file:/etc/nccl.conf"]

    assert isinstance(file, Derived)
    assert file.params["addresses"] == {"compute": "10.77.1.11", "management": "10.77.0.11"}
    assert file.params["variables"] == {"NCCL_ALGO": "Tree"}
    assert file.params["nccl"] == [2, 27]
    assert file.params["network"]["others"] == ["10.77.0.0/24", "10.77.2.0/24"]
    assert "file:/etc/clusterwright/nccl-topology.xml" not in resources
    assert "file:/etc/ucx/ucx.conf" in resources


def test_a_topology_file_only_where_it_is_asked_for(found):
    """Bare metal needs none."""
    resources = found({**ROCE, "rdma": {"topology_file": True}})
    header = resources["file:/etc/clusterwright/nccl-topology.xml"].header

    assert header == "<!-- made by clusterwright; edit the cluster file instead -->\n"


def test_a_render_says_what_is_worked_out_where(altered, given):
    """Without a host nobody knows its devices."""
    text = tree(altered(ROCE), given)["gpu-node1"]["/etc/nccl.conf"]

    assert "<worked out on the host by nccl_conf" in text
    assert "10.77.1.11" in text


def test_pmix_is_the_default_only_where_the_file_says_so(found):
    """Every srun ends at once where Slurm's plugin does not load."""
    path = "file:/etc/slurm/slurm.conf"

    assert "\nMpiDefault=none\n" in found(ROCE)[path].content
    assert "\nMpiDefault=pmix\n" in found({**ROCE, "rdma": {"mpi_default": "pmix"}})[path].content


def test_every_script_is_one_that_a_shell_reads(found):
    """dash, as /bin/sh is on Debian; and shellcheck where it is at hand."""
    for resource in found({**ROCE, "networks.storage.kind": "roce"}).values():
        if isinstance(resource, File) and re.search(r"/(roce|rdma-modules)\.sh$", resource.path):
            done = subprocess.run(
                ["sh", "-n"], input=resource.content, text=True, capture_output=True, check=False
            )
            assert done.returncode == 0, done.stderr
            if shutil.which("shellcheck"):
                told = subprocess.run(
                    ["shellcheck", "--shell=sh", "--severity=warning", "-"],
                    input=resource.content, text=True, capture_output=True, check=False,
                )  # fmt: skip
                assert told.returncode == 0, told.stdout


def test_the_guides_example_is_one(altered):
    """What it shows can be pasted; only the addresses are the reader's own."""
    page = (Path(__file__).parents[3] / "docs" / "guides" / "rdma.md").read_text()
    shown = YAML(typ="safe").load(re.search(r"```yaml\n(.*?)```", page, flags=re.DOTALL)[1])
    network = shown["networks"]["compute"] | {"subnet": "10.77.1.0/24"}
    cluster = altered({"lab": None, "networks.compute": network, "rdma": shown["rdma"]})

    assert cluster.rdma.switch_mtu > cluster.networks.compute.mtu
