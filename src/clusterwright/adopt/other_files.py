"""Lines of gres.conf, cgroup.conf, topology.conf and slurmdbd.conf whose meaning no field of the cluster file has."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.adopt.lines import LeftOut, redacted
from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_rules import ConfEntry, SlurmConf, Source, parse_conf
from clusterwright.config.slurm_rules.conf import device_files
from clusterwright.i18n import _
from clusterwright.provision.render.cgroup_conf import cgroup_conf
from clusterwright.provision.render.gres_conf import gres_conf
from clusterwright.provision.render.slurmdbd_conf import slurmdbd_conf
from clusterwright.provision.render.topology_conf import topology

Meaning = tuple[str, ...]


def other_lines(conf: SlurmConf, cluster: Cluster) -> tuple[LeftOut, ...]:
    """Return the lines that the files rendered from the cluster file do not have, in the order of the files."""
    rendered = parse_conf(_rendered(cluster), conf.slurm_release)
    rendered_meanings = {meaning for entry in rendered.entries for meaning in _meanings(rendered, *entry)}
    reason = _("no field holds it; the file stays as it is")
    lines = [
        LeftOut(entry.file, entry.line, _text(entry), reason)
        for kind, entry in conf.entries
        if kind != "slurm.conf" and not set(_meanings(conf, kind, entry)) <= rendered_meanings
    ]
    for kind, settings in conf.settings.items():
        for key, values in settings.items() if kind != "slurm.conf" else ():
            ours, last = rendered.get(key, kind), values[-1]
            if ours.lower() != last.value.lower():
                lines.append(LeftOut(last.file, last.line, redacted(last.key, last.value), reason))
    return tuple(lines)


def _rendered(cluster: Cluster) -> Iterator[Source]:
    yield Source("cgroup.conf", "cgroup.conf", cgroup_conf(cluster, ""))
    yield Source("gres.conf", "gres.conf", gres_conf(cluster, ""))
    if cluster.accounting.enabled:
        yield Source("slurmdbd.conf", "slurmdbd.conf", slurmdbd_conf(cluster, ""))
    if file := topology(cluster, ""):
        yield Source(file[0], file[0], file[1])


def _meanings(conf: SlurmConf, kind: str, entry: ConfEntry) -> Iterator[Meaning]:
    """Yield what a line says, as tuples to compare files by: in gres.conf one for each host and device file."""
    if kind != "gres.conf":
        yield kind, entry.key, entry.name, *(f"{key}={value}" for key, value in sorted(entry.values.items()))
        return
    named = entry.get("NodeName") or (entry.name if entry.key == "NodeName" else "")
    hosts = conf.hosts if not named else ConfEntry("", named, {}, frozenset(), "", 0).hosts
    details = sorted(
        (key, value) for key, value in entry.values.items() if key in ("cores", "links", "flags")
    )
    for host in hosts:
        for device in device_files(entry.get("File")) or ("",):
            yield host, entry.get("Name"), entry.get("Type"), device, entry.get("Count"), str(details)


def _text(entry: ConfEntry) -> str:
    pairs = (
        f"{key}={value}" for key, value in entry.values.items() if key in entry.explicit and key != "name"
    )
    return " ".join((f"{entry.key}={entry.name}", *pairs))
