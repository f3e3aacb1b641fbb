"""Accounting: slurmdbd, what it enforces and tracks, and how jobs are measured."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_DBD = "AccountingStorageType=accounting_storage/slurmdbd"
_DBD_PORT = 6819  # the default of slurm.conf and slurmdbd.conf


def _has_dbd(conf: SlurmConf) -> bool:
    return conf.plugin("AccountingStorageType", "none") == "slurmdbd"


@rule(
    Severity.WARNING,
    "slurm.conf(5), AccountingStorageEnforce",
    wrong="AccountingStorageEnforce=limits",
    correct=f"{_DBD}\nAccountingStorageEnforce=limits",
)
def enforce_without_dbd(conf: SlurmConf) -> Iterator[Problem]:
    """AccountingStorageEnforce needs slurmdbd; without it slurmctld logs an error and enforces nothing."""
    setting = conf.line_of("AccountingStorageEnforce")
    if (
        setting
        and setting.value not in ("0", "none")
        and not _has_dbd(conf)
        and not conf.has_unread
        and conf.plugin("AccountingStorageType", "none") in ("none", "filetxt")
    ):
        message = _("without slurmdbd slurmctld enforces nothing of {value}", value=setting.value)
        yield Problem(setting, message, _DBD)


@rule(
    Severity.ERROR,
    "slurm.conf(5), AccountingStorageType",
    wrong="AccountingStorageType=accounting_storage/mysql",
    correct=_DBD,
)
def database_in_slurm_conf(conf: SlurmConf) -> Iterator[Problem]:
    """The controller records in slurmdbd: it does not start with accounting_storage/mysql."""
    setting = conf.line_of("AccountingStorageType")
    if setting and conf.plugin("AccountingStorageType", "") in ("mysql", "pgsql"):
        yield Problem(setting, _("{value} is for slurmdbd.conf only", value=setting.value), _DBD)


@rule(
    Severity.ERROR,
    "slurm.conf(5), AccountingStorageTRES",
    wrong="AccountingStorageTRES=gres/gpu",
    correct=f"{_DBD}\nAccountingStorageTRES=gres/gpu",
)
def tres_without_dbd(conf: SlurmConf) -> Iterator[Problem]:
    """AccountingStorageTRES of GRES and licenses needs slurmdbd: slurmctld does not start without it."""
    setting = conf.line_of("AccountingStorageTRES")
    if (
        setting
        and not _has_dbd(conf)
        and not conf.has_unread
        and any(item.startswith(("gres/", "license/", "bb/")) for item in setting.items)
    ):
        yield Problem(setting, _("{value} needs slurmdbd", value=setting.value), _DBD)


@rule(
    Severity.WARNING,
    "slurm.conf(5), AccountingStorageTRES",
    wrong=f"{_DBD}\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4",
    correct=f"{_DBD}\nAccountingStorageTRES=gres/gpu\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4",
)
def gpus_untracked(conf: SlurmConf) -> Iterator[Problem]:
    """AccountingStorageTRES names gres/gpu where nodes have GPUs; otherwise accounting and limits ignore them."""
    setting = conf.line_of("AccountingStorageType")
    items = conf.items("AccountingStorageTRES")
    if setting and _has_dbd(conf) and conf.gpu_nodes and not any(w.startswith("gres/gpu") for w in items):
        message = _("GPUs are neither recorded nor limited: AccountingStorageTRES lacks gres/gpu")
        fix = f"AccountingStorageTRES={','.join((*items, 'gres/gpu'))}"
        yield Problem(conf.line_of("AccountingStorageTRES") or setting, message, fix)


@rule(
    Severity.NOTE,
    "slurm.conf(5), AccountingStorageHost",
    wrong="AccountingStorageHost=db1",
    correct=f"{_DBD}\nAccountingStorageHost=db1",
)
def accounting_host_unused(conf: SlurmConf) -> Iterator[Problem]:
    """AccountingStorageHost and AccountingStoragePort are for slurmdbd; Slurm ignores them without it."""
    setting = conf.line_of("AccountingStorageHost")
    if setting and conf.plugin("AccountingStorageType", "none") == "none" and not conf.has_unread:
        yield Problem(setting, _("AccountingStorageType is not slurmdbd: Slurm ignores the line"), _DBD)


@rule(
    Severity.ERROR,
    "slurmdbd.conf(5), DbdPort",
    wrong=f"{_DBD}\nAccountingStoragePort=6820\n--- slurmdbd.conf\nDbdHost=d\nStorageType=accounting_storage/mysql",
    correct=f"{_DBD}\nAccountingStoragePort=6820\n--- slurmdbd.conf\nDbdHost=d\nDbdPort=6820\n"
    "StorageType=accounting_storage/mysql",
)
def accounting_port_differs(conf: SlurmConf) -> Iterator[Problem]:
    """AccountingStoragePort of slurm.conf is DbdPort of slurmdbd.conf; otherwise slurmctld does not reach slurmdbd."""
    if not _has_dbd(conf) or "slurmdbd.conf" not in conf.files:
        return
    port, dbd_port = (
        conf.number("AccountingStoragePort", _DBD_PORT),
        conf.number("DbdPort", _DBD_PORT, "slurmdbd.conf"),
    )
    location = conf.line_of("AccountingStoragePort") or conf.line_of("DbdPort", "slurmdbd.conf")
    if location and port != dbd_port:
        message = _("slurm.conf has port {here}, slurmdbd.conf has port {there}", here=port, there=dbd_port)
        yield Problem(location, message, f"AccountingStoragePort={dbd_port}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), JobCompLoc",
    wrong="JobCompType=jobcomp/script",
    correct="JobCompType=jobcomp/script\nJobCompLoc=/etc/slurm/job_ended",
)
def job_completion_location(conf: SlurmConf) -> Iterator[Problem]:
    """JobCompLoc names the server or script of jobcomp/elasticsearch, kafka and script."""
    setting = conf.line_of("JobCompType")
    name = conf.plugin("JobCompType", "none")
    if (
        setting
        and name in ("elasticsearch", "script", "kafka")
        and not conf.line_of("JobCompLoc")
        and not (name == "kafka" and conf.line_of("JobCompParams"))
    ):
        message = _("{value} needs JobCompLoc", value=setting.value)
        yield Problem(setting, message, "JobCompLoc=/etc/slurm/job_ended")


@rule(
    Severity.ERROR,
    "slurm.conf(5), NoShared of JobAcctGatherParams",
    wrong="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherParams=UsePSS,NoShared",
    correct="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherParams=UsePSS",
)
def shared_memory_options(conf: SlurmConf) -> Iterator[Problem]:
    """UsePSS and NoShared exclude each other: Slurm's daemons do not start with both."""
    setting = conf.line_of("JobAcctGatherParams")
    if setting and {"usepss", "noshared"} <= set(setting.items):
        yield Problem(setting, _("UsePSS and NoShared exclude each other"), "JobAcctGatherParams=UsePSS")


