"""Prolog, epilog, health check and other programs that Slurm starts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clusterwright.config.slurm_rules.conf import Setting, SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

ON_NODES = (
    "Prolog",
    "Epilog",
    "TaskProlog",
    "TaskEpilog",
    "HealthCheckProgram",
    "UnkillableStepProgram",
    "RebootProgram",
)
ON_CONTROLLERS = (
    "PrologSlurmctld",
    "EpilogSlurmctld",
    "SuspendProgram",
    "ResumeProgram",
    "ResumeFailProgram",
    "MailProg",
)
_FLAGS = ("alloc", "contain", "deferbatch", "nohold", "forcerequeueonfail", "runinjob", "serial", "x11")


def programs(conf: SlurmConf, keys: Iterable[str] = (*ON_NODES, *ON_CONTROLLERS)) -> Iterator[Setting]:
    """Yield the lines that name programs; a PowerAction is no program."""
    actions = {action.name for action in conf.entries_of("PowerAction")}
    for key in keys:
        for setting in conf.settings.get("slurm.conf", {}).get(key.lower(), ()):
            if setting.value and setting.value not in actions:
                yield setting


@rule(
    Severity.ERROR,
    "slurm.conf(5), FILE AND DIRECTORY PERMISSIONS",
    wrong="Prolog=/etc/slurm/prolog\n--- programs\n/etc/slurm/prolog missing",
    correct="Prolog=/etc/slurm/prolog",
)
def program_missing(conf: SlurmConf) -> Iterator[Problem]:
    """A program that Slurm starts exists; a missing prolog drains the node of each job."""
    for setting in programs(conf):
        if conf.programs.get(setting.value) == "missing":
            message = _("{path} does not exist", path=setting.value)
            yield Problem(setting, message, f"install -m 755 {setting.key.lower()} {setting.value}")


@rule(
    Severity.ERROR,
    "slurm.conf(5), FILE AND DIRECTORY PERMISSIONS",
    wrong="Epilog=/etc/slurm/epilog\n--- programs\n/etc/slurm/epilog not executable",
    correct="Epilog=/etc/slurm/epilog",
)
def program_not_executable(conf: SlurmConf) -> Iterator[Problem]:
    """A program that Slurm starts is executable; a prolog that is not drains the node of each job."""
    for setting in programs(conf):
        if conf.programs.get(setting.value) == "not executable":
            message = _("{path} is not executable", path=setting.value)
            yield Problem(setting, message, f"chmod 755 {setting.value}")


@rule(
    Severity.ERROR,
    "slurm.conf(5), PrologFlags",
    wrong="PrologFlags=Alloc,Defer",
    correct="PrologFlags=Alloc,DeferBatch",
)
def prolog_flag_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """Each word of PrologFlags is in the manual: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("PrologFlags")
    for item in setting.items if setting else ():
        if setting and item not in _FLAGS:
            yield Problem(
                setting, _("PrologFlags has no word {word}", word=item), "PrologFlags=Alloc,Contain"
            )


@rule(
    Severity.ERROR,
    "slurm.conf(5), NoHold of PrologFlags",
    wrong="ProctrackType=proctrack/cgroup\nPrologFlags=NoHold,Contain",
    correct="ProctrackType=proctrack/cgroup\nPrologFlags=Contain",
)
def prolog_nohold_contain(conf: SlurmConf) -> Iterator[Problem]:
    """NoHold is not combined with Contain or X11: Slurm's daemons do not start with both."""
    setting = conf.line_of("PrologFlags")
    if setting and "nohold" in setting.items and {"contain", "x11", "runinjob"} & set(setting.items):
        yield Problem(setting, _("NoHold and Contain or X11 exclude each other"), "PrologFlags=Contain")


