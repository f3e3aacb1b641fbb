"""What Slurm is told of a fabric."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from clusterwright.config.load import load_cluster
from clusterwright.config.names import expand
from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.parts import FabricSwitch
from clusterwright.plan.fabric.topology import block_lines, cluster_lines, placement, topology_lines
from clusterwright.provision.render.topology_conf import topology_conf

EXAMPLES = Path(__file__).parents[3] / "examples"
NDR = FabricSwitch(64, 400 * 10**9)


def hosts(count):
    """gpu0001 and so on."""
    return [f"gpu{number:04}" for number in range(1, count + 1)]


def parsed(text):
    """Hosts of each leaf, and switches of each switch above."""
    leaves, above = {}, {}
    for line in text.splitlines():
        found = re.fullmatch(r"SwitchName=(\S+) (Nodes|Switches)=(\S+)", line)
        if found[2] == "Nodes":
            leaves[found[1]] = expand(found[3])
        else:
            above[found[1]] = tuple(found[3].split(","))
    return leaves, above


@settings(max_examples=40, deadline=None)  # a busy machine is no failure
@given(
    some.integers(1, 250),
    some.sampled_from(["star", "leaf-spine", "fat-tree", "rail-optimized", "rail-only"]),
    some.sampled_from([1, 2, 8]),
)
def test_node_lists_part_the_hosts_and_every_switch_but_one_has_one_parent(count, kind, ports):
    """A tree: each host on one leaf, each switch under one other, one at the top."""
    made = design(kind, count, ports, NDR)

    leaves, above = parsed(topology_lines(made, hosts(count)))

    assert sorted(host for members in leaves.values() for host in members) == hosts(count)
    under = [switch for members in above.values() for switch in members]
    assert len(under) == len(set(under))
    assert len(leaves) + len(above) - len(under) == 1


def test_rails_of_the_gpu1024_example_are_what_its_cluster_file_says():
    """The planner's lines are those that `wright render` makes from the example's `switch:` fields."""
    cluster = load_cluster(EXAMPLES / "gpu1024" / "cluster.yaml")
    names = [name for group in cluster.nodes.values() if group.role == "compute" for name in group.names()]
    made = design("rail-optimized", len(names), 8, NDR)

    assert topology_lines(made, names) == topology_conf(cluster, "")


def test_pods_of_a_fat_tree_are_a_level_of_their_own():
    """4096 ports on 64-port switches: leaves, pods, and a core above them."""
    leaves, above = parsed(topology_lines(design("fat-tree", 512, 8, NDR), hosts(512)))

    assert len(leaves) == 128
    assert set(above) == {"pod1", "pod2", "pod3", "pod4", "core"}


@pytest.mark.parametrize("kind", ["ring", "star"])
def test_without_a_spine_all_hosts_are_on_one_switch(kind):
    """A ring and a small star say one line."""
    made = design(kind, 4, 2, NDR)

    assert topology_lines(made, hosts(4)) == "SwitchName=leaf1 Nodes=gpu[0001-0004]\n"
    assert placement(made, hosts(4)) == {"leaf1": tuple(hosts(4))}


def test_a_rack_of_nvlink_is_a_block():
    """36 trays of NVL72 racks are two blocks of 18."""
    assert block_lines(hosts(36), 18) == (
        "BlockName=rack1 Nodes=gpu[0001-0018]\nBlockName=rack2 Nodes=gpu[0019-0036]\nBlockSizes=18,36\n"
    )


def test_the_lines_of_a_cluster_file_name_a_switch_for_each_group():
    """One node group a unit."""
    said = cluster_lines(design("rail-optimized", 64, 8, NDR), hosts(64))

    assert said.count("switch: su") == 2
    assert 'hosts: "gpu[0033-0064]"' in said
