"""`wright plan expect`."""

from __future__ import annotations

from pathlib import Path

_SCALES = {"bytes": (2**30, "GiB"), "bytes/s": (1e9, "GB/s"), "FLOP/s": (1e12, "TFLOP/s")}


def expect(file: Path | None = None, /, *, json: bool = False) -> int:
    """Say what the GPUs, links and collectives of a cluster should measure.

    Parameters
    ----------
    file
        The cluster file; ./cluster.yaml if left out.
    json
        The figures in base units, as one JSON document.
    """
    from clusterwright.cli._show import show_json, show_table
    from clusterwright.config.load import load_cluster
    from clusterwright.plan.expected import expected

    figures = expected(load_cluster(file or Path("cluster.yaml")))
    if json:
        show_json(figures)
        return 0
    rows = []
    for figure in figures:
        factor, unit = _SCALES[figure.unit]
        rows.append((figure.group, figure.what, f"{figure.value / factor:.4g} {unit}", figure.measured_by))
    show_table(("group", "figure", "expected", "measured by"), rows)
    return 0