@rule(
    Severity.ERROR,
    "slurm.conf(5), Serial of PrologFlags",
    wrong="ProctrackType=proctrack/cgroup\nPrologFlags=Serial,RunInJob",
    correct="ProctrackType=proctrack/cgroup\nPrologFlags=RunInJob",
)
def prolog_serial_in_job(conf: SlurmConf) -> Iterator[Problem]:
    """Serial and RunInJob exclude each other."""
    setting = conf.line_of("PrologFlags")
    if setting and {"serial", "runinjob"} <= set(setting.items):
        yield Problem(setting, _("Serial and RunInJob exclude each other"), "PrologFlags=RunInJob")


@rule(
    Severity.ERROR,
    "slurm.conf(5), X11 of PrologFlags",
    wrong="ProctrackType=proctrack/linuxproc\nPrologFlags=X11",
    correct="ProctrackType=proctrack/cgroup\nPrologFlags=X11",
)
def x11_with_linuxproc(conf: SlurmConf) -> Iterator[Problem]:
    """X11 forwarding needs another ProctrackType than linuxproc: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("PrologFlags")
    if setting and "x11" in setting.items and conf.plugin("ProctrackType", "") == "linuxproc":
        yield Problem(
            setting, _("X11 cannot be used with proctrack/linuxproc"), "ProctrackType=proctrack/cgroup"
        )


@rule(
    Severity.WARNING,
    "slurm.conf(5), Contain of PrologFlags",
    wrong="ProctrackType=proctrack/linuxproc\nPrologFlags=Contain",
    correct="ProctrackType=proctrack/cgroup\nPrologFlags=Contain",
)
def contain_without_cgroup(conf: SlurmConf) -> Iterator[Problem]:
    """Contain, for pam_slurm_adopt, needs proctrack/cgroup; slurmctld logs an error otherwise."""
    setting, name = conf.line_of("PrologFlags"), conf.plugin("ProctrackType", "cgroup")
    if (
        setting
        and name != "cgroup"
        and {"contain", "x11"} & set(setting.items)
        and not ("x11" in setting.items and name == "linuxproc")
    ):
        message = _("pam_slurm_adopt needs proctrack/cgroup, not proctrack/{name}", name=name)
        yield Problem(setting, message, "ProctrackType=proctrack/cgroup")


@rule(
    Severity.ERROR,
    "slurm.conf(5), JobContainerType",
    wrong="NamespaceType=namespace/tmpfs",
    correct="NamespaceType=namespace/tmpfs\nPrologFlags=Contain",
)
def namespace_without_contain(conf: SlurmConf) -> Iterator[Problem]:
    """Private /tmp folders of jobs need PrologFlags=Contain: Slurm's daemons do not start otherwise."""
    for key in ("NamespaceType", "JobContainerType"):
        setting = conf.line_of(key)
        if (
            setting
            and "none" not in setting.value.lower()
            and not conf.has_unread
            and not {"contain", "x11", "runinjob"} & set(conf.items("PrologFlags"))
        ):
            message = _("{value} needs PrologFlags=Contain", value=setting.value)
            yield Problem(setting, message, ",".join(["PrologFlags=Contain", *conf.items("PrologFlags")]))


@rule(
    Severity.ERROR,
    "slurm.conf(5), enable_stepmgr of SlurmctldParameters",
    wrong="SlurmctldParameters=enable_stepmgr",
    correct="SlurmctldParameters=enable_stepmgr\nPrologFlags=Contain",
)
def stepmgr_without_contain(conf: SlurmConf) -> Iterator[Problem]:
    """enable_stepmgr needs PrologFlags=Contain: slurmctld does not start otherwise."""
    setting = conf.line_of("SlurmctldParameters")
    if (
        setting
        and "enable_stepmgr" in setting.items
        and not {"contain", "x11", "runinjob"} & set(conf.items("PrologFlags"))
    ):
        yield Problem(setting, _("enable_stepmgr needs PrologFlags=Contain"), "PrologFlags=Contain")


