"""`wright plan fabric`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from clusterwright.cli._plan._fabric import Found

Flag = Annotated[bool, Parameter(negative="")]


@dataclass(frozen=True, kw_only=True)
class Join:
    """What is to be joined, and by what."""

    nodes: Annotated[int | None, Parameter(help="Hosts; those of the cluster file with --cluster.")] = None
    gpu: Annotated[str, Parameter(help="A GPU of the catalog.")] = "h100-sxm-80gb"
    gpus_per_node: Annotated[int | None, Parameter(help="8, or 4 for superchips, if left out.")] = None
    nics: Annotated[int | None, Parameter(help="Ports of a node; as in the maker's system.")] = None
    nic_rate: Annotated[str | None, Parameter(help="Rate of a port, e.g. 400Gbit/s; likewise.")] = None
    network: Annotated[
        Literal["infiniband", "roce", "ethernet"] | None, Parameter(help="InfiniBand if left out.")
    ] = None
    switch: Annotated[
        str | None, Parameter(help="A switch of the catalog, or 64x400G; one with ports of that rate.")
    ] = None
    oversubscription: Annotated[
        float | None, Parameter(help="Ports down over ports up; 2 for leaf-spine, 1 for the others.")
    ] = None
    tiers: Annotated[int, Parameter(help="Levels of switches; as few as it takes if left out.")] = 0
    planes: Annotated[int, Parameter(help="Split every port over so many separate fabrics.")] = 1
    manager_ports: Annotated[int, Parameter(help="Of a fabric manager.")] = 0
    nodes_per_leaf: Annotated[
        int, Parameter(help="Keep so many together: 18 for the trays of an NVL72 rack.")
    ] = 0
    nodes_per_rack: Annotated[int, Parameter(help="For the lengths of cables.")] = 4
    cluster: Annotated[Path | None, Parameter(help="A cluster file, in place of nodes and NICs.")] = None
    catalog: Annotated[Path | None, Parameter(help="GPUs, switches, cables and prices of your own.")] = None


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A training whose steps are compared."""

    model: Annotated[str | None, Parameter(help="Compare steps of this model too.")] = None
    seq: Annotated[int, Parameter(help="Tokens of one sequence.")] = 4096
    global_batch: Annotated[int, Parameter(help="Sequences of one step, over all GPUs.")] = 1024


@dataclass(frozen=True, kw_only=True)
class Written:
    """Files beside what is printed."""

    svg: Annotated[Path | None, Parameter(help="Draw it into this file.")] = None
    cables: Annotated[
        Path | None, Parameter(help="Write every cable, from where to where, into this CSV.")
    ] = None
    html: Annotated[
        Path | None, Parameter(help="Write a page with the drawing and all kinds side by side here.")
    ] = None


def fabric(
    *,
    join: Annotated[Join, Parameter(name="*")] = Join(),
    trained: Annotated[Trained, Parameter(name="*")] = Trained(),
    kind: Literal[
        "all", "direct", "ring", "star", "leaf-spine", "fat-tree", "rail-optimized", "rail-only"
    ] = "all",
    written: Annotated[Written, Parameter(name="*")] = Written(),
    json: Flag = False,
) -> int:
    """Design the networks of a cluster, and say which kind is worth its switches.

    Parameters
    ----------
    kind
        This kind in full: levels, cables, topology.conf; all of them side by side if left out.
    json
        Everything, in bit/s, seconds and watts, as one JSON document.
    """
    from clusterwright.cli._plan._fabric import document, find, tell, write_cables, write_page, write_svg
    from clusterwright.cli._show import show_json

    found: Found = find(join, trained, kind)
    if written.svg:
        write_svg(written.svg, found)
    if written.cables:
        write_cables(written.cables, found)
    if written.html:
        write_page(written.html, found)
    if json:
        show_json(document(found))
    else:
        tell(found)
    return 0
