"""Selection of resources: SelectType, its parameters, and the default of memory."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_UNITS = ("cr_cpu", "cr_core", "cr_socket")
_PARAMETERS = (
    "cr_cpu",
    "cr_core",
    "cr_socket",
    "cr_cpu_memory",
    "cr_core_memory",
    "cr_socket_memory",
    "cr_memory",
    "cr_one_task_per_core",
    "cr_no_dist_topo_block",
    "cr_core_default_dist_block",
    "cr_lln",
    "cr_pack_nodes",
    "ll_shared_gres",
    "multiple_sharing_gres_pj",
    "enforce_binding_gres",
    "one_task_per_sharing_gres",
    "none",
    "other_cons_res",
    "other_cons_tres",
    "nhc_no_steps",
    "nhc_no",
    "nhc_absolutely_no",
)
_DEFAULT_SINCE = "21.08"  # before, slurmctld did not start without SelectTypeParameters
_FIX = "SelectTypeParameters=CR_Core_Memory"


@rule(
    Severity.NOTE,
    "slurm.conf(5), SelectTypeParameters",
    wrong="SelectType=select/cons_tres\nNodeName=n1 RealMemory=64000",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nNodeName=n1 RealMemory=64000",
)
def select_parameters_missing(conf: SlurmConf) -> Iterator[Problem]:
    """SelectTypeParameters names what jobs consume; its default is CR_Core_Memory, so that memory is consumed."""
    setting = conf.line_of("SelectType")
    is_fragment = not conf.nodes or conf.has_unread or conf.slurm_release < _DEFAULT_SINCE
    if (
        setting
        and "cons_" in setting.value.lower()
        and not conf.line_of("SelectTypeParameters")
        and not is_fragment
    ):
        message = _("SelectTypeParameters is not set: Slurm uses its default, CR_Core_Memory")
        yield Problem(setting, message, _FIX)


@rule(
    Severity.ERROR,
    "slurm.conf(5), SelectTypeParameters",
    wrong="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Mem",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory",
)
def select_parameter_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """Each word of SelectTypeParameters is in the manual: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("SelectTypeParameters")
    for item in setting.items if setting else ():
        if setting and item not in _PARAMETERS:
            yield Problem(setting, _("SelectTypeParameters has no word {word}", word=item), _FIX)


@rule(
    Severity.ERROR,
    "slurm.conf(5), SelectTypeParameters",
    wrong="SelectType=select/cons_tres\nSelectTypeParameters=CR_Memory",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory",
)
def select_unit_missing(conf: SlurmConf) -> Iterator[Problem]:
    """SelectTypeParameters of select/cons_tres names CPU, core or socket: slurmctld does not start otherwise."""
    setting, kind = conf.line_of("SelectTypeParameters"), conf.line_of("SelectType")
    is_old = conf.slurm_release < _DEFAULT_SINCE and not conf.has_unread
    if kind and not setting and is_old and conf.nodes and "cons_" in kind.value.lower():
        yield Problem(kind, _("Slurm before 21.08 has no default of SelectTypeParameters"), _FIX)
    if setting and setting.items and conf.plugin("SelectType", "").startswith("cons_"):
        defined = [item for item in setting.items if item in _PARAMETERS]
        if len(defined) == len(setting.items) and not any(item.startswith(_UNITS) for item in defined):
            message = _("SelectTypeParameters={value} names no CPU, core or socket", value=setting.value)
            yield Problem(setting, message, _FIX)


@rule(
    Severity.ERROR,
    "slurm.conf(5), CR_ONE_TASK_PER_CORE",
    wrong="SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU,CR_ONE_TASK_PER_CORE",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_ONE_TASK_PER_CORE",
)
def task_per_core_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """CR_ONE_TASK_PER_CORE is used with cores, not CR_CPU: Slurm's daemons do not start with both."""
    setting = conf.line_of("SelectTypeParameters")
    if (
        setting
        and "cr_one_task_per_core" in setting.items
        and any(w.startswith("cr_cpu") for w in setting.items)
    ):
        message = _("CR_ONE_TASK_PER_CORE and CR_CPU exclude each other")
        yield Problem(setting, message, "SelectTypeParameters=CR_Core,CR_ONE_TASK_PER_CORE")


@rule(
    Severity.ERROR,
    "slurm.conf(5), SelectTypeParameters",
    wrong="SelectType=select/linear\nSelectTypeParameters=CR_Core",
    correct="SelectType=select/linear\nSelectTypeParameters=CR_Memory",
)
def linear_with_units(conf: SlurmConf) -> Iterator[Problem]:
    """select/linear allocates whole nodes, and takes CR_Memory only: slurmctld does not start with CR_Core."""
    setting = conf.line_of("SelectTypeParameters")
    if (
        setting
        and conf.plugin("SelectType", "") == "linear"
        and any(w.startswith(_UNITS) for w in setting.items)
    ):
        message = _("select/linear does not take {value}", value=setting.value)
        yield Problem(setting, message, "SelectType=select/cons_tres")


