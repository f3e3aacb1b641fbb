"""Explain limits of QOS and associations: which limit, how much of it is used, and what request it allows."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.diagnose.pending.capacity import need
from clusterwright.diagnose.pending.changes import admin, holders, quoted, starts, update
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, StartCommand, Waiting
from clusterwright.i18n import N_, _
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.records import Record, amount, length, seconds
from clusterwright.units import MiB, human_duration, human_number, human_size

_TOKEN = re.compile(
    r"(?P<of>QOS|Assoc(?:iation)?)?(?P<kind>Grp|Max|Min)?"
    r"(?P<what>Submit|Wall|Time|Jobs?|Cpu|CPU|GRES|Gres|Mem(?:ory)?|Node|Billing|Energy|License|Resource)"
    r".*?(?P<run>(?:Run)?Minutes)?(?P<per>PerUser|PerJob|PerAccount|PerNode)?(?:Limit|NotSatisfied)?"
)
_RESOURCES = {
    "cpu": "cpu", "gres": "gres/gpu", "mem": "mem", "memory": "mem", "node": "node", "billing": "billing",
    "license": "license", "energy": "energy",
}  # fmt: skip
_UNITS = {
    "cpu": N_("CPUs"), "gres/gpu": N_("GPUs"), "mem": N_("host memory"), "node": N_("nodes"),
    "jobs": N_("running jobs"), "time": N_("run time"), "billing": N_("billing units"),
    "license": N_("licenses"), "energy": N_("energy in joules"),
}  # fmt: skip
_SCOPES = {  # text, and prefix and suffix of Slurm's field
    "Grp": (N_("all jobs under the limit together"), "Grp", ""),
    "PerUser": (N_("each user"), "Max", "PU"),
    "PerAccount": (N_("each account"), "Max", "PA"),
    "PerNode": (N_("each node of a job"), "Max", "PN"),
    "PerJob": (N_("each job"), "Max", "PJ"),
    "Min": (N_("each job"), "Min", "PJ"),
}
_COUNTING = frozenset({"Grp", "PerUser", "PerAccount"})  # scopes of limits over several jobs


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: who sets it, the jobs that it counts, the resource, the limit and the use (memory in MiB)."""

    entity: str  # qos or assoc
    scope: str
    resource: str  # jobs, time, or a trackable resource
    entity_name: str
    most: float  # -1 where it is not known
    used: float
    command: str  # command that sets it, without the value
    line: str


@reason(r"(QOS|Assoc)\w*|Max(Cpu|GRES|Gres|Mem|Memory|Node|Jobs?)PerAccount.*")
def limit(facts: Facts) -> Waiting | None:
    """Explain that a limit of a QOS or an association is reached: by which jobs, and what request it allows.

    None if the job's reason is not that of such a limit.
    """
    token = facts.job["Reason"]
    match = _TOKEN.fullmatch(token)
    if not match:
        return None
    bound = _limit(facts, match)
    requested, counts = requested_amount(facts, bound.resource), bound.scope in _COUNTING
    change = _smaller(facts, bound, requested) or _other_qos(facts, bound) or _raise(bound, requested)
    return Waiting(
        f"{bound.entity}-{bound.resource.rpartition('/')[2]}-{bound.scope.lower()}",
        _cause(bound, requested),
        starts(facts, _("when jobs that count against the limit end")) if counts else _(NOT_BY_ITSELF),
        change if bound.most >= 0 else None,
        holders(_counted(facts, bound)) if counts else (),
        (("scontrol show assoc_mgr", bound.line),) if bound.most >= 0 else (),
    )


def _cause(bound: Limit, requested: float) -> str:
    """Return a text with the limit, its use, and what the job requests."""
    owner = (
        _("Association {name}", name=bound.entity_name)
        if bound.entity == "assoc"
        else _("QOS {name}", name=bound.entity_name)
    )
    values = {"owner": owner, "resource": _(_UNITS[bound.resource]), "scope": _(_SCOPES[bound.scope][0])}
    if bound.most < 0:
        return _(
            "{owner} limits {resource} for {scope}; the limit is not known: accounting did not report it.",
            **values,
        )
    most, used, request = (
        _amount_text(bound.resource, value) for value in (bound.most, bound.used, requested)
    )
    values |= {"limit": most, "requested": request}
    if bound.scope == "Min":
        return _(
            "{owner} sets a minimum of {limit} for {scope} ({resource}); the job requests {requested}.",
            **values,
        )
    if bound.scope in _COUNTING:
        return _(
            "{owner} limits {resource} to {limit} for {scope}; {used} in use, and the job requests {requested}.",
            used=used,
            **values,
        )
    return _("{owner} limits {resource} to {limit} for {scope}; the job requests {requested}.", **values)


