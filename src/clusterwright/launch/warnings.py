"""Warn at submission about Slurm settings of the cluster that harm a training."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clusterwright.i18n import _

# `scontrol show config` of every release checked (22.05 to 26.05): NAME = VALUE, padded.
_LINE = re.compile(r"^(\w+)\s+= (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\d+")

# Slurm's default is 300 s; `apply` renders 60 s, and up to twice that is treated as intended.
LONGEST_NODE_TIMEOUT_S = 120
SHORTEST_KILL_WAIT_S = 30  # Slurm's default; saving tens of gigabytes takes about as long
LONGEST_CREDENTIAL_S = 60
CREDENTIAL_S = 120  # slurm.conf(5), AuthInfo: default of cred_expire
SCHED_INTERVAL_S = 60  # slurm.conf(5), SchedulerParameters: sched_interval
SLURM_CONF = "slurm.conf"


@dataclass(frozen=True, slots=True)
class Warned:
    """A harmful Slurm setting: its name, its value, its effect on a training, and the fix."""

    setting: str
    value: str
    costs: str
    fix: str

    def __str__(self) -> str:
        values = {"setting": self.setting, "value": self.value, "effect": self.costs, "fix": self.fix}
        return _("warning: {setting} is {value}: {effect}\n  fix: {fix}", **values)


Settings = Mapping[str, str]
Reading = Callable[[Settings], Warned | None]


def warnings(text: str) -> tuple[Warned, ...]:
    """Return warnings about the output of `scontrol show config`; one warning if it is empty."""
    settings = {name: value.strip() for name, value in _LINE.findall(text)}
    if not settings:
        costs = _("the settings that decide how soon a training continues after a failure are unknown")
        return (Warned("scontrol show config", _("empty"), costs, _("run the command on the control host")),)
    return tuple(warning for reading in _READINGS if (warning := reading(settings)))


def _node_timeout(settings: Settings) -> Warned | None:
    seconds = _seconds(settings, "SlurmdTimeout")
    if seconds is None or 0 < seconds <= LONGEST_NODE_TIMEOUT_S:
        return None
    if seconds:
        costs = _("a training that loses all its hosts continues only after {seconds} s", seconds=seconds)
    else:
        costs = _("a training that loses all its hosts never continues")
    fix = _("set `slurm.node_timeout: 60s` in the cluster file, then run wright apply")
    return Warned("SlurmdTimeout", f"{seconds} s", costs, fix)


def _kill_wait(settings: Settings) -> Warned | None:
    seconds = _seconds(settings, "KillWait")
    if seconds is None or seconds >= SHORTEST_KILL_WAIT_S:
        return None
    return Warned(
        "KillWait",
        f"{seconds} s",
        _("a preempted or canceled job has {seconds} s to save; later progress is lost", seconds=seconds),
        _("set `slurm.kill_wait: 30s` or more in the cluster file; for preemption also `grace:` of its qos"),
    )


def _process_tracking(settings: Settings) -> Warned | None:
    plugin = settings.get("ProctrackType", "proctrack/cgroup")
    if plugin == "proctrack/cgroup":
        return None
    return Warned(
        "ProctrackType",
        plugin,
        _("Slurm does not track daemonized processes; those of a killed agent may hold GPUs after the job"),
        _("set ProctrackType=proctrack/cgroup in {file}, as wright apply renders it", file=SLURM_CONF),
    )


def _health(settings: Settings) -> Warned | None:
    seconds = _seconds(settings, "HealthCheckInterval")
    if seconds is None or (seconds > 0 and settings.get("HealthCheckProgram") != "(null)"):
        return None
    return Warned(
        "HealthCheckInterval",
        _("{seconds} s, but HealthCheckProgram is not set", seconds=seconds) if seconds else "0 s",
        _(
            "hosts are not checked between jobs; a successor may get the host on which its job has just failed"
        ),
        _("set `slurm.health: true` in the cluster file, then run wright apply"),
    )


def _credential(settings: Settings) -> Warned | None:
    match = re.search(r"cred_expire=(\d+)", settings.get("AuthInfo", ""))
    seconds = int(match[1]) if match else CREDENTIAL_S
    if seconds <= LONGEST_CREDENTIAL_S:
        return None
    # 173 s were measured (docs/decisions/0001-first-light.md).
    return Warned(
        "AuthInfo cred_expire",
        f"{seconds} s",
        _(
            "`scontrol requeue` delays a job by at least {seconds} s; our successor jobs do not wait",
            seconds=seconds + 1,
        ),
        _("set AuthInfo=cred_expire=60 in {file}, as wright apply renders it", file=SLURM_CONF),
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
        "defer",
        _(
            "a successor job is not scheduled at submission, but in the next cycle (up to {every} s later)",
            every=every,
        ),
        _(
            "remove `defer` in {file}, or use standby hosts: `recovery: {{on_host_loss: spare, spare_nodes: 1}}`",
            file=SLURM_CONF,
        ),
    )


def _return_to_service(settings: Settings) -> Warned | None:
    if settings.get("ReturnToService", "2") != "0":
        return None
    return Warned(
        "ReturnToService",
        "0",
        _("a lost host stays down until an administrator resumes it, so the training cannot use it again"),
        _("set ReturnToService=2 in {file}, as wright apply renders it", file=SLURM_CONF),
    )


def _suspension(settings: Settings) -> Warned | None:
    modes = settings.get("PreemptMode", "OFF").upper().split(",")
    if "SUSPEND" not in modes:
        return None
    return Warned(
        "PreemptMode",
        settings["PreemptMode"],
        _(
            "a suspended job keeps its memory, and after it resumes its hosts detect each other as lost and restart "
            "the ranks"
        ),
        _(
            "set `preempt_mode: cancel` for its qos in the cluster file: the run saves, and its successor continues"
        ),
    )


_READINGS: tuple[Reading, ...] = (
    _node_timeout, _kill_wait, _process_tracking, _health, _return_to_service, _deferred, _suspension, _credential,
)  # fmt: skip


def _seconds(settings: Settings, name: str) -> int | None:
    """Return the number at the beginning of a setting of Slurm such as `60 sec`; None if it is not set or has none."""
    match = _NUMBER.match(settings.get(name, ""))
    return int(match[0]) if match else None