@rule(
    Severity.WARNING,
    "slurm.conf(5), HealthCheckInterval",
    wrong="HealthCheckProgram=/usr/sbin/nhc",
    correct="HealthCheckProgram=/usr/sbin/nhc\nHealthCheckInterval=300",
)
def health_check_never(conf: SlurmConf) -> Iterator[Problem]:
    """HealthCheckProgram has a HealthCheckInterval; its default, 0, never runs the program."""
    setting = conf.line_of("HealthCheckProgram")
    at_events = {"start_only", "reboot_only"} & set(conf.items("HealthCheckNodeState"))
    if setting and not at_events and not conf.number("HealthCheckInterval", 0) and not conf.has_unread:
        message = _("HealthCheckInterval is 0: the program does not run periodically")
        yield Problem(setting, message, "HealthCheckInterval=300")


@rule(
    Severity.WARNING,
    "slurm.conf(5), HealthCheckProgram",
    wrong="HealthCheckInterval=300",
    correct="HealthCheckInterval=300\nHealthCheckProgram=/usr/sbin/nhc",
)
def health_check_nothing(conf: SlurmConf) -> Iterator[Problem]:
    """HealthCheckInterval has a HealthCheckProgram; without one there is nothing to run."""
    setting = conf.line_of("HealthCheckInterval")
    if (
        setting
        and conf.number("HealthCheckInterval", 0)
        and not conf.line_of("HealthCheckProgram")
        and not conf.has_unread
    ):
        yield Problem(setting, _("there is no HealthCheckProgram"), "HealthCheckProgram=/usr/sbin/nhc")


@rule(
    Severity.ERROR,
    "slurm.conf(5), HealthCheckNodeState",
    wrong="HealthCheckProgram=/usr/sbin/nhc\nHealthCheckInterval=300\nHealthCheckNodeState=START_ONLY,IDLE",
    correct="HealthCheckProgram=/usr/sbin/nhc\nHealthCheckInterval=300\nHealthCheckNodeState=IDLE",
)
def health_state_combined(conf: SlurmConf) -> Iterator[Problem]:
    """START_ONLY and REBOOT_ONLY stand alone in HealthCheckNodeState: Slurm's daemons do not start otherwise."""
    setting = conf.line_of("HealthCheckNodeState")
    if setting and len(setting.items) > 1 and {"start_only", "reboot_only"} & set(setting.items):
        message = _("{value}: START_ONLY and REBOOT_ONLY stand alone", value=setting.value)
        yield Problem(setting, message, "HealthCheckNodeState=IDLE")


@rule(
    Severity.WARNING,
    "slurm.conf(5), HealthCheckProgram",
    wrong="HealthCheckProgram=nhc\nHealthCheckInterval=300",
    correct="HealthCheckProgram=/usr/sbin/nhc\nHealthCheckInterval=300",
)
def program_path_relative(conf: SlurmConf) -> Iterator[Problem]:
    """HealthCheckProgram and UnkillableStepProgram are absolute paths."""
    for key in ("HealthCheckProgram", "UnkillableStepProgram"):
        setting = conf.line_of(key)
        if setting and setting.value and not setting.value.startswith("/"):
            message = _("{key} is not an absolute path", key=f"{key}={setting.value}")
            yield Problem(setting, message, f"{key}=/usr/sbin/{setting.value}")


@rule(
    Severity.NOTE,
    "slurm.conf(5), PropagateResourceLimits",
    wrong="PropagateResourceLimits=ALL\nPropagateResourceLimitsExcept=MEMLOCK",
    correct="PropagateResourceLimitsExcept=MEMLOCK",
)
def propagation_conflict(conf: SlurmConf) -> Iterator[Problem]:
    """PropagateResourceLimits or PropagateResourceLimitsExcept is set; Slurm ignores the former beside the latter."""
    setting = conf.line_of("PropagateResourceLimits")
    if setting and conf.line_of("PropagateResourceLimitsExcept"):
        former, second = "PropagateResourceLimitsExcept", "PropagateResourceLimits"
        yield Problem(
            setting, _("Slurm ignores {second} beside {first}", first=former, second=second), remove(setting)
        )
