"""The shared folder from every host at the same time, and the local disks of every host.

The cluster file does not say what a file server or a disk can do: a host is compared with the others, all hosts
together with one by itself, and a cluster with itself of another day (`wright bench compare`).
"""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.bench.alone import Alone
from clusterwright.check.bench.site import Outcome, Site
from clusterwright.check.bench.storage import folder
from clusterwright.check.bench.storage.scratch import scratch
from clusterwright.check.bench.storage.served import served
from clusterwright.check.verdict import Status, Verdict

MEND = "look at the host's own way to the file server: mount options (nconnect), MTU, errors of its port"


def storage(site: Site) -> Outcome:
    """Fio and small files; without fio the small files alone, and that is said."""
    path = site.cluster.shared_folder or ""
    part = folder.part(site, f"{path}/bench")
    found = (served(site, Alone("storage", lambda _host: part, folder.figures, MEND), path), *scratch(site))
    return Outcome(
        tuple(row for each in found for row in each.measurements),
        (*(verdict for each in found for verdict in each.verdicts), *_without_fio(site)),
        tuple(note for each in found for note in each.notes),
    )


def _without_fio(site: Site) -> Iterator[Verdict]:
    saw = "fio is not there: large files and random reads not measured"
    return (Verdict(host, "storage", Status.UNKNOWN, saw, "fio") for host in site.without("fio"))
