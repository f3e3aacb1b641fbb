"""`wright bench`: one command for each kind, and what is made of the results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from clusterwright.cli._bench import COMMONLY, Common

bench = App(
    name="bench",
    help="Measure what the hosts can do: judged by the cluster file and by each other, bisected, remembered.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@bench.command
def network(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure every pair of hosts, both ways, each host with one other at a time."""
    return common.run("network", file)


@bench.command
def collectives(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Sweep all-reduce and its kin over all hosts, verify the data, and bisect to the host or link that is slow."""
    return common.run("collectives", file)


@bench.command
def storage(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure the shared folder and every host's local disks: large files, random reads, many small files."""
    return common.run("storage", file)


@bench.command
def memory(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure every host's memory, as STREAM does."""
    return common.run("memory", file)


@bench.command
def training(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Train a small model on 1, 2, 4 ... all hosts over each transport, and hold the scaling against the planner."""
    return common.run("training", file)


@bench.command
def loader(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure how fast a DataLoader reads the shared folder on every host, by number of workers."""
    return common.run("loader", file)


@bench.command
def gpu(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure every GPU: matrix products, memory, copies; every result verified, with clocks, heat and power."""
    return common.run("gpu", file)


@bench.command
def rdma(file: Path, /, *, common: Common = COMMONLY) -> int:
    """Measure every pair of hosts on every rail by perftest: bandwidth both ways, latency, GPUDirect where it can."""
    return common.run("rdma", file)


@bench.command
def burn_in(
    file: Path,
    /,
    *,
    lasts: Annotated[str, Parameter(name="--for", help="How long: 20m, 2h, 1d.")] = "1h",
    common: Common = COMMONLY,
) -> int:
    """Load cores, GPUs, memory, disks and links for hours; every result is verified, and the hosts checked meanwhile.

    Ctrl-C ends it early: what was measured until then is judged and kept.
    """
    return common.run("burn_in", file, lasts=lasts)


@bench.command(name="list")
def list_(file: Path, /, *, json: bool = False) -> int:
    """Show the benches that were run, the newest first."""
    from clusterwright.cli._bench import show_list

    return show_list(file, json=json)


@bench.command
def compare(file: Path, a: int, b: int, /, *, json: bool = False) -> int:
    """Show what changed from bench A to bench B by more than its spread, and which versions differ."""
    from clusterwright.cli._bench import show_comparison

    return show_comparison(file, a, b, json=json)
