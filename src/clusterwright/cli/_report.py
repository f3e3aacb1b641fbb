"""What `wright check` writes: the page and the same as JSON beside it (--report), metrics (--metrics)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.check import Verdict
    from clusterwright.config.cluster import Cluster


def write_report(to: Path, cluster: Cluster, verdicts: Sequence[Verdict]) -> tuple[Path, Path]:
    """Both files, whole or not at all; where they are.

    Raises:
        WrightError: the folder is not there, or cannot be written.
    """
    import dataclasses
    import json

    from clusterwright import __version__
    from clusterwright.check.bench.store import file_of, latest
    from clusterwright.check.report import findings, page

    benches = latest(file_of(cluster.name))
    measured = [verdict for run in benches for verdict in run.verdicts]
    found = findings(
        cluster,
        [*verdicts, *measured],
        taken=_date(time.time()),
        version=__version__,
        benches=[f"{run.bench}: bench {run.id} of {_date(run.time)}" for run in benches],
    )
    text = page(found, tuple(cluster.networks.named()))
    data = json.dumps(dataclasses.asdict(found), indent=2, default=str)
    beside = to.with_suffix(".json")
    write_file(to, text)
    write_file(beside, data + "\n")
    return to, beside


def write_metrics(to: Path, cluster: Cluster, verdicts: Sequence[Verdict]) -> Path:
    """The file for node_exporter's textfile collector, whole or not at all; where it is.

    Raises:
        WrightError: the folder is not there, or cannot be written.
    """
    from clusterwright.check.bench.store import file_of, latest
    from clusterwright.check.report import metrics

    write_file(to, metrics(cluster.name, verdicts, latest(file_of(cluster.name)), taken=time.time()))
    return to


def write_file(to: Path, text: str) -> None:
    """A file, whole or not at all.

    Raises:
        WrightError: the folder is not there, or cannot be written.
    """
    from clusterwright.edge.files import write_whole
    from clusterwright.errors import WrightError

    try:
        write_whole(to, text)
    except OSError as why:
        raise WrightError.of(
            "report-not-written", f"{to}: {why.strerror}", "name a file in a folder that you may write to"
        ) from why


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M %Z")
