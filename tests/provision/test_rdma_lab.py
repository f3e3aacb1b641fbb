"""RDMA on real hosts with simulated ports: what each works out, what shows when a port goes, and MPI; own lab."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab import host
from clusterwright.lab.able import able
from clusterwright.lab.state import read
from clusterwright.provision.apply import apply, remote_of
from clusterwright.provision.change.drift import drift
from clusterwright.provision.roles.opensm import TEXT

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-rdma", "10.222."
MISSING = able()

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]

# A real MPI program without a compiler: Open MPI's own library, called as C would call it.
HELLO = """
import ctypes, os, socket
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
def asked(call):
    number = ctypes.c_int()
    assert call(world, ctypes.byref(number)) == 0
    return number.value
assert mpi.MPI_Init(None, None) == 0
rank, size = asked(mpi.MPI_Comm_rank), asked(mpi.MPI_Comm_size)
mine, total = ctypes.c_int(rank + 1), ctypes.c_int()
of = lambda name: ctypes.byref(ctypes.c_char.in_dll(mpi, name))
mpi.MPI_Allreduce(ctypes.byref(mine), ctypes.byref(total), 1, of("ompi_mpi_int"), of("ompi_mpi_op_sum"), world)
print(socket.gethostname(), rank, size, total.value, flush=True)
mpi.MPI_Finalize()
"""


class Site:
    """A control host and two compute hosts on a RoCE network of two rails."""

    def __init__(self, folder, name=NAME, subnets=SUBNETS, **more):
        self.file, self.name, self.subnets, self.more = folder / "cluster.yaml", name, subnets, more
        self.cluster = self.write({})

    def write(self, changes):
        """The example, smaller, with these values by dotted path; None takes one out."""
        yaml = YAML()
        document = yaml.load(LAB.read_text().replace("10.77.", self.subnets))
        ours = {
            "name": self.name, "nodes.a100.hosts": "gpu-node[1-2]", "accounting": {"enabled": False},
            "networks.compute.rails": 2, "networks.compute.fabric": "rail-optimized", "rdma": {},
        }  # fmt: skip
        for path, value in (ours | self.more | changes).items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place.setdefault(part, {})
            if value is None:
                place.pop(last, None)
            else:
                place[last] = value
        yaml.dump(document, self.file)
        return load_cluster(self.file)

    def apply(self, changes=None, **options):
        """An apply of the file with these values."""
        cluster = self.write(changes or {})
        report = apply(cluster, str(self.file), remote_of(cluster), **options)
        assert report.ok, [(one.host, one.error) for one in report.hosts]
        return report

    def run(self, name, text, stdin=b""):
        """What a command on a host said; it must end well."""
        done = remote_of(self.cluster).run(name, text, stdin=stdin, timeout_s=120)
        assert done.ok, f"{name}: {text}: {done.code}: {done.out}{done.err}"
        return done.out


def changed(report):
    """Host, what, and why."""
    return {(one.host, change.id, change.drift) for one in report.hosts for change in one.changes}


@contextmanager
def standing(folder, *names, **more):
    """Applied once; taken down at the end, whatever happened."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # the keys of these tests are not the user's
        site = Site(folder, *names, **more)
        lab.down(site.name)
        try:
            lab.up(site.cluster)
            site.apply()
            yield site
        finally:
            left = lab.down(site.name)
        assert left == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """RoCE."""
    with standing(tmp_path_factory.mktemp("site")) as site:
        yield site


def test_infiniband_has_its_own_words(tmp_path):
    """No GID, no marks; a subnet manager's file where the file names one, and nothing to do a second time."""
    managers = [{"host": "gpu-node1", "priority": 14}, {"host": "gpu-node2", "priority": 13}]
    more = {
        "networks.compute.kind": "infiniband", "networks.compute.rails": 4,
        "rdma": {"subnet_managers": managers, "mpi": False},
    }  # fmt: skip
    with standing(tmp_path, "test-rdma-ib", f"{SUBNETS}1", **more) as site:
        again = changed(site.apply(dry_run=True))
        said = site.run("gpu-node1", "cat /etc/nccl.conf").splitlines()
        kept = site.run("gpu-node2", "cat /etc/opensm/opensm.conf; ls /etc/ucx/ucx.conf || true")

    assert again == set()
    assert [line for line in said if line and not line.startswith("#")] == [
        "NCCL_SOCKET_IFNAME==compute",
        "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1",
        "NCCL_CROSS_NIC=0",
    ]
    assert "sm_priority 13" in kept
    assert "/etc/ucx/ucx.conf\n" not in kept


def test_a_second_apply_changes_nothing(site):
    """Nor would it restart anything."""
    assert changed(site.apply(dry_run=True)) == set()


def test_each_host_has_its_own_names(site):
    """What NCCL reads is of this host: its interface, its adapters, the GID of its address."""
    said = site.run("gpu-node2", "cat /etc/nccl.conf").splitlines()

    assert [line for line in said if line and not line.startswith("#")] == [
        "NCCL_SOCKET_IFNAME==compute",
        "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1",
        "NCCL_IB_GID_INDEX=3",
        "NCCL_IB_TC=106",
        "NCCL_IB_SL=3",
        "NCCL_CROSS_NIC=0",
    ]
    gid = site.run("gpu-node2", "cat /sys/class/infiniband/mlx5_1/ports/1/gids/3").strip()
    assert gid.endswith("ffff:0ade:010c")  # 10.222.1.12
    assert "compute mlx5_1 1 compute 1500" in site.run("gpu-node2", "cat /etc/clusterwright/rdma-ports")
    assert "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1\n" in site.run("gpu-node1", "cat /etc/ucx/ucx.conf")


