"""`wright curves RUN`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def curves(
    job: str = "last",
    /,
    *,
    cluster: Path | None = None,
    output: Path | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Draw a run's curves on one page: loss, learning rate, norm, speed, data wait, memory; restarts are marked.

    Parameters
    ----------
    job
        A run's name, a job id, `last`, the path of a slurm-123.out, or a run's folder on this machine.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER or ./cluster.yaml.
    output
        Where the page goes; else RUN.html here.
    json
        The points of the curves as one JSON document, and no page.
    """
    import sys

    from clusterwright.cli import _curves
    from clusterwright.cli._show import say

    text = _curves.points(job, cluster)
    if json:
        sys.stdout.write(text)
        return 0
    say(f"curves: {_curves.write(text, output)}")
    return 0
