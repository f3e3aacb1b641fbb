"""A small lab for these tests: one control host and two compute hosts, in subnets of its own."""

import json
import subprocess
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.layout import layout, tag

TEXT = """
name: {name}
os: debian-12
networks:
  management: {{subnet: 10.{net}.0.0/24, rate: 1Gbit/s}}
  compute: {{subnet: 10.{net}.1.0/24, rate: 10Gbit/s}}
nodes:
  control:
    role: control
    hosts: control
    addresses: {{management: 10.{net}.0.10}}
    cpus: {{cores_per_socket: 2}}
    memory: 4GiB
  a100:
    role: compute
    hosts: gpu-node[1-2]
    addresses: {{management: 10.{net}.0.11, compute: 10.{net}.1.11}}
    cpus: {{sockets: 2, cores_per_socket: 8}}
    memory: 16GiB
    gpus: {{model: a100, count: 2, memory: 80GiB}}
storage:
  shared: {{kind: local, path: /shared}}
partitions:
  train: {{nodes: [a100], default: true}}
lab:
  rate_divisor: 100
"""


@pytest.fixture(scope="session")
def text_of_small_lab():
    """To be filled in: the name, and NET of 10.NET.0.0/16."""
    return TEXT


@pytest.fixture
def cluster_file(tmp_path):
    """Writes the cluster file of a lab with that name, in 10.NET.0.0/16."""

    def write(name="wright-test", net=231):
        path = tmp_path / f"{name}.yaml"
        path.write_text(TEXT.format(name=name, net=net))
        return path

    return write


@pytest.fixture
def cluster(cluster_file):
    """The cluster of the small lab."""
    return load_cluster(cluster_file())


@pytest.fixture
def planned(cluster):
    """What the small lab consists of."""
    return layout(cluster)


@pytest.fixture(scope="session")
def traces():
    """Finds what a lab has left on this machine."""
    return _traces


def _traces(name):
    """Everything on this machine that bears the mark of that lab, by looking, not by asking the journal."""
    mark = tag(name)
    mounts = [
        line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"/labs/{name}/" in line
    ]
    links = [
        row["ifname"] for row in json.loads(_out("ip", "-json", "link")) if row["ifname"].startswith(mark)
    ]
    spaces = [path.name for path in Path("/run/netns").glob(f"{mark}*")]
    trees = [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").glob("*/")]
    groups = [path for tree in trees if (path := tree / "clusterwright" / name).exists()]
    lines = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if _mentions(path, name, mark)]
    folders = [path for path in (lab.state.folder(name), Path("/run/clusterwright") / mark) if path.exists()]
    nspawn = list(Path("/run/systemd/nspawn/propagate").glob(f"{name}-*"))
    loops = [
        line for line in _out("losetup", "--list", "--noheadings").splitlines() if f"/labs/{name}/" in line
    ]
    return [*mounts, *links, *spaces, *groups, *lines, *folders, *nspawn, *loops]


def _mentions(path, name, mark):
    try:
        words = path.read_bytes().split(b"\0")
    except OSError:
        return False
    return any(f"/labs/{name}/".encode() in word or mark.encode() in word for word in words)


def _out(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout
