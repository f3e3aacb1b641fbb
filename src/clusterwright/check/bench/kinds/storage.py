"""Measure the shared folder from every host at the same time, and the local disks of every host.

The cluster file does not declare rates of a file server or disk: a host is compared with the others, all hosts
together with a single one, and a cluster with its own earlier runs (`wright bench compare`).
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bench.host_bench import HostBench
from clusterwright.check.bench.site import BenchOutcome, BenchSite
from clusterwright.check.bench.storage import folder
from clusterwright.check.bench.storage.scratch import scratch
from clusterwright.check.bench.storage.served import served
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

FIX = N_("check the host's route to the file server: mount options (nconnect), MTU, port errors")


def storage(site: BenchSite) -> BenchOutcome:
    """Measure the shared folder and the local disks by fio and by small files; return measurements and verdicts.

    Without fio only by small files, which a verdict reports.
    """
    path = site.cluster.shared_folder or ""
    part = folder.part(site, f"{path}/bench")
    outcomes = (
        served(site, HostBench("storage", lambda _host: part, folder.figures, FIX), path),
        *scratch(site),
    )
    return BenchOutcome(
        tuple(row for outcome in outcomes for row in outcome.measurements),
        (*(verdict for outcome in outcomes for verdict in outcome.verdicts), *_without_fio(site)),
        tuple(note for outcome in outcomes for note in outcome.notes),
    )


def _without_fio(site: BenchSite) -> Iterator[Verdict]:
    observed = _("fio is not installed: the storage bench measures neither large files nor random reads")
    return (Verdict(host, "storage", Status.UNKNOWN, observed, "fio") for host in site.hosts_missing("fio"))
