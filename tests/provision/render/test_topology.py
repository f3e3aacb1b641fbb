"""What Slurm is told of the network."""

import pytest

from clusterwright.provision.render.topology import blocks_of, kind_of, tree_of
from clusterwright.provision.render.topology_conf import topology

HEADER = "# header\n"


def rack(number, hosts, switch=None):
    """A compute group of so many hosts."""
    group = {
        "role": "compute",
        "hosts": f"r{number}-[01-{hosts:02}]",
        "addresses": {"management": f"10.77.0.{20 * number + 20}", "compute": f"10.77.1.{20 * number + 20}"},
        "cpus": {"cores_per_socket": 4},
        "memory": "64GiB",
    }
    return group | ({"switch": switch} if switch else {})


@pytest.fixture
def racks(altered):
    """Groups of so many hosts, in one partition."""

    def made(*hosts, switches=(), **slurm):
        groups = {
            f"rack{n}": rack(n, count, switches[n] if switches else None) for n, count in enumerate(hosts)
        }
        changes = {f"nodes.{name}": group for name, group in groups.items()}
        changes |= {"nodes.a100": None, "partitions.train.nodes": list(groups)}
        cluster = altered(changes)
        software = cluster.software.model_copy(update={"slurm": slurm.pop("version", "22.05")})
        return cluster.model_copy(
            update={"slurm": cluster.slurm.model_copy(update=slurm), "software": software}
        )

    return made


def test_auto_is_a_tree_where_every_group_names_its_switch(racks):
    """Slurm gives no work to hosts that hang on none."""
    assert kind_of(racks(2, 2, switches=("leaf1", "leaf2"))) == "tree"
    assert kind_of(racks(2, 2)) == "none"
    assert kind_of(racks(2, switches=("leaf1",), topology="none")) == "none"
    assert topology(racks(2, 2), HEADER) is None


def test_a_block_is_cut_from_a_group_and_the_smallest_comes_first(racks):
    """23.11 takes the first block as the size of all, and ends where another one is smaller."""
    found = blocks_of(racks(5, 4, topology="block", block_size=4))

    assert found.blocks == {
        "rack0-2": ("r0-05",),
        "rack0-1": ("r0-01", "r0-02", "r0-03", "r0-04"),
        "rack1": ("r1-01", "r1-02", "r1-03", "r1-04"),
    }
    assert found.sizes == (1, 2)


@pytest.mark.parametrize(
    ("version", "name", "last"),
    [
        ("23.11", "topology.conf", "BlockLevels=0,1"),
        ("24.05", "topology.conf", "BlockSizes=4,8"),
        ("25.05", "topology.yaml", '        nodes: "r1-[01-04]"'),
    ],
)
def test_blocks_as_each_release_reads_them(racks, version, name, last):
    """Levels, then sizes, then YAML."""
    told = topology(racks(4, 4, topology="block", block_size=4, version=version), HEADER)

    assert told[0] == name
    assert told[1].splitlines()[-1] == last


def test_a_tree_in_yaml_says_what_the_lines_say(racks):
    """From 25.05 on; before, a line for each switch."""
    old = racks(2, 1, switches=("leaf1", "leaf2"))
    new = racks(2, 1, switches=("leaf1", "leaf2"), version="25.05")

    assert topology(old, HEADER) == (
        "topology.conf",
        HEADER
        + """SwitchName=leaf1 Nodes=r0-[01-02]
SwitchName=leaf2 Nodes=r1-01
SwitchName=spine Switches=leaf1,leaf2
""",
    )
    assert topology(new, HEADER) == (
        "topology.yaml",
        HEADER
        + """- topology: network
  cluster_default: true
  tree:
    switches:
      - switch: leaf1
        nodes: "r0-[01-02]"
      - switch: leaf2
        nodes: "r1-01"
      - switch: spine
        children: leaf1,leaf2
""",
    )


def test_pods_of_a_large_fat_tree_are_a_level_of_their_own(altered):
    """128 leaves as the planner makes them: the file names leaves, the planner knows what is above."""
    groups = {
        f"leaf{n}": {
            "role": "compute", "hosts": f"g{n:03}-[1-4]", "switch": f"leaf{n}", "cpus": {"cores_per_socket": 4},
            "memory": "64GiB", "addresses": {"management": f"10.77.{n // 50}.{n % 50 * 4 + 20}",
                                             "compute": f"10.78.{n // 50}.{n % 50 * 4 + 20}"},
        }
        for n in range(128)
    }  # fmt: skip
    changes = {f"nodes.{name}": group for name, group in groups.items()}
    changes |= {
        "nodes.a100": None,
        "partitions.train.nodes": list(groups),
        "networks.management.subnet": "10.77.0.0/20",
        "networks.storage": None,
        "nodes.control.addresses.storage": None,
        "networks.compute": {
            "subnet": "10.78.0.0/20", "rate": "400Gbit/s", "kind": "infiniband", "fabric": "fat-tree", "rails": 8,
        },
        "lab": None,
    }  # fmt: skip
    above = tree_of(altered(changes)).above

    assert list(above) == ["pod1", "pod2", "pod3", "pod4", "core"]
    assert above["pod1"] == tuple(f"leaf{n}" for n in range(32))
    assert above["core"] == ("pod1", "pod2", "pod3", "pod4")
