"""Partitions: nodes, time limits, sizes, memory and access."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.names import fold
from clusterwright.config.slurm_rules.conf import ConfEntry, Setting, SlurmConf, hosts_of, minutes
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.errors import closest_name
from clusterwright.i18n import _
from clusterwright.units import QuantityError, format_slurm_time, parse_duration

_NO_LIMIT = ("", "infinite", "unlimited", "-1")


@rule(
    Severity.ERROR,
    "slurm.conf(5), Nodes of PartitionName",
    wrong="NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=n[1-5]",
    correct="NodeName=n[1-4] CPUs=8\nPartitionName=p Nodes=n[1-4]",
)
def partition_node_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """A partition names nodes of NodeName lines and NodeSets: slurmctld does not start otherwise."""
    for partition in conf.partitions if conf.nodes and not conf.has_unread else ():
        unknown = sorted(conf.hosts_in(partition) - conf.hosts.keys())
        if unknown:
            values = {"partition": partition.name, "node": unknown[0]}
            message = _("partition {partition} names {node}, which is in no NodeName line", **values)
            names = [name for name in hosts_of(partition.get("Nodes")) if name not in unknown]
            line = f"PartitionName={partition.name} Nodes={fold(names)}"
            yield Problem(partition, message, line if names else conf.missing_node_line(unknown[0]))


@rule(
    Severity.ERROR,
    "slurm.conf(5), PartitionName",
    wrong="NodeName=n[1-4]\nPartitionName=p Nodes=n[1-2]\nPartitionName=p Nodes=n[3-4]",
    correct="NodeName=n[1-4]\nPartitionName=p Nodes=n[1-4]",
)
def partition_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """A partition has one PartitionName line: slurmctld does not start with a duplicate entry."""
    former: dict[str, ConfEntry] = {}
    for partition in conf.partitions:
        if partition.name in former:
            line = former[partition.name].line
            message = _("partition {partition} is also in line {line}", partition=partition.name, line=line)
            yield Problem(partition, message, f"PartitionName={partition.name}-2")
        former.setdefault(partition.name, partition)


@rule(
    Severity.WARNING,
    "slurm.conf(5), Default of PartitionName",
    wrong="NodeName=n1\nPartitionName=a Nodes=n1 Default=YES\nPartitionName=b Nodes=n1 Default=YES",
    correct="NodeName=n1\nPartitionName=a Nodes=n1 Default=YES\nPartitionName=b Nodes=n1",
)
def default_partition_repeated(conf: SlurmConf) -> Iterator[Problem]:
    """One partition is the default; of several Slurm takes the last."""
    defaults = [
        partition for partition in conf.partitions if partition.get("Default").lower() in ("yes", "true")
    ]
    for partition in defaults[1:]:
        message = _(
            "partition {partition} is a default too; Slurm takes the last", partition=defaults[0].name
        )
        yield Problem(partition, message, f"PartitionName={partition.name} Default=NO")


@rule(
    Severity.NOTE,
    "slurm.conf(5), Default of PartitionName",
    wrong="ClusterName=c\nSlurmctldHost=m\nSlurmUser=slurm\nReturnToService=2\nStateSaveLocation=/var/spool/ctld\n"
    "NodeName=n1 RealMemory=9\nPartitionName=a Nodes=n1 MaxTime=60",
    correct="ClusterName=c\nSlurmctldHost=m\nSlurmUser=slurm\nReturnToService=2\nStateSaveLocation=/var/spool/ctld\n"
    "NodeName=n1 RealMemory=9\nPartitionName=a Nodes=n1 MaxTime=60 Default=YES",
)
def default_partition_missing(conf: SlurmConf) -> Iterator[Problem]:
    """A partition is the default; without one Slurm rejects jobs that name no partition."""
    if conf.is_complete and not any(p.get("Default").lower() in ("yes", "true") for p in conf.partitions):
        candidate = conf.partitions[0]
        message = _("no partition is the default: Slurm rejects jobs that name none")
        yield Problem(candidate, message, f"PartitionName={candidate.name} Default=YES")


@rule(
    Severity.WARNING,
    "slurm.conf(5), DefaultTime",
    wrong="PartitionName=p Nodes=n1 MaxTime=12:00:00 DefaultTime=1-00:00:00",
    correct="PartitionName=p Nodes=n1 MaxTime=1-00:00:00 DefaultTime=12:00:00",
)
def default_time_above_max(conf: SlurmConf) -> Iterator[Problem]:
    """DefaultTime is at most MaxTime; Slurm ignores a longer one."""
    for partition in conf.partitions:
        default, longest = minutes(partition.get("DefaultTime")), minutes(partition.get("MaxTime"))
        if default is not None and longest is not None and default > longest:
            values = {"default": partition.get("DefaultTime"), "max": partition.get("MaxTime")}
            message = _("DefaultTime={default} is longer than MaxTime={max}: Slurm ignores it", **values)
            yield Problem(partition, message, f"PartitionName={partition.name} DefaultTime={values['max']}")


@rule(
    Severity.NOTE,
    "slurm.conf(5), DefaultTime",
    wrong="ClusterName=c\nSlurmctldHost=m\nSlurmUser=slurm\nReturnToService=2\nStateSaveLocation=/var/spool/ctld\n"
    "NodeName=n1 RealMemory=9\nPartitionName=a Nodes=n1 Default=YES",
    correct="ClusterName=c\nSlurmctldHost=m\nSlurmUser=slurm\nReturnToService=2\nStateSaveLocation=/var/spool/ctld\n"
    "NodeName=n1 RealMemory=9\nPartitionName=a Nodes=n1 Default=YES MaxTime=1-0",
)
def time_unlimited(conf: SlurmConf) -> Iterator[Problem]:
    """A partition has MaxTime or DefaultTime; without them a job without --time has no limit, and backfill no end."""
    keys = ("MaxTime", "DefaultTime")
    unlimited = [p for p in conf.partitions if all(p.get(key).lower() in _NO_LIMIT for key in keys)]
    if unlimited and conf.is_complete:
        message = _("jobs without --time have no time limit, so that backfill cannot plan around them")
        yield Problem(unlimited[0], message, f"PartitionName={unlimited[0].name} DefaultTime=1-00:00:00")


@rule(
    Severity.ERROR,
    "slurm.conf(5), MaxTime",
    wrong="PartitionName=p Nodes=n1 MaxTime=24h",
    correct="PartitionName=p Nodes=n1 MaxTime=24:00:00",
)
def time_invalid(conf: SlurmConf) -> Iterator[Problem]:
    """MaxTime and DefaultTime are minutes, hours:minutes:seconds, days-hours or UNLIMITED."""
    for partition in conf.partitions:
        for key in ("MaxTime", "DefaultTime"):
            value = partition.get(key)
            if value.lower() not in (*_NO_LIMIT, "none") and minutes(value) is None:
                message = _("{key}={value} is no time limit", key=key, value=value)
                yield Problem(
                    partition, message, f"PartitionName={partition.name} {key}={_closest_time(value)}"
                )


def _closest_time(value: str) -> str:
    """Return Slurm's form of a duration with units such as 3d or 12h, or the word that is meant; else one day."""
    if word := closest_name(value.lower(), ("infinite", "unlimited")):
        return word.upper()
    try:
        duration_s = parse_duration(value.lower())
    except QuantityError:
        duration_s = 0
    return format_slurm_time(duration_s).removeprefix("0-") if duration_s else "1-00:00:00"


