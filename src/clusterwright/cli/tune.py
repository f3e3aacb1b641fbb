"""`wright tune network` and `wright tune training`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from clusterwright.cli._tune import COMMONLY, Common

tune = App(name="tune", help="Find settings that make jobs faster, by experiment on the real cluster.")


@tune.command
def network(file: Path, /, *, options: Common = COMMONLY) -> int:
    """Try settings of collectives, each beside what is set now, and say which are faster for certain.

    The winner goes into the cluster file (jobs.variables), from where `wright apply` brings it to all jobs.

    Parameters
    ----------
    file
        The cluster file.
    """
    from clusterwright.cli._tune_run import tuned_network

    return tuned_network(file, options)


@tune.command
def training(
    file: Path,
    /,
    *,
    cluster: Path | None = None,
    steps: Annotated[int, Parameter(validator=Number(gte=1))] = 20,
    limit: str = "10m",
    allow_numbers: Annotated[bool, Parameter(negative="")] = False,
    options: Common = COMMONLY,
) -> int:
    """Run a training for some steps with each setting, and say which make its steps shorter for certain.

    Each trial begins at step 0 in a folder of its own and saves nothing there; a program that writes elsewhere does so.
    The winner goes into the job file.

    Parameters
    ----------
    file
        The job file.
    cluster
        The cluster file; else $CLUSTERWRIGHT_CLUSTER, ./cluster.yaml, or the one beside the job file.
    steps
        Steps that are measured in each trial; three more go before.
    limit
        Longest time of one trial.
    allow_numbers
        Also try what changes results: gradients that travel in 16 bits.
    """
    from clusterwright.cli._there import cluster_file
    from clusterwright.cli._tune_run import Asked, tuned_training

    asked = Asked(file, cluster_file(cluster, file), steps, limit, allow_numbers)
    return tuned_training(asked, options)