def test_ucx_reads_its_file(site):
    """As any user, who has set nothing."""
    said = site.run("gpu-node1", "runuser -u bob -- ucx_info -c")

    assert "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1\n" in said
    assert "UCX_TLS=^tcp\n" in said


def test_open_mpi_reads_its_file(site):
    """The network by its addresses."""
    said = site.run("gpu-node1", "runuser -u bob -- ompi_info --param btl tcp --level 9 --parsable")

    assert f"btl_tcp_if_include:value:{SUBNETS}1.0/24" in said.replace("mca:btl:tcp:param:", "")


def test_opensm_reads_its_file(site):
    """None runs in a lab, whose ports carry nothing; the program itself says what it takes from our file."""
    text = TEXT.format(priority=13)
    said = site.run(
        "gpu-node1", "cat >/tmp/sm.conf; opensm -F /tmp/sm.conf -c /tmp/all.conf", stdin=text.encode()
    )

    assert "sm_priority = 13" in said
    assert "\nsm_priority 13\n" in site.run("gpu-node1", "cat /tmp/all.conf")


def test_a_port_that_goes_away_shows_as_the_hosts_own_change(site):
    """In the plan and in the drift; and back again, the file is what it was."""
    state = read(NAME)
    one = next(each for each in state.layout.hosts if each.name == "gpu-node1")
    folder = host.rdma_folder(state, one)
    shutil.move(folder / "mlx5_1", folder.parent / "mlx5_1")
    try:
        looked = site.apply(dry_run=True)
        rows = {row.id: row for row in drift(looked).rows}
        notes = [note for each in looked.hosts for note in each.notes]
    finally:
        shutil.move(folder.parent / "mlx5_1", folder / "mlx5_1")

    assert ("gpu-node1", "file:/etc/nccl.conf", "hardware") in changed(looked)
    assert {name for name, _id, _why in changed(looked)} == {"gpu-node1"}
    assert (
        rows["file:/etc/nccl.conf"].reason == "the host's devices or addresses changed since the last apply"
    )
    assert "-NCCL_IB_HCA==mlx5_0:1,mlx5_1:1" in rows["file:/etc/nccl.conf"].diff
    assert any("roce ports on the compute network: 1" in note for note in notes)
    assert changed(site.apply(dry_run=True)) == set()


def test_devices_that_a_host_has_not_are_named_and_the_rest_is_done(site):
    """On each host that lacks them."""
    looked = site.apply({"nodes.a100.nics": ["mlx5_1", "mlx5_7"]}, dry_run=True)
    notes = {each.host: " ".join(each.notes) for each in looked.hosts}
    diff = next(one.diff for each in looked.hosts for one in each.changes if one.id == "file:/etc/nccl.conf")

    assert "mlx5_7, but this host has no such port" in notes["gpu-node1"]
    assert "mlx5_7, but this host has no such port" in notes["gpu-node2"]
    assert "+NCCL_IB_HCA==mlx5_1:1" in diff.splitlines()


def test_the_script_of_roce_names_what_a_labs_links_cannot(site):
    """A veth has no priorities: the unit has run, each adapter is named, and nothing has failed."""
    said = site.run(
        "gpu-node1", "journalctl -q -o cat -u clusterwright-roce; systemctl is-active clusterwright-roce"
    )

    assert "mlx5_0 (compute): PFC of priority 3: not set" in said
    assert "mlx5_1 (compute): ECN: left as the firmware has it" in said
    assert said.splitlines()[-1] == "active"


@pytest.mark.parametrize("default", ["none", "pmix"])
def test_mpi_runs_on_two_hosts(site, default):
    """By PMIx, over TCP; and by a plain srun where the file makes that the default, with a job running meanwhile."""
    site.run("control", "cat > /shared/hello.py", stdin=HELLO.encode())
    job = site.run(
        "control", "runuser -u bob -- sbatch --parsable -N2 -o /dev/null --wrap 'srun sleep 300'"
    ).strip()
    site.apply({"rdma": {"mpi_default": default}})
    asked = "--mpi=pmix " if default == "none" else ""
    said = site.run("control", f"cd /shared && runuser -u bob -- srun {asked}-N2 -n4 python3 hello.py")
    state = site.run("control", f"squeue -h -j {job} -o %T; scancel {job}; true").split()

    assert sorted(line.split()[1:] for line in said.splitlines()) == [
        [str(rank), "4", "10"] for rank in range(4)
    ]
    assert {line.split()[0] for line in said.splitlines()} == {"gpu-node1", "gpu-node2"}
    assert state == ["RUNNING"]


def test_without_the_section_what_it_wrote_goes(site):
    """The file says nothing of RDMA again: no file of ours stays."""
    site.apply({"rdma": None})
    left = site.run(
        "gpu-node1", "ls /etc/nccl.conf /etc/ucx/ucx.conf /etc/clusterwright/roce.sh 2>/dev/null; true"
    )
    site.apply()

    assert left == ""
