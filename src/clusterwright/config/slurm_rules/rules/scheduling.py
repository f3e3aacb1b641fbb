"""Scheduling: preemption, priority, backfill and job arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf, minutes
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_DBD = "AccountingStorageType=accounting_storage/slurmdbd"
_WEIGHTS = ("Age", "Assoc", "Fairshare", "JobSize", "Partition", "QOS", "TRES")
_BACKFILL_MIN = 1440  # minutes: the default of bf_window
_QOS = "PreemptType=preempt/qos\nPreemptMode=REQUEUE"


def _modes(conf: SlurmConf) -> tuple[str, ...]:
    """Return the words of PreemptMode that preempt: without GANG, WITHIN and PRIORITY."""
    return tuple(
        item for item in conf.items("PreemptMode") if item not in ("gang", "within", "priority", "off")
    )


def _has_type(conf: SlurmConf) -> bool:
    return conf.plugin("PreemptType", "none") != "none"


@rule(
    Severity.ERROR,
    "slurm.conf(5), PreemptMode",
    wrong="PreemptMode=REQUEUE",
    correct=_QOS,
)
def preempt_mode_without_type(conf: SlurmConf) -> Iterator[Problem]:
    """PreemptMode other than OFF and GANG has a PreemptType: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("PreemptMode")
    if setting and _modes(conf) and not _has_type(conf) and not conf.has_unread:
        message = _("PreemptMode={value}, but no PreemptType", value=setting.value)
        yield Problem(setting, message, "PreemptType=preempt/partition_prio")


@rule(
    Severity.ERROR,
    "slurm.conf(5), PreemptType",
    wrong="PreemptType=preempt/partition_prio",
    correct="PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE",
)
def preempt_type_without_mode(conf: SlurmConf) -> Iterator[Problem]:
    """PreemptType has a PreemptMode other than OFF: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("PreemptType")
    if (
        setting
        and conf.plugin("PreemptType", "none") in ("qos", "partition_prio")
        and not _modes(conf)
        and not conf.has_unread
    ):
        yield Problem(
            setting, _("{value}, but PreemptMode is OFF", value=setting.value), "PreemptMode=REQUEUE"
        )


@rule(
    Severity.ERROR,
    "slurm.conf(5), PreemptMode",
    wrong="PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND",
    correct="PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG",
)
def suspend_without_gang(conf: SlurmConf) -> Iterator[Problem]:
    """PreemptMode=SUSPEND has GANG, which resumes jobs: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("PreemptMode")
    if setting and setting.items == ("suspend",):
        yield Problem(setting, _("SUSPEND needs GANG, which resumes the jobs"), "PreemptMode=SUSPEND,GANG")


@rule(
    Severity.WARNING,
    "gres.html, Running Jobs",
    wrong="PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4",
    correct="PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nGresTypes=gpu\nNodeName=n1 Gres=gpu:4",
)
def suspended_gpus_unavailable(conf: SlurmConf) -> Iterator[Problem]:
    """Jobs with GPUs are preempted by REQUEUE or CANCEL: a suspended job keeps its GPUs, so that no other gets them."""
    setting = conf.line_of("PreemptMode")
    if setting and "suspend" in setting.items and len(setting.items) > 1 and conf.gpu_nodes:
        yield Problem(
            setting, _("a suspended job keeps its GPUs, and no other job gets them"), "PreemptMode=REQUEUE"
        )


@rule(
    Severity.WARNING,
    "slurm.conf(5), PriorityTier",
    wrong="PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nNodeName=n1\n"
    "PartitionName=a Nodes=n1\nPartitionName=b Nodes=n1",
    correct="PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nNodeName=n1\n"
    "PartitionName=a Nodes=n1 PriorityTier=10\nPartitionName=b Nodes=n1",
)
def preempt_same_tier(conf: SlurmConf) -> Iterator[Problem]:
    """With preempt/partition_prio and no GANG, partitions have different PriorityTier; equal ones preempt nothing."""
    setting = conf.line_of("PreemptType")
    tiers = {partition.get("PriorityTier", "Priority") or "1" for partition in conf.partitions}
    if (
        setting
        and conf.plugin("PreemptType", "") == "partition_prio"
        and len(tiers) == 1
        and not conf.has_unread
        and _modes(conf)
        and "gang" not in conf.items("PreemptMode")
    ):
        former = conf.partitions[0].name
        message = _("all partitions have the same PriorityTier: no job preempts another")
        yield Problem(setting, message, f"PartitionName={former} PriorityTier=10")


