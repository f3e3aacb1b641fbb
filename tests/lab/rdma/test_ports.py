"""RDMA ports of a lab's hosts: the kernel's tree, as rdma-core's tools and our own fact read it."""

import shutil
import subprocess
import sys

import pytest

from clusterwright.check.facts.rdma_ports import rdma_ports
from clusterwright.config.load import load_cluster
from clusterwright.edge import bundler
from clusterwright.lab.rdma import state
from clusterwright.lab.rdma.ports import rdma


@pytest.fixture
def ports_of(cluster_file):
    """The ports of gpu-node2 where the compute network is of that kind."""

    def make(kind, *, rails=2, rate="400Gbit/s"):
        path = cluster_file()
        text = path.read_text().replace("rate: 10Gbit/s", f"rate: {rate}, kind: {kind}, rails: {rails}")
        path.write_text(text)
        cluster = load_cluster(path)
        return rdma(cluster, cluster.host("gpu-node2"))

    return make


@pytest.fixture
def shown(ports_of, tmp_path):
    """What our own fact reads of such ports, with the folder that they lie in."""

    def make(kind):
        ports, folder = ports_of(kind), tmp_path / "infiniband"
        state.install(ports, folder)
        return ports, folder, lambda: _fact(folder)

    return make


def _fact(folder):
    argv = [sys.executable, "-I", "-S", "-c", bundler.probe("rdma"), folder, "/nosuch"]
    return rdma_ports.parse(subprocess.run(argv, capture_output=True, text=True, check=True).stdout).ports


def test_infiniband_ports_are_up_at_the_declared_rate(shown):
    """One device for each rail; names that say that they are simulated."""
    _, _, read = shown("infiniband")
    ports = read()

    assert [port.name for port in ports] == ["mlx5_0:1", "mlx5_1:1"]
    assert {(port.up, port.rate_bits_per_s, port.link_layer) for port in ports} == {
        (True, 400_000_000_000, "InfiniBand")
    }
    assert {(port.board, port.firmware) for port in ports} == {("SIMULATED", "SIMULATED")}


def test_a_roce_port_has_its_ipv4_address_as_a_gid_of_version_2(shown):
    """At index 3, where a Mellanox driver puts it too."""
    _, _, read = shown("roce")
    gids = read()[0].gids

    assert [(gid.index, gid.ipv4) for gid in gids if gid.type == "RoCE v2" and gid.ipv4] == [
        (3, "10.231.1.12")
    ]
    assert read()[0].interfaces == ("compute",)


def test_plain_ethernet_has_no_ports(ports_of):
    """Nor has a host that is not on the compute network."""
    assert ports_of("ethernet", rails=1) is None


def test_what_is_put_shows_at_once_and_is_mended(shown):
    """On that port alone."""
    ports, folder, read = shown("infiniband")
    state.set_values(folder, ports, 1, {"state": "1: DOWN", "phys_state": "2: Polling"})
    state.add(folder, ports, 1, {"counters/link_downed": 2})
    state.add(folder, ports, 1, {"counters/link_downed": 2})
    downed = folder / "mlx5_1/ports/1/counters/link_downed"

    assert [port.up for port in read()] == [True, False]
    assert downed.read_text() == "4\n"
    state.reset(folder, ports, 1)
    assert [port.up for port in read()] == [True, True]
    assert downed.read_text() == "0\n"


@pytest.mark.lab
@pytest.mark.skipif(shutil.which("ibstat") is None, reason="no ibstat (apt-get install infiniband-diags)")
def test_ibstat_believes_them(shown):
    """rdma-core's own program, in mounts of its own; the lab's boot lays the tree over /sys as is done here."""
    ports, folder, _ = shown("infiniband")
    state.set_values(folder, ports, 1, {"state": "1: DOWN", "phys_state": "2: Polling"})
    script = state.AT_BOOT.replace(state.INSIDE, str(folder)).replace("/dev/", f"{folder.parent}/")
    script = script.replace("/run/", f"{folder.parent}/")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-euc", f"{script}\nibstat"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("CA 'mlx5_") == 2
    assert done.stdout.count("State: Active") == done.stdout.count("State: Down") == 1
    assert done.stdout.count("Physical state: LinkUp") == done.stdout.count("Physical state: Polling") == 1
    assert done.stdout.count("Rate: 400") == 2
    assert "CA type: SIMULATED" in done.stdout
