"""A run's points, from wherever its folder is, and the page that is made of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from clusterwright.cli import _there
from clusterwright.edge.bundler import LOADER, RUNS, program_input
from clusterwright.edge.host import Host
from clusterwright.edge.processes import Done, run
from clusterwright.errors import WrightError
from clusterwright.launch.curves import page

LIMIT_S = 300  # a million events take some seconds to read


def points(job: str, cluster: Path | None) -> str:
    """What far_series.py says.

    Raises:
        WrightError: there is no such run, or the host does not answer.
    """
    here = Path(job)
    if (here / "job.json").exists():
        argv = [sys.executable, "-c", LOADER, "curves", str(here.absolute().parent), here.absolute().name]
        return _out(run(argv, stdin=program_input(RUNS), timeout_s=LIMIT_S), job)
    from clusterwright.launch.run import runs_folder

    where = _there.find_cluster(cluster)
    control = Host(_there.way_to(where), where.control.name)
    return _out(control.run_program(RUNS, "curves", runs_folder(where), job, timeout_s=LIMIT_S), job)


def write(text: str, output: Path | None) -> Path:
    """The page, in a file of the run's name unless another one is said."""
    found = json.loads(text)
    path = output or Path(f"{found['run']}.html")
    path.write_text(page(found), encoding="utf-8")
    return path


def _out(done: Done, job: str) -> str:
    if done.ok:
        return done.out
    raise WrightError.of(
        "no-run", f"no curves of `{job}`: {done.last_lines(2)}", "name a run that wright jobs lists"
    )