@rule(
    Severity.WARNING,
    "slurm.conf(5), PreemptMode of PartitionName",
    wrong="PartitionName=p Nodes=n1 PreemptMode=REQUEUE",
    correct="PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
    "PartitionName=p Nodes=n1 PreemptMode=REQUEUE\nPartitionName=q Nodes=n1 PriorityTier=2",
)
def partition_preempt_mode_unused(conf: SlurmConf) -> Iterator[Problem]:
    """PreemptMode of a partition needs preempt/partition_prio; it has no effect otherwise."""
    for partition in conf.partitions if not conf.has_unread else ():
        mode = partition.get("PreemptMode").lower()
        if mode not in ("", "off") and conf.plugin("PreemptType", "none") != "partition_prio":
            message = _("PreemptMode of a partition has no effect without preempt/partition_prio")
            yield Problem(partition, message, "PreemptType=preempt/partition_prio")
            return


@rule(
    Severity.NOTE,
    "slurm.conf(5), GraceTime",
    wrong="PartitionName=p Nodes=n1 GraceTime=60",
    correct="PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
    "PartitionName=p Nodes=n1 GraceTime=60\nPartitionName=q Nodes=n1 PriorityTier=2",
)
def grace_time_unused(conf: SlurmConf) -> Iterator[Problem]:
    """GraceTime of a partition needs preempt/partition_prio; it has no effect otherwise."""
    for partition in conf.partitions if not conf.has_unread else ():
        if partition.count("GraceTime") and conf.plugin("PreemptType", "none") != "partition_prio":
            message = _("GraceTime has no effect without preempt/partition_prio")
            yield Problem(partition, message, "PreemptType=preempt/partition_prio")
            return


@rule(
    Severity.WARNING,
    "slurm.conf(5), PriorityWeightAge",
    wrong="PriorityType=priority/multifactor",
    correct="PriorityType=priority/multifactor\nPriorityWeightAge=1000",
)
def priority_weights_zero(conf: SlurmConf) -> Iterator[Problem]:
    """priority/multifactor has a weight; all defaults are 0, so that jobs run in the order of their submission."""
    setting = conf.line_of("PriorityType")
    weights = [conf.get(f"PriorityWeight{factor}") for factor in _WEIGHTS]
    is_set = any(weight not in ("", "0") for weight in weights) or conf.get("PrioritySiteFactorPlugin")
    if setting and conf.plugin("PriorityType", "") == "multifactor" and not is_set and not conf.has_unread:
        message = _("all PriorityWeight... are 0: jobs run in the order of their submission")
        yield Problem(setting, message, "PriorityWeightAge=1000")


@rule(
    Severity.WARNING,
    "slurm.conf(5), PriorityWeightAge",
    wrong="PriorityType=priority/basic\nPriorityWeightAge=1000",
    correct="PriorityType=priority/multifactor\nPriorityWeightAge=1000",
)
def priority_weights_unused(conf: SlurmConf) -> Iterator[Problem]:
    """Weights of priority need priority/multifactor; priority/basic ignores them."""
    for factor in _WEIGHTS:
        setting = conf.line_of(f"PriorityWeight{factor}")
        if setting and setting.value != "0" and conf.plugin("PriorityType", "multifactor") == "basic":
            message = _("priority/basic ignores {key}", key=setting.key)
            yield Problem(setting, message, "PriorityType=priority/multifactor")
            return


@rule(
    Severity.WARNING,
    "slurm.conf(5), PriorityWeightAge",
    wrong=f"{_DBD}\nPriorityWeightAge=4000000000\nPriorityWeightFairshare=1000000000",
    correct=f"{_DBD}\nPriorityWeightAge=4000000\nPriorityWeightFairshare=1000000",
)
def priority_weights_overflow(conf: SlurmConf) -> Iterator[Problem]:
    """The weights of priority sum to less than 2^32, the largest priority; otherwise it may overflow."""
    numbers = {f: conf.number(f"PriorityWeight{f}", 0) for f in _WEIGHTS[:-1]}
    largest = conf.line_of(f"PriorityWeight{max(numbers, key=lambda factor: numbers[factor])}")
    if largest and sum(numbers.values()) > 0xFFFFFFFF:
        message = _("the weights sum to {sum}, more than a priority can be", sum=sum(numbers.values()))
        yield Problem(largest, message, f"{largest.key}=1000000")


