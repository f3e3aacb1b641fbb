"""gres.conf, cgroup.conf, topology.conf and slurmdbd.conf: as fields, else as lines in `slurm.files`, else listed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from clusterwright.adopt.lines import LeftOut, is_option, redacted
from clusterwright.adopt.meaning import Difference, meaning_of
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.config.slurm_rules import ConfEntry, SlurmConf, Source, parse_conf
from clusterwright.config.slurm_rules.conf import device_files
from clusterwright.i18n import _
from clusterwright.provision.render.cgroup_conf import cgroup_conf
from clusterwright.provision.render.gres_conf import gres_conf
from clusterwright.provision.render.slurm_conf import slurm_conf
from clusterwright.provision.render.slurmdbd_conf import slurmdbd_conf
from clusterwright.provision.render.topology_conf import topology
from clusterwright.slurm.conf_files import conf_lines
from clusterwright.slurm.records import split_lines

FILES = ("gres.conf", "cgroup.conf", "topology.conf", "topology.yaml")  # of `slurm.files`
_COMMENT = re.compile(r"(^|\s)#.*")
Meaning = tuple[str, ...]


def site_files(sources: Iterable[Source], conf: SlurmConf, cluster: Cluster) -> dict[str, list[str]]:
    """Return by kind the lines of those Slurm files that say what the cluster file's fields do not."""
    return {
        source.kind: list(_lines(source))
        for source in sources
        if source.kind in FILES and file_differences(cluster, conf, source.kind)
    }


def _lines(source: Source) -> Iterator[str]:
    """Yield a file's lines without comments that `slurm.files` can have, with those of included files."""
    if source.kind == "topology.yaml":
        lines = (_COMMENT.sub("", line).rstrip() for line in split_lines(source.text))
        yield from (line for line in lines if is_option(line))
        return
    for line in conf_lines(source.text):
        for included in source.includes.get(line.include, ()):
            yield from _lines(included)
        if not line.include and is_option(line.text.replace('"', "")):
            yield " ".join(line.text.split())


def other_lines(conf: SlurmConf, cluster: Cluster) -> tuple[LeftOut, ...]:
    """Return the lines of the site's files that the files rendered from the cluster file do not have, in order."""
    rendered = _rendered(cluster, conf.slurm_release)
    rendered_meanings = {
        meaning for kind, entry in rendered.entries for meaning in _meanings(rendered, kind, entry)
    }
    reason = _("the cluster file has no field for this setting; the file on the host stays as it is")
    lines = [
        LeftOut(entry.file, entry.line, _text(entry), reason)
        for kind, entry in conf.entries
        if kind != "slurm.conf" and not set(_meanings(conf, kind, entry)) <= rendered_meanings
    ]
    for kind, settings in conf.settings.items():
        for key, values in settings.items() if kind != "slurm.conf" else ():
            ours, last = rendered.get(key, kind), values[-1]
            if meaning_of(key, ours).lower() != meaning_of(key, last.value).lower():
                lines.append(LeftOut(last.file, last.line, redacted(last.key, last.value), reason))
    return tuple(lines)


def file_differences(cluster: Cluster, conf: SlurmConf, kind: str) -> list[Difference]:
    """Return where a file of the site means something else than the cluster file, whose value is first."""
    rendered = _rendered(cluster, conf.slurm_release)
    kind = "topology.conf" if kind == "topology.yaml" else kind
    ours, theirs = (
        {key: meaning_of(key, lines[-1].value).lower() for key, lines in side.settings.get(kind, {}).items()}
        for side in (rendered, conf)
    )
    rows = [
        Difference(kind, key, ours.get(key, ""), theirs.get(key, ""))
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key)
    ]
    expected, actual = _all_meanings(rendered, kind), _all_meanings(conf, kind)
    rows += [Difference(kind, text, "+", "") for text in _folded(kind, expected - actual)]
    rows += [Difference(kind, text, "", "+") for text in _folded(kind, actual - expected)]
    return rows


def _all_meanings(conf: SlurmConf, kind: str) -> set[Meaning]:
    return {
        meaning for file, entry in conf.entries if file == kind for meaning in _meanings(conf, kind, entry)
    }


def _folded(kind: str, meanings: set[Meaning]) -> list[str]:
    """Return what a file's lines say as sorted texts, by which files are compared.

    In gres.conf, hosts with equal devices share one text.
    """
    if kind != "gres.conf":
        return sorted(" ".join(filter(None, meaning[1:])) for meaning in meanings)
    hosts: dict[Meaning, list[str]] = {}
    for host, *device in meanings:
        hosts.setdefault(tuple(device), []).append(host)
    return sorted(f"{fold(names)}: {' '.join(filter(None, device))}" for device, names in hosts.items())


def _rendered(cluster: Cluster, slurm_release: str) -> SlurmConf:
    return parse_conf(_sources(cluster), slurm_release)


def _sources(cluster: Cluster) -> Iterator[Source]:
    yield Source("slurm.conf", "slurm.conf", slurm_conf(cluster, ""))
    yield Source("cgroup.conf", "cgroup.conf", cgroup_conf(cluster, ""))
    yield Source("gres.conf", "gres.conf", gres_conf(cluster, ""))
    if cluster.accounting.enabled:
        yield Source("slurmdbd.conf", "slurmdbd.conf", slurmdbd_conf(cluster, ""))
    if file := topology(cluster, ""):
        yield Source(file[0], file[0], file[1])


def _meanings(conf: SlurmConf, kind: str, entry: ConfEntry) -> Iterator[Meaning]:
    """Yield what a line says, as tuples to compare files by: in gres.conf one for each host and device file."""
    if kind != "gres.conf":
        yield kind, entry.key, entry.name, *_pairs(entry.values)
        return
    named = entry.get("NodeName") or (entry.name if entry.key == "NodeName" else "")
    hosts = conf.hosts if not named else ConfEntry("", named, {}, frozenset(), "", 0).hosts
    details = {key: value for key, value in entry.values.items() if key in ("cores", "links", "flags")}
    for host in hosts:
        for device in device_files(entry.get("File")) or ("",):
            yield host, entry.get("Name"), entry.get("Type"), device, entry.get("Count"), *_pairs(details)


def _pairs(values: Mapping[str, str]) -> list[str]:
    return [f"{key}={value}" for key, value in sorted(values.items())]


def _text(entry: ConfEntry) -> str:
    pairs = (
        f"{key}={value}" for key, value in entry.values.items() if key in entry.explicit and key != "name"
    )
    return " ".join((f"{entry.key}={entry.name}", *pairs))