def _limit(facts: Facts, match: re.Match[str]) -> Limit:
    """Return the limit that the job's reason names, with its value and use, from the QOS or association that sets it.

    `match` is the reason, matched by `_TOKEN`.
    """
    resource = match["what"].lower()
    kind, per = match["kind"] or "Max", match["per"]
    scope = "Grp" if kind == "Grp" else "Min" if kind == "Min" else per or "PerJob"
    entity = "assoc" if (match["of"] or "QOS").startswith("Assoc") else "qos"
    if resource in {"job", "jobs", "submit"}:
        scope = scope if kind == "Grp" or entity == "qos" else "PerUser"
        return _first_exceeded(facts, entity, scope, "jobs")
    if resource in {"wall", "time"}:
        return _first_exceeded(facts, entity, "PerJob" if kind != "Grp" else "Grp", "time")
    return _first_exceeded(facts, entity, scope, _RESOURCES.get(resource, "cpu"))


def _first_exceeded(facts: Facts, entity: str, scope: str, resource: str) -> Limit:
    """Return the first limit that the job would exceed; else the first known one; else the nearest one."""
    limits = [_read(setting, entity, scope, resource) for setting in _places(facts, entity, scope, resource)]
    requested = requested_amount(facts, resource)
    full = [bound for bound in limits if bound.most >= 0 and _passes(bound, requested)]
    return (full or [bound for bound in limits if bound.most >= 0] or limits)[0]


def _passes(bound: Limit, requested: float) -> bool:
    if bound.scope == "Min":
        return requested < bound.most
    return requested + (bound.used if bound.scope in _COUNTING else 0) > bound.most


def _places(facts: Facts, entity: str, scope: str, resource: str) -> list[tuple[str, Record, str, str]]:
    """Return the records that may set the limit: owner's name, record, field, and sacctmgr command that changes it.

    For `assoc` those of the job's associations, else the QOS of its partition before its own; an empty record if none
    is known.
    """
    stem, suffix = _SCOPES[scope][1:]
    measure = {"jobs": "Jobs", "time": "Wall"}.get(resource, "TRES")
    field = f"{stem}{measure}{suffix}"
    if resource == "time" and stem == "Max":
        field = "MaxWallPJ"
    if entity == "assoc":
        field = field.replace("JobsPU", "Jobs")
        return [
            (_association_name(association), association, field, _modify(association, field))
            for association in facts.associations
        ] or [
            (
                facts.job["Account"],
                Record({}),
                field,
                f"sacctmgr -i modify account {facts.job['Account']} set {field}",
            )
        ]
    names = [name for name in (facts.partition["QoS"], facts.job["QOS"]) if name]
    return [
        (
            name,
            _qos_record(facts, name, scope),
            field,
            f"sacctmgr -i modify qos {quoted(name)} set {_set(field)}",
        )
        for name in names or [""]
    ]


def _qos_record(facts: Facts, name: str, scope: str) -> Record:
    if scope == "PerUser":
        return facts.per_user(name)
    if scope == "PerAccount":
        return facts.per_account(name)
    return facts.qos.get(name, Record({}))


def _set(field: str) -> str:
    """Return the name by which sacctmgr sets a limit that `scontrol show assoc_mgr` prints as `field`."""
    return {"MaxWallPJ": "MaxWall", "MaxTRESPJ": "MaxTRES", "MinTRESPJ": "MinTRES"}.get(field, field)


def _association_name(association: Record) -> str:
    user = association["UserName"].partition("(")[0]
    return f"{association['Account']}/{user}" if user else association["Account"]


def _modify(association: Record, field: str) -> str:
    user = association["UserName"].partition("(")[0]
    target = (
        f"user {quoted(user)} where account={quoted(association['Account'])}"
        if user
        else f"account {quoted(association['Account'])}"
    )
    return f"sacctmgr -i modify {target} set {_set(field)}"