def _exclusive(conf: SlurmConf, former: str, second: str) -> Iterator[ConfEntry]:
    for partition in conf.partitions:
        if partition.get(former).upper() not in ("", "ALL") and partition.get(second):
            yield partition


@rule(
    Severity.WARNING,
    "slurm.conf(5), AllowAccounts",
    wrong="PartitionName=p Nodes=n1 AllowAccounts=a,b DenyAccounts=c",
    correct="PartitionName=p Nodes=n1 AllowAccounts=a,b",
)
def accounts_allowed_and_denied(conf: SlurmConf) -> Iterator[Problem]:
    """A partition has AllowAccounts or DenyAccounts; beside AllowAccounts Slurm ignores DenyAccounts."""
    for partition in _exclusive(conf, "AllowAccounts", "DenyAccounts"):
        message = _("Slurm ignores {second} beside {first}", first="AllowAccounts", second="DenyAccounts")
        yield Problem(partition, message, f"AllowAccounts={partition.get('AllowAccounts')}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), AllowQos",
    wrong="PartitionName=p Nodes=n1 AllowQos=a DenyQos=b",
    correct="PartitionName=p Nodes=n1 AllowQos=a",
)
def qos_allowed_and_denied(conf: SlurmConf) -> Iterator[Problem]:
    """A partition has AllowQos or DenyQos; beside AllowQos Slurm ignores DenyQos."""
    for partition in _exclusive(conf, "AllowQos", "DenyQos"):
        message = _("Slurm ignores {second} beside {first}", first="AllowQos", second="DenyQos")
        yield Problem(partition, message, f"AllowQos={partition.get('AllowQos')}")