@rule(
    Severity.ERROR,
    "slurm.conf(5), MaxNodeCount",
    wrong="SelectType=select/linear\nMaxNodeCount=100",
    correct="SelectType=select/cons_tres\nMaxNodeCount=100",
)
def max_node_count_linear(conf: SlurmConf) -> Iterator[Problem]:
    """MaxNodeCount, for dynamic nodes, needs select/cons_tres: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("MaxNodeCount")
    if setting and conf.plugin("SelectType", "cons_tres") != "cons_tres":
        yield Problem(setting, _("MaxNodeCount needs select/cons_tres"), "SelectType=select/cons_tres")


@rule(
    Severity.ERROR,
    "topology.conf(5), topology/tree",
    wrong="SelectType=select/linear\nTopologyPlugin=topology/tree",
    correct="SelectType=select/cons_tres\nTopologyPlugin=topology/tree",
)
def linear_with_tree(conf: SlurmConf) -> Iterator[Problem]:
    """topology/tree needs select/cons_tres: from 24.05 on, Slurm does not start with select/linear."""
    setting = conf.line_of("TopologyPlugin")
    if (
        setting
        and conf.plugin("TopologyPlugin", "") == "tree"
        and conf.plugin("SelectType", "") == "linear"
        and conf.slurm_release >= "24.05"
    ):
        yield Problem(setting, _("topology/tree needs select/cons_tres"), "SelectType=select/cons_tres")


@rule(
    Severity.WARNING,
    "slurm.conf(5), DefMemPerCPU",
    wrong="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nNodeName=n1 RealMemory=64000\n"
    "PartitionName=p Nodes=n1",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=2000\n"
    "NodeName=n1 RealMemory=64000\nPartitionName=p Nodes=n1",
)
def default_memory_missing(conf: SlurmConf) -> Iterator[Problem]:
    """A default of memory is set where memory is consumable; otherwise a job without --mem takes a node's memory."""
    keys = ("DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU")
    if not conf.items("SelectTypeParameters") or not conf.consumes_memory or conf.has_unread:
        return
    if any(conf.number(key, 0) for key in keys) or not conf.plugin("SelectType", "").startswith("cons_"):
        return
    for partition in conf.partitions:
        is_exclusive = partition.get("OverSubscribe", "Shared").lower() == "exclusive"
        is_exclusive = is_exclusive or partition.get("Exclusive").lower() == "node"
        if not is_exclusive and not any(partition.has(key) for key in keys):
            message = _("a job without --mem takes all memory of its nodes, so that no second job fits")
            yield Problem(partition, message, "DefMemPerCPU=2000")
            return


@rule(
    Severity.NOTE,
    "slurm.conf(5), SelectTypeParameters",
    wrong="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nNodeName=n1 RealMemory=64000\n"
    "PartitionName=p Nodes=n1",
    correct="SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=2000\n"
    "NodeName=n1 RealMemory=64000\nPartitionName=p Nodes=n1",
)
def memory_not_consumed(conf: SlurmConf) -> Iterator[Problem]:
    """Memory is consumable where jobs share a node; otherwise they can exhaust it together."""
    setting = conf.line_of("SelectTypeParameters")
    if (
        setting
        and conf.nodes
        and conf.partitions
        and conf.plugin("SelectType", "").startswith("cons_")
        and not conf.consumes_memory
        and any(item in _UNITS for item in setting.items)
        and not any(
            p.get("OverSubscribe", "Shared").lower().startswith(("yes", "force")) for p in conf.partitions
        )
    ):
        message = _("{value} does not consume memory: jobs on a node can exhaust it", value=setting.value)
        yield Problem(setting, message, _FIX)


@rule(
    Severity.ERROR,
    "slurm.conf(5), TaskPluginParam",
    wrong="TaskPlugin=task/affinity\nTaskPluginParam=OOMKillStep",
    correct="TaskPlugin=task/cgroup,task/affinity\nTaskPluginParam=OOMKillStep",
)
def task_param_without_cgroup(conf: SlurmConf) -> Iterator[Problem]:
    """OOMKillStep and SlurmdSpecOverride need task/cgroup: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("TaskPluginParam")
    items = {"oomkillstep", "slurmdspecoverride"} & set(setting.items if setting else ())
    if setting and items and "cgroup" not in conf.plugins("TaskPlugin"):
        message = _("TaskPluginParam={word} needs task/cgroup", word=min(items))
        yield Problem(setting, message, "TaskPlugin=task/cgroup,task/affinity")


@rule(
    Severity.ERROR,
    "slurm.conf(5), SlurmdOffSpec",
    wrong="TaskPlugin=task/cgroup\nTaskPluginParam=SlurmdOffSpec,SlurmdSpecOverride",
    correct="TaskPlugin=task/cgroup\nTaskPluginParam=SlurmdSpecOverride",
)
def task_params_exclusive(conf: SlurmConf) -> Iterator[Problem]:
    """SlurmdOffSpec and SlurmdSpecOverride exclude each other: Slurm's daemons do not start with both."""
    setting = conf.line_of("TaskPluginParam")
    if setting and {"slurmdoffspec", "slurmdspecoverride"} <= set(setting.items):
        message = _("SlurmdOffSpec and SlurmdSpecOverride exclude each other")
        yield Problem(setting, message, "TaskPluginParam=SlurmdSpecOverride")


@rule(
    Severity.NOTE,
    "slurm.conf(5), ProctrackType",
    wrong="ProctrackType=proctrack/pgid",
    correct="ProctrackType=proctrack/cgroup",
)
def proctrack_loses_processes(conf: SlurmConf) -> Iterator[Problem]:
    """ProctrackType=proctrack/cgroup; pgid and linuxproc can lose processes of a job, which then survive it."""
    setting = conf.line_of("ProctrackType")
    name = conf.plugin("ProctrackType", "")
    if (
        setting
        and name in ("pgid", "linuxproc")
        and conf.get("CgroupPlugin", "cgroup.conf").lower() != "disabled"
        and not _needs_cgroup_tracking(conf)
    ):
        message = _("{value} can lose processes of a job, which then survive it", value=setting.value)
        yield Problem(setting, message, "ProctrackType=proctrack/cgroup")


def _needs_cgroup_tracking(conf: SlurmConf) -> bool:
    """Return whether another rule finds that ProctrackType must be proctrack/cgroup."""
    flags = set(conf.items("PrologFlags"))
    return bool(flags & {"contain", "x11"})
