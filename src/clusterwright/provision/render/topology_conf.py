"""topology.conf and, since Slurm 25.05, topology.yaml: the hosts of each switch or block."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance
from clusterwright.config.names import fold
from clusterwright.config.slurm import SlurmFile
from clusterwright.provision.render.slurm_releases import block_sizes, release_of, topology_file
from clusterwright.provision.render.topology import Blocks, Tree, blocks_of, kind_of, tree_of

_FILES: tuple[SlurmFile, ...] = ("topology.yaml", "topology.conf")  # Slurm reads the first that exists


@cache_per_instance
def topology(cluster: Cluster, header: str) -> tuple[str, str] | None:
    """Return name and text of the topology file for the release, the site's own if it has one.

    None without a topology.
    """
    for site_file in _FILES:
        if (text := cluster.slurm.file_text(site_file, header)) is not None:
            return site_file, text
    kind = kind_of(cluster)
    if kind == "none":
        return None
    name = topology_file(release_of(cluster))
    if name == "topology.yaml":
        return name, header + (
            _yaml_tree(tree_of(cluster)) if kind == "tree" else _yaml_blocks(blocks_of(cluster))
        )
    return name, topology_conf(cluster, header)


def topology_conf(cluster: Cluster, header: str) -> str:
    """Return the text of topology.conf: a line for each switch, leaves first, or for each block."""
    if kind_of(cluster) == "block":
        return header + _block_lines(blocks_of(cluster), block_sizes(release_of(cluster)))
    tree = tree_of(cluster)
    lines = [f"SwitchName={switch} Nodes={fold(hosts)}\n" for switch, hosts in tree.leaf_switches.items()]
    lines += [f"SwitchName={switch} Switches={','.join(under)}\n" for switch, under in tree.above.items()]
    return "".join([header, *lines])


def _block_lines(blocks: Blocks, sizes: str) -> str:
    lines = [f"BlockName={name} Nodes={fold(hosts)}\n" for name, hosts in blocks.blocks.items()]
    smallest = blocks.sizes[0]
    numbers = (
        blocks.sizes
        if sizes == "BlockSizes"
        else [(size // smallest).bit_length() - 1 for size in blocks.sizes]
    )
    return "".join([*lines, f"{sizes}={','.join(map(str, numbers))}\n"])


def _yaml_tree(tree: Tree) -> str:
    rows = [
        f"      - switch: {switch}\n        nodes: {_text(fold(hosts))}\n"
        for switch, hosts in tree.leaf_switches.items()
    ]
    rows += [
        f"      - switch: {switch}\n        children: {','.join(under)}\n"
        for switch, under in tree.above.items()
    ]
    return "- topology: network\n  cluster_default: true\n  tree:\n    switches:\n" + "".join(rows)


def _yaml_blocks(blocks: Blocks) -> str:
    rows = [
        f"      - block: {name}\n        nodes: {_text(fold(hosts))}\n"
        for name, hosts in blocks.blocks.items()
    ]
    sizes = "".join(f"      - {size}\n" for size in blocks.sizes)
    return (
        f"- topology: network\n  cluster_default: true\n  block:\n    block_sizes:\n{sizes}    blocks:\n"
        + "".join(rows)
    )


def _text(hostlist: str) -> str:
    """Return a hostlist as a quoted YAML string: brackets would start a list, and names may look like numbers."""
    return f'"{hostlist}"'