def _memory_conflict(conf: SlurmConf, prefix: str) -> Iterator[Problem]:
    per_node, per_cpu = f"{prefix}PerNode", f"{prefix}PerCPU"
    message = _("Slurm ignores {second} beside {first}", first=per_node, second=per_cpu)
    setting = conf.line_of(per_cpu)
    if setting and conf.line_of(per_node):
        yield Problem(setting, message, f"{per_node}={conf.get(per_node)}")
    for partition in conf.partitions:
        if partition.has(per_node) and partition.has(per_cpu):
            yield Problem(partition, message, f"{per_node}={partition.get(per_node)}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), DefMemPerCPU",
    wrong="DefMemPerCPU=2000\nDefMemPerNode=8000",
    correct="DefMemPerCPU=2000",
)
def default_memory_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """DefMemPerCPU and DefMemPerNode exclude each other; Slurm ignores DefMemPerCPU."""
    yield from _memory_conflict(conf, "DefMem")


@rule(
    Severity.WARNING,
    "slurm.conf(5), MaxMemPerCPU",
    wrong="PartitionName=p Nodes=n1 MaxMemPerCPU=2000 MaxMemPerNode=8000",
    correct="PartitionName=p Nodes=n1 MaxMemPerNode=8000",
)
def max_memory_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """MaxMemPerCPU and MaxMemPerNode exclude each other; Slurm ignores MaxMemPerCPU."""
    yield from _memory_conflict(conf, "MaxMem")


@rule(
    Severity.ERROR,
    "slurm.conf(5), DefMemPerNode",
    wrong="NodeName=n1 RealMemory=64000\nPartitionName=p Nodes=n1 DefMemPerNode=128000",
    correct="NodeName=n1 RealMemory=64000\nPartitionName=p Nodes=n1 DefMemPerNode=32000",
)
def default_memory_too_large(conf: SlurmConf) -> Iterator[Problem]:
    """DefMemPerNode fits a node of the partition, or no job without --mem starts."""
    for partition in conf.partitions:
        memories = [
            conf.hosts[host].count("RealMemory") for host in conf.hosts_in(partition) if host in conf.hosts
        ]
        default = partition.count("DefMemPerNode", conf.number("DefMemPerNode", 0))
        if memories and all(memories) and default > max(memories):
            values = {"default": default, "memory": max(memories)}
            message = _(
                "DefMemPerNode={default} exceeds the {memory} MiB of the partition's largest node", **values
            )
            yield Problem(
                partition, message, f"PartitionName={partition.name} DefMemPerNode={max(memories) // 2}"
            )


@rule(
    Severity.WARNING,
    "slurm.conf(5), MaxMemPerNode",
    wrong="DefMemPerCPU=4000\nMaxMemPerCPU=2000",
    correct="DefMemPerCPU=2000\nMaxMemPerCPU=4000",
)
def default_memory_above_max(conf: SlurmConf) -> Iterator[Problem]:
    """The default of memory does not exceed its maximum; Slurm gives such jobs more CPUs, or rejects them."""
    places: list[ConfEntry | Setting] = [*conf.partitions, *filter(None, [conf.line_of("DefMemPerCPU")])]
    for location in places:
        for unit in ("PerCPU", "PerNode"):
            keys = (f"DefMem{unit}", f"MaxMem{unit}")
            values = [
                location.count(key) if isinstance(location, ConfEntry) else conf.number(key, 0)
                for key in keys
            ]
            if values[1] and values[0] > values[1]:
                message = _("{default} exceeds {max}", default=keys[0], max=f"{keys[1]}={values[1]}")
                yield Problem(location, message, f"{keys[0]}={values[1]}")