@rule(
    Severity.WARNING,
    "slurm.conf(5), PriorityWeightFairshare",
    wrong="PriorityType=priority/multifactor\nPriorityWeightFairshare=1000",
    correct=f"{_DBD}\nPriorityType=priority/multifactor\nPriorityWeightFairshare=1000",
)
def fairshare_without_dbd(conf: SlurmConf) -> Iterator[Problem]:
    """PriorityWeightFairshare needs slurmdbd, which has shares and usage."""
    setting = conf.line_of("PriorityWeightFairshare")
    if (
        setting
        and setting.value != "0"
        and conf.plugin("AccountingStorageType", "none") == "none"
        and conf.plugin("PriorityType", "multifactor") == "multifactor"
        and not conf.has_unread
    ):
        yield Problem(setting, _("fair share has no effect without slurmdbd"), _DBD)


@rule(
    Severity.WARNING,
    "slurm.conf(5), PriorityWeightTRES",
    wrong=f"{_DBD}\nPriorityWeightTRES=CPU=1000,GRES/gpu=3000",
    correct=f"{_DBD}\nAccountingStorageTRES=gres/gpu\nPriorityWeightTRES=CPU=1000,GRES/gpu=3000",
)
def tres_weight_untracked(conf: SlurmConf) -> Iterator[Problem]:
    """PriorityWeightTRES names GRES of AccountingStorageTRES; the weight of others has no effect."""
    setting, tracked = conf.line_of("PriorityWeightTRES"), conf.items("AccountingStorageTRES")
    for item in setting.items if setting and not conf.has_unread else ():
        name = item.partition("=")[0]
        if setting and name.startswith(("gres/", "license/")) and name not in tracked:
            message = _("AccountingStorageTRES lacks {name}: the weight has no effect", name=name)
            yield Problem(setting, message, f"AccountingStorageTRES={','.join((*tracked, name))}")


@rule(
    Severity.ERROR,
    "slurm.conf(5), PriorityDecayHalfLife",
    wrong="PriorityDecayHalfLife=0",
    correct="PriorityDecayHalfLife=0\nPriorityUsageResetPeriod=MONTHLY",
)
def usage_never_decays(conf: SlurmConf) -> Iterator[Problem]:
    """Usage decays, or PriorityUsageResetPeriod resets it: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("PriorityDecayHalfLife")
    if setting and minutes(setting.value) == 0 and not conf.line_of("PriorityUsageResetPeriod"):
        yield Problem(setting, _("usage neither decays nor is reset"), "PriorityUsageResetPeriod=MONTHLY")


@rule(
    Severity.NOTE,
    "slurm.conf(5), bf_window of SchedulerParameters",
    wrong="PartitionName=p Nodes=n1 MaxTime=7-00:00:00",
    correct="SchedulerParameters=bf_window=10080,bf_resolution=180\nPartitionName=p Nodes=n1 MaxTime=7-00:00:00",
)
def backfill_window_short(conf: SlurmConf) -> Iterator[Problem]:
    """bf_window, by default a day, covers the longest MaxTime; otherwise backfill can starve large jobs."""
    match = re.search(r"bf_window=(\d{1,9})", conf.get("SchedulerParameters").lower())
    window = int(match[1]) if match else _BACKFILL_MIN
    limits = [(minutes(partition.get("MaxTime")) or 0, partition) for partition in conf.partitions]
    longest, partition = max(limits, key=lambda limit: limit[0], default=(0, None))
    if (
        partition
        and longest > window
        and conf.plugin("SchedulerType", "backfill") == "backfill"
        and not conf.has_unread
        and longest < 43200
    ):
        message = _(
            "backfill plans {window} minutes ahead, but jobs run up to {longest}",
            window=window,
            longest=longest,
        )
        fix = f"SchedulerParameters=bf_window={longest},bf_resolution={max(60, longest // 60)}"
        yield Problem(conf.line_of("SchedulerParameters") or partition, message, fix)


@rule(
    Severity.WARNING,
    "slurm.conf(5), SchedulerType",
    wrong="SchedulerType=sched/builtin\nSchedulerParameters=bf_continue",
    correct="SchedulerType=sched/backfill\nSchedulerParameters=bf_continue",
)
def backfill_parameters_unused(conf: SlurmConf) -> Iterator[Problem]:
    """SchedulerParameters that start with bf_ need sched/backfill; sched/builtin ignores them."""
    setting = conf.line_of("SchedulerParameters")
    items = [item for item in setting.items if item.startswith("bf_")] if setting else []
    if setting and items and conf.plugin("SchedulerType", "backfill") == "builtin":
        yield Problem(
            setting, _("sched/builtin ignores {word}", word=items[0]), "SchedulerType=sched/backfill"
        )


@rule(
    Severity.ERROR,
    "slurm.conf(5), MaxArraySize",
    wrong="MaxArraySize=5000000\nMaxJobCount=9000000",
    correct="MaxArraySize=4000001\nMaxJobCount=9000000",
)
def array_too_large(conf: SlurmConf) -> Iterator[Problem]:
    """MaxArraySize is at most 4000001: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("MaxArraySize")
    if setting and conf.number("MaxArraySize", 0) > 4000001:
        message = _("{key}={value} exceeds {most}", key="MaxArraySize", value=setting.value, most=4000001)
        yield Problem(setting, message, "MaxArraySize=4000001")