def _read(setting: tuple[str, Record, str, str], entity: str, scope: str, resource: str) -> Limit:
    entity_name, record, field, change = setting
    text = record[field]
    if resource not in {"jobs", "time"}:
        text = next(
            (part.partition("=")[2] for part in text.split(",") if part.partition("=")[0] == resource), ""
        )
        change = f"{change}={resource}"
    most, used = re.match(r"([^(]*)", text), re.search(r"\(([\d.]+)\)", text)
    value = most[1] if most else ""
    number = -1.0 if value in {"", "N"} else amount(value)
    if resource == "time" and number >= 0:
        number = number * 60 if value.isdigit() else float(seconds(value) or 0)
    return Limit(
        entity,
        scope,
        resource,
        entity_name,
        number,
        amount(used[1]) if used else 0.0,
        change,
        f"{entity_name}: {field}={record[field]}",
    )


def requested_amount(facts: Facts, resource: str) -> float:
    """Return how much of a resource the job requests; time in seconds, 1 for `jobs`, 0 if the job has none of it."""
    if resource == "jobs":
        return 1
    if resource == "time":
        return float(seconds(facts.job["TimeLimit"]) or 0)
    return facts.job.tres("TRES").get(resource, 0.0)


def _command_value(resource: str, value: float) -> str:
    return length(int(value)) if resource == "time" else f"{value:.0f}"


def _amount_text(resource: str, value: float) -> str:
    if resource == "time":
        return human_duration(value)
    return human_size(value * MiB) if resource == "mem" else human_number(round(value))


def _counted(facts: Facts, bound: Limit) -> list[Job]:
    """Return the running jobs that count against the limit: those of its association, or of its QOS.

    Of a QOS only the user's or the account's if the limit is one per user or per account.
    """
    jobs = [job for job in facts.running if bound.entity == "assoc" or job.qos == bound.entity_name]
    if bound.entity == "assoc":
        account, _, user = bound.entity_name.partition("/")
        return [job for job in jobs if job.account == account and user in {"", job.user}]
    if bound.scope == "PerUser":
        return [job for job in jobs if job.user == facts.user]
    if bound.scope == "PerAccount":
        return [job for job in jobs if job.account == facts.job["Account"]]
    return jobs


def _smaller(facts: Facts, bound: Limit, requested: float) -> StartCommand | None:
    """Return the command for a smaller request that the limit allows.

    None if the limit is unknown, a minimum, of jobs, used up or not exceeded, or if the request has another form.
    """
    headroom = int(bound.most - (bound.used if bound.scope in _COUNTING else 0))
    if (
        bound.resource == "jobs"
        or bound.scope == "Min"
        or headroom <= 0
        or headroom >= requested
        or bound.most < 0
    ):
        return None
    description = _("request what the limit allows")
    request = need(facts.job)
    if bound.resource == "time":
        return update(facts, f"TimeLimit={length(headroom)}", description)
    if bound.resource == "node":
        return update(facts, f"NumNodes={headroom}-{headroom}", description)
    per_node = headroom if bound.scope == "PerNode" else headroom // request.nodes
    if bound.resource == "gres/gpu" and per_node and facts.job["TresPerNode"]:
        kind = f"{request.gpu_type}:" if request.gpu_type else ""
        return update(facts, f"TresPerNode=gres:gpu:{kind}{per_node}", description)
    if bound.resource == "cpu" and request.nodes == 1 and facts.job.number("CPUs/Task") <= 1:
        return update(facts, f"NumCPUs={headroom} NumTasks={headroom}", description)
    if bound.resource == "mem" and facts.job["MinMemoryNode"] and per_node:
        return update(facts, f"MinMemoryNode={per_node}", description)
    return None


def _other_qos(facts: Facts, bound: Limit) -> StartCommand | None:
    alternatives = [name for name in facts.allowed_qos if name != facts.job["QOS"]]
    if bound.entity != "qos" or not alternatives or bound.entity_name == facts.partition["QoS"]:
        return None
    return update(facts, f"QOS={quoted(alternatives[0])}", _("use another QOS"))


def _raise(bound: Limit, requested: float) -> StartCommand:
    """Return the sacctmgr command with which an administrator sets the limit to what the job needs.

    That is its request, with the present use of a limit that counts jobs together; a minimum is lowered.
    """
    value = requested + (bound.used if bound.scope in _COUNTING else 0)
    description = _("lower the limit") if bound.scope == "Min" else _("raise the limit")
    return admin(f"{bound.command}={_command_value(bound.resource, value)}", description)
