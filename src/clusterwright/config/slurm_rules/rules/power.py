"""Power saving and cloud nodes, and reboots by Slurm."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import ConfEntry, Setting, SlurmConf, hosts_of
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_PROGRAMS = "SuspendProgram=/usr/sbin/suspend\nResumeProgram=/usr/sbin/resume\n"
_ALL = f"{_PROGRAMS}ResumeTimeout=600\n"


def _suspends(conf: SlurmConf) -> Setting | ConfEntry | None:
    """Return the line whose SuspendTime powers nodes down, if any."""
    for location in (conf.line_of("SuspendTime"), *conf.partitions, *conf.nodes):
        value = (
            location.get("SuspendTime")
            if isinstance(location, ConfEntry)
            else location.value
            if location
            else ""
        )
        if location and value.lower() not in ("", "none", "-1", "infinite"):
            return location
    return None


def _cloud(conf: SlurmConf) -> tuple[ConfEntry, ...]:
    return tuple(node for node in conf.nodes if node.get("State").lower().startswith("cloud"))


@rule(
    Severity.WARNING,
    "slurm.conf(5), SuspendTime",
    wrong="SuspendTime=600\nResumeTimeout=600",
    correct=f"SuspendTime=600\n{_ALL}",
)
def suspend_without_programs(conf: SlurmConf) -> Iterator[Problem]:
    """SuspendTime has a SuspendProgram and a ResumeProgram, which power nodes down and up."""
    location = _suspends(conf)
    for key in (
        ("SuspendProgram", "ResumeProgram") if location and not _cloud(conf) and not conf.has_unread else ()
    ):
        if not conf.get(key) and location:
            yield Problem(location, _("SuspendTime is set, but no {key}", key=key), f"{key}=/usr/sbin/power")
            return


@rule(
    Severity.WARNING,
    "slurm.conf(5), SuspendTime",
    wrong=_ALL,
    correct=f"SuspendTime=600\n{_ALL}",
)
def suspend_never(conf: SlurmConf) -> Iterator[Problem]:
    """SuspendProgram has a SuspendTime; its default, INFINITE, never powers a node down."""
    setting = conf.line_of("SuspendProgram")
    if setting and setting.value and not _suspends(conf) and not conf.has_unread:
        message = _("SuspendTime is not set: nodes never power down")
        yield Problem(conf.line_of("SuspendTime") or setting, message, "SuspendTime=600")


@rule(
    Severity.WARNING,
    "slurm.conf(5), ResumeTimeout",
    wrong=f"SuspendTime=600\n{_PROGRAMS}",
    correct=f"SuspendTime=600\n{_ALL}",
)
def resume_timeout_short(conf: SlurmConf) -> Iterator[Problem]:
    """ResumeTimeout is longer than a boot; with the default of 60 seconds, nodes are set down while they boot."""
    location = conf.line_of("ResumeTimeout") or conf.line_of("ResumeProgram")
    per_partition = any(partition.has("ResumeTimeout") for partition in conf.partitions)
    if (
        location
        and conf.get("ResumeProgram")
        and _suspends(conf)
        and not per_partition
        and not conf.has_unread
        and conf.get("ResumeTimeout").lower() != "infinite"
        and conf.number("ResumeTimeout", 60) <= 60
    ):
        message = _(
            "a node that takes more than {limit} s to boot is set down",
            limit=conf.number("ResumeTimeout", 60),
        )
        yield Problem(location, message, "ResumeTimeout=600")


@rule(
    Severity.NOTE,
    "slurm.conf(5), RebootProgram",
    wrong="RebootProgram=/usr/sbin/reboot",
    correct="RebootProgram=/usr/sbin/reboot\nResumeTimeout=900",
)
def reboot_timeout_short(conf: SlurmConf) -> Iterator[Problem]:
    """ResumeTimeout covers a reboot by `scontrol reboot`; after it, 60 seconds by default, the node is set down."""
    setting = conf.line_of("RebootProgram")
    if (
        setting
        and not conf.line_of("ResumeTimeout")
        and not conf.get("ResumeProgram")
        and not conf.has_unread
        and not any(partition.has("ResumeTimeout") for partition in conf.partitions)
    ):
        message = _("`scontrol reboot` sets a node down that takes more than 60 s to boot")
        yield Problem(setting, message, "ResumeTimeout=900")


@rule(
    Severity.ERROR,
    "slurm.conf(5), State of NodeName",
    wrong="NodeName=c[1-2] State=CLOUD",
    correct=f"SuspendTime=600\n{_ALL}NodeName=c[1-2] State=CLOUD",
)
def cloud_without_program(conf: SlurmConf) -> Iterator[Problem]:
    """Cloud nodes have a ResumeProgram and a SuspendProgram: Slurm cannot start them otherwise."""
    for node in _cloud(conf)[:1] if not conf.has_unread else ():
        for key in ("ResumeProgram", "SuspendProgram"):
            if not conf.get(key):
                yield Problem(node, _("cloud nodes need {key}", key=key), f"{key}=/usr/sbin/power")
                return


@rule(
    Severity.WARNING,
    "slurm.conf(5), SuspendExcNodes",
    wrong=f"SuspendTime=600\n{_ALL}SuspendExcNodes=x1\nNodeName=n[1-4]",
    correct=f"SuspendTime=600\n{_ALL}SuspendExcNodes=n1\nNodeName=n[1-4]",
)
def suspend_exception_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """SuspendExcNodes and SuspendExcParts name nodes and partitions of slurm.conf."""
    for key in ("SuspendExcNodes", "SuspendExcParts"):
        setting = conf.line_of(key)
        defined = (
            {*conf.hosts, *conf.nodesets} if key.endswith("Nodes") else {p.name for p in conf.partitions}
        )
        items = [item.partition(":")[0] for item in hosts_of(setting.value)] if setting else []
        unknown = (
            [item for item in items if item not in defined]
            if ":" not in (setting.value if setting else "")
            else []
        )
        if setting and unknown and defined and not conf.has_unread:
            message = _("{key} names {name}, which slurm.conf does not have", key=key, name=unknown[0])
            yield Problem(setting, message, f"{key}={min(defined)}")
