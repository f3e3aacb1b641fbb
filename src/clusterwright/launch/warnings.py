"""What a cluster's Slurm settings will cost a training, said when it is submitted; a pure reading of their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clusterwright.i18n import N_, _

# `scontrol show config`, in every release read (22.05 to 26.05): NAME = VALUE, padded.
_LINE = re.compile(r"^(\w+)\s+= (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")

# Slurm's own default is 300 s; what `apply` renders is 60 s, and twice that is taken for a choice.
LONGEST_NODE_TIMEOUT_S = 120
SHORTEST_KILL_WAIT_S = 30  # Slurm's own default; a save of tens of gigabytes takes about as long
LONGEST_CREDENTIAL_S = 60
CREDENTIAL_S = 120  # slurm.conf(5), AuthInfo: cred_expire without a value of its own
SCHED_INTERVAL_S = 60  # slurm.conf(5), SchedulerParameters: sched_interval
SLURM_CONF = "slurm.conf"


@dataclass(frozen=True, slots=True)
class Warned:
    """One setting that hurts: what it is, what it costs, and where it is fixed."""

    setting: str
    value: str
    costs: str
    fix: str

    def __str__(self) -> str:
        return f"warning: {self.setting} is {self.value}: {self.costs}\n  fix: {self.fix}"


Settings = Mapping[str, str]
Reading = Callable[[Settings], Warned | None]


def warnings(text: str) -> tuple[Warned, ...]:
    """What `scontrol show config` says that hurts a training; one line when it said nothing."""
    settings = {name: value.strip() for name, value in _LINE.findall(text)}
    if not settings:
        return (_UNREAD,)
    return tuple(warning for reading in _READINGS if (warning := reading(settings)))


_UNREAD = Warned(
    N_("scontrol show config"),
    "silent",
    N_("nothing is known of the settings that decide how soon a training goes on"),
    N_("run it on the control host"),
)


def _node_timeout(settings: Settings) -> Warned | None:
    seconds = _seconds(settings, "SlurmdTimeout")
    if seconds is None or 0 < seconds <= LONGEST_NODE_TIMEOUT_S:
        return None
    lasts = "never" if seconds == 0 else f"only after {seconds} s"
    return Warned(
        "SlurmdTimeout",
        f"{seconds} s",
        _(
            "a training that has lost every host of its job goes on {lasts}; others it survives by itself",
            lasts=lasts,
        ),
        _("`slurm.node_timeout: 60s` in the cluster file, then wright apply"),
    )


def _kill_wait(settings: Settings) -> Warned | None:
    seconds = _seconds(settings, "KillWait")
    if seconds is None or seconds >= SHORTEST_KILL_WAIT_S:
        return None
    return Warned(
        "KillWait",
        f"{seconds} s",
        _(
            "a job that is pushed aside or cancelled has {seconds} s to save; what is not saved "
            "by then is done again",
            seconds=seconds,
        ),
        _("`slurm.kill_wait: 30s` or more in the cluster file; for preemption also `grace:` of its qos"),
    )


def _process_tracking(settings: Settings) -> Warned | None:
    plugin = settings.get("ProctrackType", "proctrack/cgroup")
    if plugin == "proctrack/cgroup":
        return None
    return Warned(
        "ProctrackType",
        plugin,
        _(
            "Slurm does not find processes that left their parent; those of a killed agent may "
            "hold GPUs after the job"
        ),
        _(
            "ProctrackType=proctrack/cgroup in {slurm_conf}, as wright apply renders it",
            slurm_conf=SLURM_CONF,
        ),
    )


def _health(settings: Settings) -> Warned | None:
    seconds = _seconds(settings, "HealthCheckInterval")
    if seconds is None or (seconds > 0 and settings.get("HealthCheckProgram") != "(null)"):
        return None
    return Warned(
        "HealthCheckInterval",
        _("{seconds} s without a program", seconds=seconds) if seconds else "0 s",
        _(
            "no host is looked at between jobs; a successor may be given the host that has just "
            "failed another job"
        ),
        _("`slurm.health: true` in the cluster file, then wright apply"),
    )


def _credential(settings: Settings) -> Warned | None:
    match = re.search(r"cred_expire=(\d+)", settings.get("AuthInfo", ""))
    seconds = int(match[1]) if match else CREDENTIAL_S
    if seconds <= LONGEST_CREDENTIAL_S:
        return None
    # 173 s at 120 and 24 s at 5 were measured on an idle host (docs/decisions/0005-endure.md).
    return Warned(
        _("AuthInfo cred_expire"),
        f"{seconds} s",
        _(
            "`scontrol requeue` holds a job for {seconds} s at least; successors of ours do not wait for it",
            seconds=seconds + 1,
        ),
        _("AuthInfo=cred_expire=60 in {slurm_conf}, as wright apply renders it", slurm_conf=SLURM_CONF),
    )


def _deferred(settings: Settings) -> Warned | None:
    parameters = settings.get("SchedulerParameters", "").split(",")
    if "defer" not in parameters:
        return None
    every = next(
        (parameter[15:] for parameter in parameters if parameter.startswith("sched_interval=")),
        str(SCHED_INTERVAL_S),
    )
    return Warned(
        "SchedulerParameters",
        _("with `defer`"),
        _(
            "a successor is not looked at when it is submitted; it may wait for the next round ({every} s)",
            every=every,
        ),
        _(
            "take `defer` out in {slurm_conf}, or hold spare hosts: `recovery: {{on_host_loss: "
            "spare, spare_nodes: 1}}`",
            slurm_conf=SLURM_CONF,
        ),
    )


def _return_to_service(settings: Settings) -> Warned | None:
    if settings.get("ReturnToService", "2") != "0":
        return None
    return Warned(
        "ReturnToService",
        "0",
        _("a host that was lost stays down until somebody resumes it; the training cannot grow back onto it"),
        _("ReturnToService=2 in {slurm_conf}, as wright apply renders it", slurm_conf=SLURM_CONF),
    )


def _suspension(settings: Settings) -> Warned | None:
    modes = settings.get("PreemptMode", "OFF").upper().split(",")
    if "SUSPEND" not in modes:
        return None
    return Warned(
        "PreemptMode",
        settings["PreemptMode"],
        _(
            "a job that is suspended holds its memory, and when it goes on its hosts take each "
            "other for lost: it begins a new generation"
        ),
        _("`preempt_mode: cancel` for its qos in the cluster file; the run saves, and its successor goes on"),
    )


_READINGS: tuple[Reading, ...] = (
    _node_timeout, _kill_wait, _process_tracking, _health, _return_to_service, _deferred, _suspension, _credential,
)  # fmt: skip


def _seconds(settings: Settings, name: str) -> int | None:
    """The number of `60 sec`; None where Slurm does not say."""
    match = _NUMBER.match(settings.get(name, ""))
    return int(match[0]) if match else None