@rule(
    Severity.ERROR,
    "slurm.conf(5), MinNodes",
    wrong="NodeName=n[1-4]\nPartitionName=p Nodes=n[1-4] MinNodes=5",
    correct="NodeName=n[1-4]\nPartitionName=p Nodes=n[1-4] MinNodes=2",
)
def min_nodes_too_many(conf: SlurmConf) -> Iterator[Problem]:
    """MinNodes does not exceed MaxNodes and the nodes of the partition, or no job starts."""
    for partition in conf.partitions:
        defined = len(conf.hosts_in(partition) & conf.hosts.keys())
        limits = [limit for limit in (partition.count("MaxNodes"), defined) if limit]
        if limits and partition.count("MinNodes") > min(limits):
            values = {"least": partition.count("MinNodes"), "most": min(limits)}
            message = _("MinNodes={least}, but a job can have {most} nodes at most", **values)
            yield Problem(partition, message, f"PartitionName={partition.name} MinNodes=1")


@rule(
    Severity.ERROR,
    "slurm.conf(5), State of PartitionName",
    wrong="PartitionName=p Nodes=n1 State=UNKNOWN",
    correct="PartitionName=p Nodes=n1 State=UP",
)
def partition_state_invalid(conf: SlurmConf) -> Iterator[Problem]:
    """State of a partition is UP, DOWN, DRAIN or INACTIVE: Slurm's daemons do not start otherwise."""
    for partition in conf.partitions:
        state = partition.get("State")
        if state and state.lower() not in ("up", "down", "drain", "inactive"):
            message = _("{state} is no state of a partition", state=state)
            yield Problem(partition, message, f"PartitionName={partition.name} State=UP")


@rule(
    Severity.ERROR,
    "slurm.conf(5), OverSubscribe",
    wrong="PartitionName=p Nodes=n1 OverSubscribe=SHARED",
    correct="PartitionName=p Nodes=n1 OverSubscribe=YES:1",
)
def oversubscribe_invalid(conf: SlurmConf) -> Iterator[Problem]:
    """OverSubscribe is NO, YES, FORCE or EXCLUSIVE, with a number of jobs: Slurm's daemons do not start otherwise."""
    for partition in conf.partitions:
        value = partition.get("OverSubscribe", "Shared")
        if value and value.lower().partition(":")[0] not in ("no", "yes", "force", "exclusive"):
            message = _("OverSubscribe={value} is unknown", value=value)
            yield Problem(partition, message, f"PartitionName={partition.name} OverSubscribe=NO")


@rule(
    Severity.WARNING,
    "slurm.conf(5), OverSubscribe",
    wrong="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nPartitionName=p Nodes=n1 OverSubscribe=FORCE:4",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
    "PartitionName=p Nodes=n1 OverSubscribe=FORCE:4 DefMemPerCPU=1000",
)
def oversubscribe_memory(conf: SlurmConf) -> Iterator[Problem]:
    """Memory is consumable where cores are oversubscribed, or the jobs exhaust the memory of the node together."""
    for partition in conf.partitions:
        kind, _colon, jobs = partition.get("OverSubscribe", "Shared").lower().partition(":")
        if kind in ("yes", "force") and jobs != "1" and not conf.consumes_memory:
            message = _("OverSubscribe={kind} shares cores, but memory is not consumable", kind=kind.upper())
            yield Problem(partition, message, "SelectTypeParameters=CR_Core_Memory")


@rule(
    Severity.WARNING,
    "slurm.conf(5), Alternate",
    wrong="PartitionName=p Nodes=n1 Alternate=q",
    correct="PartitionName=p Nodes=n1 Alternate=q\nPartitionName=q Nodes=n1",
)
def alternate_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """Alternate names a partition."""
    names = {partition.name for partition in conf.partitions}
    for partition in conf.partitions:
        if partition.get("Alternate") and partition.get("Alternate") not in names:
            message = _("Alternate={name} is no partition", name=partition.get("Alternate"))
            yield Problem(partition, message, f"PartitionName={partition.get('Alternate')} Nodes=...")