@rule(
    Severity.WARNING,
    "slurm.conf(5), JobAcctGatherType",
    wrong="JobAcctGatherType=jobacct_gather/cgroup\nJobAcctGatherParams=UsePSS",
    correct="JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherParams=UsePSS",
)
def shared_memory_with_cgroup(conf: SlurmConf) -> Iterator[Problem]:
    """UsePSS and NoShared are for jobacct_gather/linux; jobacct_gather/cgroup ignores them."""
    setting = conf.line_of("JobAcctGatherParams")
    items = {"usepss", "noshared"} & set(setting.items if setting else ())
    if setting and len(items) == 1 and conf.plugin("JobAcctGatherType", "") == "cgroup":
        message = _("jobacct_gather/cgroup ignores {value}", value=setting.value)
        yield Problem(setting, message, "JobAcctGatherType=jobacct_gather/linux")


@rule(
    Severity.WARNING,
    "slurm.conf(5), OverMemoryKill of JobAcctGatherParams",
    wrong="JobAcctGatherType=jobacct_gather/none\nJobAcctGatherParams=OverMemoryKill",
    correct="JobAcctGatherType=jobacct_gather/cgroup\nJobAcctGatherParams=OverMemoryKill",
)
def over_memory_unmeasured(conf: SlurmConf) -> Iterator[Problem]:
    """OverMemoryKill needs a JobAcctGatherType that measures memory; without one it ends no job."""
    setting = conf.line_of("JobAcctGatherParams")
    if setting and "overmemorykill" in setting.items and conf.plugin("JobAcctGatherType", "none") == "none":
        message = _("JobAcctGatherType is not set: OverMemoryKill ends no job")
        yield Problem(setting, message, "JobAcctGatherType=jobacct_gather/cgroup")


