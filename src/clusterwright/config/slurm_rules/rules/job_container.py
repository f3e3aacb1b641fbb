"""Folders of a job: job_container.conf and the plug-in tmpfs, which gives each job its own /tmp."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import ConfEntry, Setting, SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_FILE = "job_container.conf"
_NAMESPACE = "NamespaceType=namespace/tmpfs\nPrologFlags=Contain\nProctrackType=proctrack/cgroup"
_DEFAULT_DIRS = ("tmp", "dev/shm")  # of Slurm, below /


def _plugin(conf: SlurmConf) -> Setting | None:
    """Return the line that loads the plug-in tmpfs; JobContainerType is its key before 26.05."""
    lines = (conf.line_of("NamespaceType"), conf.line_of("JobContainerType"))
    return next((line for line in lines if line and "tmpfs" in line.value.lower()), None)


def _folders(conf: SlurmConf) -> Iterator[tuple[ConfEntry, str]]:
    for entry in conf.entries_of("BasePath", _FILE):
        yield entry, entry.name
    for entry in conf.entries_of("NodeName", _FILE):
        yield entry, entry.get("BasePath")


@rule(
    Severity.WARNING,
    "job_container.conf(5), DESCRIPTION",
    wrong="ClusterName=c\n--- job_container.conf\nBasePath=/scratch/jobs",
    correct=f"{_NAMESPACE}\n--- job_container.conf\nBasePath=/scratch/jobs",
)
def job_container_unused(conf: SlurmConf) -> Iterator[Problem]:
    """job_container.conf is read by namespace/tmpfs (job_container/tmpfs before 25.11) only."""
    folders = [entry for entry, _path in _folders(conf)]
    if folders and "slurm.conf" in conf.files and not conf.has_unread and not _plugin(conf):
        message = _("no plug-in of slurm.conf reads the file")
        yield Problem(folders[0], message, "NamespaceType=namespace/tmpfs")


@rule(
    Severity.ERROR,
    "job_container.conf(5), BasePath",
    wrong="--- job_container.conf\nBasePath=/tmp/jobs",
    correct="--- job_container.conf\nBasePath=/scratch/jobs",
)
def base_path_in_dirs(conf: SlurmConf) -> Iterator[Problem]:
    """BasePath is outside of Dirs (default: /tmp and /dev/shm): slurmd does not start, or mounts fail otherwise."""
    default = conf.get("Dirs", _FILE)
    for entry, path in _folders(conf):
        text = entry.get("Dirs") or default
        dirs = [item.strip() for item in text.split(",")] if text else [f"/{name}" for name in _DEFAULT_DIRS]
        if (
            path
            and path.lower() != "none"
            and any(_is_in(path, item) or item.startswith(path) for item in dirs)
        ):
            message = _("BasePath {path} and Dirs ({dirs}) overlap", path=path, dirs=",".join(dirs))
            yield Problem(entry, message, "BasePath=/var/nvme/storage")


def _is_in(path: str, folder: str) -> bool:
    return bool(folder) and f"{path.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")


@rule(
    Severity.ERROR,
    "job_container.conf(5), NodeName",
    wrong="--- job_container.conf\nNodeName=n[1-4] AutoBasePath=true",
    correct="--- job_container.conf\nNodeName=n[1-4] AutoBasePath=true BasePath=/scratch/jobs",
)
def base_path_missing(conf: SlurmConf) -> Iterator[Problem]:
    """A line for nodes has a BasePath, or BasePath=none: slurmd of these nodes does not start otherwise."""
    for entry in conf.entries_of("NodeName", _FILE):
        if not entry.has("BasePath"):
            yield Problem(
                entry, _("the line has no BasePath"), f"NodeName={entry.name} BasePath=/scratch/jobs"
            )


@rule(
    Severity.WARNING,
    "job_container.conf(5), NodeName",
    wrong="--- job_container.conf\nNodeName=n[1-2] BasePath=/a\nNodeName=n2 BasePath=/b",
    correct="--- job_container.conf\nNodeName=n1 BasePath=/a\nNodeName=n2 BasePath=/b",
)
def base_path_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """A node is in one line of job_container.conf; slurmd takes its last one."""
    owners: dict[str, ConfEntry] = {}
    for entry in conf.entries_of("NodeName", _FILE):
        for host in entry.hosts:
            if host in owners:
                values = {"host": host, "line": owners[host].line}
                yield Problem(
                    entry,
                    _("{host} is in line {line} too; the last line counts", **values),
                    f"NodeName={entry.name}",
                )
                break
            owners[host] = entry


@rule(
    Severity.WARNING,
    "job_container.conf(5), NodeName",
    wrong=f"{_NAMESPACE}\nNodeName=n1\n--- job_container.conf\nNodeName=m1 BasePath=/a",
    correct=f"{_NAMESPACE}\nNodeName=n1\n--- job_container.conf\nNodeName=n1 BasePath=/a",
)
def container_node_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """The nodes of job_container.conf are nodes of slurm.conf."""
    for entry in conf.entries_of("NodeName", _FILE) if conf.hosts and not conf.has_unread else ():
        if unknown := [host for host in entry.hosts if host not in conf.hosts]:
            message = _("slurm.conf has no node {host}", host=unknown[0])
            yield Problem(entry, message, f"NodeName={next(iter(conf.hosts))}")
