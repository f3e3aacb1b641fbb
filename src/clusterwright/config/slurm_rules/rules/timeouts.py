"""Timeouts: their ranges, and those that must be longer than others. In seconds."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, remove, rule
from clusterwright.i18n import _

_MOST_S = 65533  # slurm.conf(5): 16 bits without the values for "not set" and "infinite"
_KEYS = (
    "SlurmdTimeout",
    "SlurmctldTimeout",
    "KillWait",
    "InactiveLimit",
    "BatchStartTimeout",
    "MessageTimeout",
)
_MESSAGE_S = 10  # MessageTimeout's default


@rule(
    Severity.ERROR,
    "slurm.conf(5), SlurmdTimeout",
    wrong="SlurmdTimeout=86400",
    correct="SlurmdTimeout=3600",
)
def timeout_too_long(conf: SlurmConf) -> Iterator[Problem]:
    """Timeouts are at most 65533 seconds: Slurm's daemons do not start with more than 16 bits hold."""
    for key in (*_KEYS, "UnkillableStepTimeout", "TreeWidth", "PrologEpilogTimeout"):
        setting = conf.line_of(key)
        if setting and conf.number(key, 0) > _MOST_S:
            message = _("{key}={value} exceeds {most}", key=key, value=setting.value, most=_MOST_S)
            yield Problem(setting, message, f"{key}={_MOST_S}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), UnkillableStepTimeout",
    wrong="MessageTimeout=30\nUnkillableStepTimeout=60",
    correct="MessageTimeout=30\nUnkillableStepTimeout=180",
)
def unkillable_timeout_short(conf: SlurmConf) -> Iterator[Problem]:
    """UnkillableStepTimeout is at least five times MessageTimeout; with less, nodes drain without need."""
    setting, message_s = conf.line_of("UnkillableStepTimeout"), conf.number("MessageTimeout", _MESSAGE_S)
    value = conf.number("UnkillableStepTimeout", 0)
    if setting and value < 5 * message_s:
        message = _(
            "{value} s is less than five times MessageTimeout={message}", value=value, message=message_s
        )
        yield Problem(setting, message, f"UnkillableStepTimeout={max(60, 5 * message_s)}")


@rule(
    Severity.WARNING,
    "slurm.conf(5), MessageTimeout",
    wrong="MessageTimeout=300",
    correct="MessageTimeout=60",
)
def message_timeout_long(conf: SlurmConf) -> Iterator[Problem]:
    """MessageTimeout is at most 100 seconds; slurmctld logs that more defeats its fault tolerance."""
    setting = conf.line_of("MessageTimeout")
    if setting and 100 < conf.number("MessageTimeout", 0) <= _MOST_S:
        yield Problem(
            setting, _("MessageTimeout={value} exceeds 100", value=setting.value), "MessageTimeout=60"
        )


@rule(
    Severity.WARNING,
    "slurm.conf(5), SlurmdTimeout",
    wrong="SlurmdTimeout=20\nMessageTimeout=30",
    correct="SlurmdTimeout=300\nMessageTimeout=30",
)
def slurmd_timeout_short(conf: SlurmConf) -> Iterator[Problem]:
    """SlurmdTimeout is longer than MessageTimeout; otherwise a node is down before its slurmd may have answered."""
    setting, message_s = conf.line_of("SlurmdTimeout"), conf.number("MessageTimeout", _MESSAGE_S)
    value = conf.number("SlurmdTimeout", 300)
    if setting and 0 < value <= message_s:
        message = _(
            "SlurmdTimeout={value} is not longer than MessageTimeout={message}",
            value=value,
            message=message_s,
        )
        yield Problem(setting, message, f"SlurmdTimeout={max(300, 3 * message_s)}")


@rule(
    Severity.NOTE,
    "slurm.conf(5), SlurmdTimeout",
    wrong="SlurmdTimeout=0",
    correct="SlurmdTimeout=300",
)
def slurmd_timeout_off(conf: SlurmConf) -> Iterator[Problem]:
    """SlurmdTimeout is not 0; with 0 slurmctld never sets a node down that stops responding."""
    setting = conf.line_of("SlurmdTimeout")
    if setting and setting.value == "0":
        yield Problem(
            setting, _("slurmctld never sets a node down that stops responding"), "SlurmdTimeout=300"
        )


@rule(
    Severity.WARNING,
    "slurm.conf(5), MinJobAge",
    wrong="MinJobAge=0",
    correct="MinJobAge=300",
)
def min_job_age_low(conf: SlurmConf) -> Iterator[Problem]:
    """MinJobAge is at least 2; with 0 slurmctld purges no job record, and 1 has races."""
    setting = conf.line_of("MinJobAge")
    if setting and setting.value in ("0", "1"):
        message = _(
            "MinJobAge={value}: job records stay until MaxJobCount, or races occur", value=setting.value
        )
        yield Problem(setting, message, "MinJobAge=300")


@rule(
    Severity.WARNING,
    "slurm.conf(5), BatchStartTimeout",
    wrong="Prolog=/etc/slurm/prolog\nPrologTimeout=120\nBatchStartTimeout=60",
    correct="Prolog=/etc/slurm/prolog\nPrologTimeout=120\nBatchStartTimeout=180",
)
def batch_start_before_prolog(conf: SlurmConf) -> Iterator[Problem]:
    """BatchStartTimeout is longer than PrologTimeout; otherwise a job with a slow prolog counts as lost."""
    limit, start = conf.number("PrologTimeout", 0), conf.number("BatchStartTimeout", 10)
    location = conf.line_of("BatchStartTimeout") or conf.line_of("PrologTimeout")
    if location and limit and conf.line_of("Prolog") and start <= limit and not conf.has_unread:
        message = _("BatchStartTimeout is {start} s, but PrologTimeout {limit} s", start=start, limit=limit)
        yield Problem(location, message, f"BatchStartTimeout={limit + 60}")


@rule(
    Severity.NOTE,
    "slurm.conf(5), OverTimeLimit",
    wrong="OverTimeLimit=UNLIMITED",
    correct="OverTimeLimit=10",
)
def over_time_unlimited(conf: SlurmConf) -> Iterator[Problem]:
    """OverTimeLimit is a number of minutes; with UNLIMITED no job ends at its time limit."""
    setting = conf.line_of("OverTimeLimit")
    if setting and setting.value.lower() in ("unlimited", "infinite"):
        yield Problem(setting, _("Slurm ends no job at its time limit"), remove(setting))


@rule(
    Severity.NOTE,
    "slurm.conf(5), ReturnToService",
    wrong="ReturnToService=0",
    correct="ReturnToService=2",
)
def down_nodes_stay_down(conf: SlurmConf) -> Iterator[Problem]:
    """ReturnToService is 1 or 2; with 0, the default, a down node stays down until an administrator resumes it."""
    setting = conf.line_of("ReturnToService")
    if (setting and setting.value == "0") or (conf.is_complete and not setting):
        message = _("a node that was down stays down until an administrator resumes it")
        yield Problem(setting or conf.top("ReturnToService"), message, "ReturnToService=2")