@rule(
    Severity.NOTE,
    "slurm.conf(5), JobAcctGatherType",
    wrong=f"{_DBD}\nJobAcctGatherType=jobacct_gather/none",
    correct=f"{_DBD}\nJobAcctGatherType=jobacct_gather/cgroup",
)
def usage_unmeasured(conf: SlurmConf) -> Iterator[Problem]:
    """With slurmdbd, JobAcctGatherType measures jobs; without it sacct and sstat have no memory and CPU usage."""
    setting = conf.line_of("JobAcctGatherType")
    if setting and _has_dbd(conf) and conf.plugin("JobAcctGatherType", "none") == "none":
        message = _("sacct and sstat have no memory and CPU usage of jobs")
        yield Problem(setting, message, "JobAcctGatherType=jobacct_gather/cgroup")


@rule(
    Severity.WARNING,
    "slurm.conf(5), QOS of PartitionName",
    wrong=f"{_DBD}\nAccountingStorageEnforce=associations\nPartitionName=p Nodes=n1 QOS=short",
    correct=f"{_DBD}\nAccountingStorageEnforce=limits,qos\nPartitionName=p Nodes=n1 QOS=short",
)
def partition_qos_unenforced(conf: SlurmConf) -> Iterator[Problem]:
    """A partition's QOS limits jobs only if AccountingStorageEnforce has limits, safe or all."""
    items = set(conf.items("AccountingStorageEnforce"))
    for partition in conf.partitions if not conf.has_unread else ():
        if partition.get("QOS") and not items & {"limits", "safe", "all", "2", "qos"}:
            message = _("Slurm does not enforce the limits of QOS {qos}", qos=partition.get("QOS"))
            yield Problem(partition, message, "AccountingStorageEnforce=limits,qos")


@rule(
    Severity.WARNING,
    "slurm.conf(5), TRESBillingWeights",
    wrong=f"{_DBD}\nPartitionName=p Nodes=n1 TRESBillingWeights=CPU=1,GRES/gpu=10",
    correct=f"{_DBD}\nAccountingStorageTRES=gres/gpu\nPartitionName=p Nodes=n1 TRESBillingWeights=CPU=1,GRES/gpu=10",
)
def billing_untracked(conf: SlurmConf) -> Iterator[Problem]:
    """TRESBillingWeights names GRES of AccountingStorageTRES; the weight of others counts for nothing."""
    tracked = set(conf.items("AccountingStorageTRES"))
    for partition in conf.partitions if _has_dbd(conf) else ():
        weights = [
            item.partition("=")[0].strip().lower() for item in partition.get("TRESBillingWeights").split(",")
        ]
        unknown = [name for name in weights if name.startswith(("gres/", "license/")) and name not in tracked]
        if unknown:
            message = _("AccountingStorageTRES lacks {name}: the weight has no effect", name=unknown[0])
            yield Problem(
                partition, message, f"AccountingStorageTRES={','.join((*sorted(tracked), unknown[0]))}"
            )
