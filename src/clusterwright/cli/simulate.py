"""`wright simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def simulate(  # noqa: PLR0913 (each option of the command line is one)
    cluster: Path = Path("cluster.yaml"),
    /,
    *,
    trace: Path | None = None,
    teams: int = 0,
    days: float = 14,
    load: float = 1.0,
    seed: int = 1,
    against: Path | None = None,
    skip_bad: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Replay jobs through a model of Slurm: utilisation, waiting and fairness of two settings, side by side.

    Parameters
    ----------
    cluster
        The cluster file whose settings are tried.
    trace
        What `sacct -a -P -X` of any site printed; - is what is piped in.
    teams
        In place of a trace: jobs of so many teams (2 to 5), made up, with days and nights.
    days
        How long that lasts.
    load
        GPU time that those teams ask for, over what there is.
    seed
        Another number makes another such trace; the same one the same.
    against
        A cluster file with other settings; Slurm's own defaults if left out.
    skip_bad
        Leave out lines that cannot be read, and say how many.
    json
        One JSON document.
    """
    from clusterwright.cli import _simulate

    wish = _simulate.Wish(teams, days, load, seed)
    return _simulate.show(
        cluster, against, _simulate.jobs_of(cluster, trace, wish, skip_bad=skip_bad), as_json=json
    )
