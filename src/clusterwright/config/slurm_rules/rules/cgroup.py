"""Control groups: cgroup.conf against the plug-ins of slurm.conf."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

_FILE = "cgroup.conf"
_CONSTRAINTS = ("ConstrainCores", "ConstrainDevices", "ConstrainRAMSpace", "ConstrainSwapSpace")
_USERS = {"TaskPlugin": "cgroup", "ProctrackType": "cgroup", "JobAcctGatherType": "cgroup"}
_TASK = "TaskPlugin=task/cgroup,task/affinity"


def _has_both(conf: SlurmConf) -> bool:
    return _FILE in conf.files and "slurm.conf" in conf.files and not conf.has_unread


@rule(
    Severity.WARNING,
    "cgroup.conf(5), ConstrainDevices",
    wrong="TaskPlugin=task/cgroup\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4\n--- cgroup.conf\nConstrainCores=yes",
    correct="TaskPlugin=task/cgroup\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4\n"
    "--- cgroup.conf\nConstrainCores=yes\nConstrainDevices=yes",
)
def gpus_unconstrained(conf: SlurmConf) -> Iterator[Problem]:
    """Nodes with GPUs have ConstrainDevices=yes; otherwise a job can use the GPUs of others."""
    if (
        _has_both(conf)
        and conf.gpu_nodes
        and not conf.is_yes("ConstrainDevices", _FILE)
        and "cgroup" in conf.plugins("TaskPlugin")
    ):
        location = conf.line_of("ConstrainDevices", _FILE) or conf.gpu_nodes[0]
        message = _("ConstrainDevices is not yes: a job can use GPUs that Slurm gave to others")
        yield Problem(location, message, "ConstrainDevices=yes")


@rule(
    Severity.WARNING,
    "gres.conf(5), File",
    wrong="TaskPlugin=task/affinity\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4\nPartitionName=p Nodes=n1",
    correct=f"{_TASK}\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4\nPartitionName=p Nodes=n1",
)
def gpus_without_task_cgroup(conf: SlurmConf) -> Iterator[Problem]:
    """Nodes with GPUs use task/cgroup: without it nothing keeps a job from the GPUs of others."""
    is_exclusive = (
        bool(conf.partitions) and not conf.has_unread and (conf.is_complete or conf.line_of("TaskPlugin"))
    )
    if is_exclusive and conf.gpu_nodes and "cgroup" not in conf.plugins("TaskPlugin"):
        location = conf.line_of("TaskPlugin") or conf.gpu_nodes[0]
        yield Problem(location, _("without task/cgroup a job can use GPUs that Slurm gave to others"), _TASK)


@rule(
    Severity.WARNING,
    "cgroup.conf(5), TASK/CGROUP PLUGIN",
    wrong="TaskPlugin=task/affinity\n--- cgroup.conf\nConstrainCores=yes",
    correct=f"{_TASK}\n--- cgroup.conf\nConstrainCores=yes",
)
def constraints_unused(conf: SlurmConf) -> Iterator[Problem]:
    """Constraints in cgroup.conf need TaskPlugin=task/cgroup; without it they have no effect."""
    if not _has_both(conf) or "cgroup" in conf.plugins("TaskPlugin"):
        return
    for key in _CONSTRAINTS:
        setting = conf.line_of(key, _FILE)
        if setting and conf.is_yes(key, _FILE):
            message = _("{key} has no effect: TaskPlugin of slurm.conf lacks task/cgroup", key=key)
            yield Problem(setting, message, _TASK)
            return


@rule(
    Severity.WARNING,
    "cgroup.conf(5), ConstrainCores",
    wrong="TaskPlugin=task/cgroup\n--- cgroup.conf\nCgroupPlugin=cgroup/v2",
    correct="TaskPlugin=task/cgroup\n--- cgroup.conf\nCgroupPlugin=cgroup/v2\nConstrainCores=yes",
)
def task_cgroup_unconstrained(conf: SlurmConf) -> Iterator[Problem]:
    """With task/cgroup, cgroup.conf constrains cores, memory or devices; all defaults are no."""
    setting = conf.line_of("TaskPlugin")
    if (
        setting
        and _has_both(conf)
        and "cgroup" in setting.value.lower()
        and not conf.gpu_nodes
        and not any(conf.is_yes(key, _FILE) for key in _CONSTRAINTS)
    ):
        message = _("task/cgroup constrains nothing: cgroup.conf has no Constrain...=yes")
        yield Problem(setting, message, "ConstrainCores=yes")


@rule(
    Severity.ERROR,
    "cgroup.conf(5), CgroupPlugin",
    wrong="ProctrackType=proctrack/cgroup\n--- cgroup.conf\nCgroupPlugin=disabled",
    correct="ProctrackType=proctrack/linuxproc\n--- cgroup.conf\nCgroupPlugin=disabled",
)
def cgroup_disabled(conf: SlurmConf) -> Iterator[Problem]:
    """CgroupPlugin is not disabled where slurm.conf uses control groups: slurmd does not start otherwise."""
    setting = conf.line_of("CgroupPlugin", _FILE)
    for key, name in _USERS.items():
        if setting and setting.value.lower() == "disabled" and name in conf.plugins(key):
            value = conf.get(key)
            yield Problem(
                setting,
                _(
                    "CgroupPlugin is disabled, but slurm.conf needs control groups for {value}; slurmd does not start",
                    value=f"{key}={value}",
                ),
                "CgroupPlugin=autodetect",
            )


@rule(
    Severity.WARNING,
    "cgroup.conf(5), ConstrainRAMSpace",
    wrong="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nTaskPlugin=task/cgroup\n"
    "--- cgroup.conf\nConstrainCores=yes\nConstrainRAMSpace=yes",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nTaskPlugin=task/cgroup\n"
    "--- cgroup.conf\nConstrainCores=yes\nConstrainRAMSpace=yes",
)
def memory_constraint_unused(conf: SlurmConf) -> Iterator[Problem]:
    """ConstrainRAMSpace and ConstrainSwapSpace need CR_..._Memory; without it they have no effect."""
    if not _has_both(conf) or conf.consumes_memory or "cgroup" not in conf.plugins("TaskPlugin"):
        return
    if conf.line_of("MaxRAMPercent", _FILE) or conf.line_of("MaxSwapPercent", _FILE):
        return  # the constraint of jobs whose memory Slurm does not manage
    for key in ("ConstrainRAMSpace", "ConstrainSwapSpace") if conf.line_of("SelectType") else ():
        setting = conf.line_of(key, _FILE)
        if setting and conf.is_yes(key, _FILE):
            message = _("{key} has no effect: memory is not consumable in slurm.conf", key=key)
            yield Problem(setting, message, "SelectTypeParameters=CR_Core_Memory")
            return


@rule(
    Severity.ERROR,
    "slurm.conf(5), OverMemoryKill of JobAcctGatherParams",
    wrong="SelectTypeParameters=CR_Core_Memory\nTaskPlugin=task/cgroup\nJobAcctGatherType=jobacct_gather/linux\n"
    "JobAcctGatherParams=OverMemoryKill\n--- cgroup.conf\nConstrainCores=yes\nConstrainRAMSpace=yes",
    correct="SelectTypeParameters=CR_Core_Memory\nTaskPlugin=task/cgroup\nJobAcctGatherType=jobacct_gather/linux\n"
    "--- cgroup.conf\nConstrainCores=yes\nConstrainRAMSpace=yes",
)
def memory_enforcement_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """Memory is enforced by ConstrainRAMSpace or by OverMemoryKill: slurmctld and slurmd do not start with both."""
    setting = conf.line_of("JobAcctGatherParams")
    constrains = any(conf.is_yes(key, _FILE) for key in ("ConstrainRAMSpace", "ConstrainSwapSpace"))
    if (
        setting
        and "overmemorykill" in setting.items
        and constrains
        and "cgroup" in conf.plugins("TaskPlugin")
    ):
        message = _("OverMemoryKill and the memory constraint of cgroup.conf exclude each other")
        yield Problem(setting, message, remove(setting))


@rule(
    Severity.NOTE,
    "slurm.conf(5), TaskPlugin",
    wrong=f"{_TASK}\n--- cgroup.conf\nConstrainRAMSpace=yes",
    correct=f"{_TASK}\n--- cgroup.conf\nConstrainRAMSpace=yes\nConstrainCores=yes",
)
def cores_unconstrained(conf: SlurmConf) -> Iterator[Problem]:
    """With task/cgroup, ConstrainCores=yes keeps a job on its cores; the manual recommends it."""
    setting = conf.line_of("TaskPlugin")
    if setting and _has_both(conf) and "cgroup" in conf.plugins("TaskPlugin"):
        remaining = any(conf.is_yes(key, _FILE) for key in _CONSTRAINTS)
        if remaining and not conf.line_of("ConstrainCores", _FILE):
            message = _("ConstrainCores is not set: a process can move to cores of other jobs")
            yield Problem(setting, message, "ConstrainCores=yes")


@rule(
    Severity.NOTE,
    "cgroup.conf(5), MemorySwappiness",
    wrong="--- cgroup.conf\nCgroupPlugin=cgroup/v2\nMemorySwappiness=0",
    correct="--- cgroup.conf\nCgroupPlugin=cgroup/v1\nMemorySwappiness=0\nConstrainSwapSpace=yes",
)
def swappiness_unused(conf: SlurmConf) -> Iterator[Problem]:
    """MemorySwappiness is for cgroup/v1, with ConstrainSwapSpace=yes; otherwise it has no effect."""
    setting = conf.line_of("MemorySwappiness", _FILE)
    is_v2 = conf.plugin("CgroupPlugin", "", _FILE) == "v2"
    if setting and (is_v2 or not conf.is_yes("ConstrainSwapSpace", _FILE)):
        yield Problem(setting, _("MemorySwappiness has no effect here"), remove(setting))


@rule(
    Severity.NOTE,
    "cgroup.conf(5), AllowedRAMSpace",
    wrong="--- cgroup.conf\nConstrainRAMSpace=yes\nAllowedRAMSpace=120",
    correct="--- cgroup.conf\nConstrainRAMSpace=yes\nAllowedRAMSpace=100",
)
def ram_overcommitted(conf: SlurmConf) -> Iterator[Problem]:
    """AllowedRAMSpace is at most 100 percent; with more, jobs together can exhaust the memory of the node."""
    setting = conf.line_of("AllowedRAMSpace", _FILE)
    if setting and conf.number("AllowedRAMSpace", 100, _FILE) > 100:
        message = _(
            "AllowedRAMSpace={percent}: jobs may use more memory than Slurm gave them, and together exhaust that of "
            "the node",
            percent=setting.value,
        )
        yield Problem(setting, message, "AllowedRAMSpace=100")
