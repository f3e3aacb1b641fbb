"""`wright plan expect`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.cli.bench import NO_NETWORK, NetworkOptions

_SCALES = {"bytes": (2**30, "GiB"), "bytes/s": (1e9, "GB/s"), "FLOP/s": (1e12, "TFLOP/s")}


def expect(*, cluster: Path | None = None, network: NetworkOptions = NO_NETWORK, json: bool = False) -> int:
    """Show the expected performance of the GPUs, links and collectives of a cluster.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    json
        Print one JSON document, in base units.
    """
    from clusterwright.cli._connection import find_cluster
    from clusterwright.cli._show import show_json, show_table
    from clusterwright.cli.plan._inputs import note_network
    from clusterwright.plan.expected import expected

    config = network.applied_to(find_cluster(cluster))
    note_network(config)
    figures = expected(config)
    if json:
        show_json(figures)
        return 0
    rows = []
    for figure in figures:
        factor, unit = _SCALES[figure.unit]
        rows.append((figure.group, figure.metric, f"{figure.value / factor:.4g} {unit}", figure.benchmark))
    show_table(("group", "figure", "expected", "benchmark"), rows)
    return 0