@rule(
    Severity.WARNING,
    "slurm.conf(5), MaxArraySize",
    wrong="MaxArraySize=50001",
    correct="MaxArraySize=50001\nMaxJobCount=500000",
)
def array_above_job_count(conf: SlurmConf) -> Iterator[Problem]:
    """MaxJobCount, by default 10000, is larger than MaxArraySize: each task of an array counts as a job."""
    setting, jobs = conf.line_of("MaxArraySize"), conf.number("MaxJobCount", 10000)
    size = conf.number("MaxArraySize", 1001)
    if setting and jobs < size <= 4000001:
        message = _("an array of {size} tasks exceeds MaxJobCount={jobs}", size=size - 1, jobs=jobs)
        yield Problem(setting, message, f"MaxJobCount={10 * size}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), SchedulerTimeSlice",
    wrong="SchedulerTimeSlice=2",
    correct="SchedulerTimeSlice=30",
)
def time_slice_short(conf: SlurmConf) -> Iterator[Problem]:
    """SchedulerTimeSlice is at least 5 seconds; Slurm replaces less by its default, 30."""
    setting = conf.line_of("SchedulerTimeSlice")
    if setting and conf.number("SchedulerTimeSlice", 30) < 5:
        yield Problem(setting, _("Slurm replaces less than 5 seconds by 30"), "SchedulerTimeSlice=30")


@rule(
    Severity.ERROR,
    "slurm.conf(5), EnforcePartLimits",
    wrong="EnforcePartLimits=TRUE",
    correct="EnforcePartLimits=ALL",
)
def enforce_part_limits_invalid(conf: SlurmConf) -> Iterator[Problem]:
    """EnforcePartLimits is ALL, ANY or NO, or the older YES: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("EnforcePartLimits")
    if setting and setting.value.lower() not in ("all", "any", "no", "yes"):
        message = _("EnforcePartLimits={value} is unknown", value=setting.value)
        yield Problem(setting, message, "EnforcePartLimits=ALL")


@rule(
    Severity.NOTE,
    "slurm.conf(5), MpiDefault",
    wrong="MpiDefault=openmpi",
    correct="MpiDefault=pmix",
)
def mpi_default_old(conf: SlurmConf) -> Iterator[Problem]:
    """MpiDefault is pmix or pmi2, or not set; openmpi means the same as none."""
    setting = conf.line_of("MpiDefault")
    if setting and setting.value.lower() == "openmpi":
        yield Problem(setting, _("openmpi means none: srun starts MPI ranks without PMI"), "MpiDefault=pmix")
