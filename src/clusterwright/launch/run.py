"""A run: its name, its first job id, and its folder."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.errors import WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.launch.lines.note import Note
    from clusterwright.launch.warnings import Warned


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run of a training; successor jobs share its name and folder, with their own job ids."""

    name: str
    job_id: str
    folder: str
    warnings: tuple[Warned | Note, ...] = ()
    runs: tuple[str, ...] = ()  # the names of an array's runs


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of an ended run (such as `finished` or `failed`) and its reason."""

    outcome: str
    reason: str

    @property
    def code(self) -> int:
        """The exit code that `wright` returns for the run's outcome; 1 for an unknown outcome."""
        from clusterwright.onhost.lib.run_outcome import EXIT_CODES

        return EXIT_CODES.get(self.outcome, 1)


def runs_folder(cluster: Cluster) -> str:
    """Return the folder of runs: `runs` in the first shared folder.

    Raises:
        WrightError: the cluster has no shared folder.
    """
    if cluster.shared_folder is None:
        raise WrightError.from_code(
            "folder-not-shared",
            _("cluster `{cluster}` has no shared folder, but runs are stored in one", cluster=cluster.name),
            _("add one under `storage:`, e.g. shared: {kind: nfs, server: control, path: /shared}"),
        )
    return f"{cluster.shared_folder}/runs"


def run_name(job_name: str, now: float, suffix: str = "") -> str:
    """Return a run name, `gpt-small-20261121-131500`, from the job's name, local time and suffix (`...-SUFFIX`)."""
    name = f"{job_name}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"
    return f"{name}-{suffix}" if suffix else name
