"""What the end of a job tells of hosts, by `why`."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.gather.ended import gather
from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import read
from clusterwright.edge.ssh import Remote
from clusterwright.heal.seen import Finding
from clusterwright.launch.run import runs_folder

SURE = 0.6  # ours: below it a diagnosis is a guess, and a guess is no witness


def why_of(cluster: Cluster, remote: Remote, job: str) -> Iterator[Finding]:
    """The hosts that a root cause names as its own.

    Raises:
        WrightError: the control host was not reached.
    """
    runs = runs_folder(cluster) if cluster.shared_folder else "/nowhere"
    sources = list(gather(remote, cluster.control.name, runs, job).sources)
    yield from told(judge(read(sources, knowledge()), "en"), job)


def told(diagnoses: list[Diagnosis], job: str) -> Iterator[Finding]:
    """Root causes that say which host must not be given out again."""
    for each in diagnoses:
        if each.role == "root" and each.exclude and each.confidence >= SURE:
            yield Finding(each.exclude, "why", each.mode, f"job {job}: {each.cause}"[:200], job=job)
