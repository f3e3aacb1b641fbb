"""What the monitoring of the control host saw of a job's hosts in its time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from clusterwright.diagnose.gather.window import Window
from clusterwright.diagnose.reading import Source, of_text
from clusterwright.edge.bundler import RUN_METRICS
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.monitor.gather.gather import PROMETHEUS

LIMIT_S = 10.0


def ask_metrics(remote: Remote, control: str, when: Window, job: str, run: str) -> tuple[Source, ...]:
    """One source for each host of which there is something to say; none where no Prometheus answers."""
    given = {"url": PROMETHEUS, "limit_s": LIMIT_S, "begin": when.begin, "end": when.end}
    given |= {"hosts": list(when.hosts), "job": job, "run": run}
    done = Host(remote, control).run_program(RUN_METRICS, json.dumps(given), timeout_s=2 * LIMIT_S)
    found: Any = {}
    with suppress(ValueError):  # no Python there: Slurm's records and logs are left
        found = json.loads(done.out or "{}")
    return metrics(found if isinstance(found, Mapping) else {})


def metrics(found: Mapping[str, Sequence[str]]) -> tuple[Source, ...]:
    """The lines as sources, each of its host."""
    return tuple(
        of_text(f"{host or 'run'} metrics", "\n".join(lines), kind="metric", host=host)
        for host, lines in found.items()
        if isinstance(lines, list) and lines and all(isinstance(line, str) for line in lines)
    )
