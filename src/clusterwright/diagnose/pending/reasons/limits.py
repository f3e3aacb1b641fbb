"""Limits of qualities of service and associations: whose, on what, how much of it is used, and what fits beneath."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.diagnose.pending.capacity import need
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import admin, holders, quoted, starts, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Change, Message, Waiting
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.records import Record, amount, length, seconds

_TOKEN = re.compile(
    r"(?P<of>QOS|Assoc(?:iation)?)?(?P<kind>Grp|Max|Min)?"
    r"(?P<what>Submit|Wall|Time|Jobs?|Cpu|CPU|GRES|Gres|Mem(?:ory)?|Node|Billing|Energy|License|Resource)"
    r".*?(?P<run>(?:Run)?Minutes)?(?P<per>PerUser|PerJob|PerAccount|PerNode)?(?:Limit|NotSatisfied)?"
)
_RESOURCES = {
    "cpu": ("cpu", "CPUs"), "gres": ("gres/gpu", "GPUs"), "mem": ("mem", "MiB of memory"),
    "memory": ("mem", "MiB of memory"), "node": ("node", "nodes"), "billing": ("billing", "billing units"),
    "license": ("license", "licenses"), "energy": ("energy", "joules"),
}  # fmt: skip
_ZH = {
    "CPUs": "CPU 数", "GPUs": "GPU 数", "MiB of memory": "内存 (MiB)", "nodes": "节点数", "jobs": "作业数",
    "time": "运行时间", "billing units": "计费单位", "licenses": "许可数", "joules": "能耗 (J)",
}  # fmt: skip
_SCOPES = {  # in words, and the beginning and the end of the field's name
    "Grp": ("all its jobs together", "所有作业合计", "Grp", ""),
    "PerUser": ("one user's jobs", "每个用户的作业", "Max", "PU"),
    "PerAccount": ("one account's jobs", "每个账户的作业", "Max", "PA"),
    "PerNode": ("one node of a job", "作业的每个节点", "Max", "PN"),
    "PerJob": ("one job", "每个作业", "Max", "PJ"),
    "Min": ("one job, at least", "每个作业至少", "Min", "PJ"),
}
_COUNTING = frozenset({"Grp", "PerUser", "PerAccount"})  # over several jobs


_WHEN_JOBS_END = Message("when jobs that count against it end", "计入该限额的作业结束时")


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: what sets it, the scope it counts over, what it counts, the most of it and what is used."""

    entity: str  # qos or assoc
    scope: str
    resource: str  # jobs, time, or a trackable resource
    unit: str
    entity_name: str
    most: float
    used: float
    command: str  # that sets it, up to the value
    line: str


@reason(r"(QOS|Assoc)\w*|Max(Cpu|GRES|Gres|Mem|Memory|Node|Jobs?)PerAccount.*")
def limit(facts: Facts) -> Waiting | None:
    """Whose limit it is, who uses it up, and what fits."""
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
        starts(facts, _WHEN_JOBS_END) if counts else NOT_BY_ITSELF,
        change if bound.most >= 0 else None,
        holders(_counted(facts, bound)) if counts else (),
        (("scontrol show assoc_mgr", bound.line),) if bound.most >= 0 else (),
    )


def _cause(bound: Limit, requested: float) -> Message:
    """The limit, what is used of it, and what the job asks for."""
    entity_label = Message(f"QOS {bound.entity_name}", f"QOS {bound.entity_name}")
    if bound.entity == "assoc":
        entity_label = Message(f"association {bound.entity_name}", f"关联 {bound.entity_name}")
    scope, unit, unit_zh = _SCOPES[bound.scope], bound.unit, _ZH[bound.unit]
    most, used, requested_text = (
        _format_value(bound.resource, value) for value in (bound.most, bound.used, requested)
    )
    if bound.most < 0:
        return Message(
            f"{entity_label.en} limits {unit} for {scope[0]}; the limit "
            "itself is not seen: accounting did not tell it.",
            f"{entity_label.zh} 限制了{scope[1]}的{unit_zh}; 限额本身未能看到: 记账系统没有给出。",
        )
    in_use = f"; {used} are in use" if bound.scope in _COUNTING else ""
    in_use_zh = f"; 已用 {used}" if bound.scope in _COUNTING else ""
    return Message(
        f"{entity_label.en} allows {most} {unit} for {scope[0]}{in_use}, and the job asks for {requested_text}.",
        f"{entity_label.zh} 限定{scope[1]}的{unit_zh}为 {most}{in_use_zh}, 而该作业要求 {requested_text}。",
    )


def _limit(facts: Facts, match: re.Match[str]) -> Limit:
    """The limit that the reason names, read from the record that sets it."""
    resource = match["what"].lower()
    kind, per = match["kind"] or "Max", match["per"]
    scope = "Grp" if kind == "Grp" else "Min" if kind == "Min" else per or "PerJob"
    entity = "assoc" if (match["of"] or "QOS").startswith("Assoc") else "qos"
    if resource in {"job", "jobs", "submit"}:
        scope = scope if kind == "Grp" or entity == "qos" else "PerUser"
        return _first_exceeded(facts, entity, scope, "jobs", "jobs")
    if resource in {"wall", "time"}:
        return _first_exceeded(facts, entity, "PerJob" if kind != "Grp" else "Grp", "time", "time")
    return _first_exceeded(facts, entity, scope, *_RESOURCES.get(resource, ("cpu", "CPUs")))


def _first_exceeded(facts: Facts, entity: str, scope: str, resource: str, unit: str) -> Limit:
    """The first record of those that count whose limit the job would pass; the nearest if none is seen to."""
    limits = [
        _read(setting, entity, scope, resource, unit) for setting in _places(facts, entity, scope, resource)
    ]
    requested = requested_amount(facts, resource)
    full = [bound for bound in limits if bound.most >= 0 and _passes(bound, requested)]
    return (full or [bound for bound in limits if bound.most >= 0] or limits)[0]


def _passes(bound: Limit, requested: float) -> bool:
    if bound.scope == "Min":
        return requested < bound.most
    return requested + (bound.used if bound.scope in _COUNTING else 0) > bound.most


def _places(facts: Facts, entity: str, scope: str, resource: str) -> list[tuple[str, Record, str, str]]:
    """Records that may set it: whose, the record, the field, and the command that changes it."""
    stem, suffix = _SCOPES[scope][2:]
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
    """The name that sacctmgr has for a field of the association manager."""
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


def _read(setting: tuple[str, Record, str, str], entity: str, scope: str, resource: str, unit: str) -> Limit:
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
        unit,
        entity_name,
        number,
        amount(used[1]) if used else 0.0,
        change,
        f"{entity_name}: {field}={record[field]}",
    )


def requested_amount(facts: Facts, resource: str) -> float:
    """How much of it the job asks for."""
    if resource == "jobs":
        return 1
    if resource == "time":
        return float(seconds(facts.job["TimeLimit"]) or 0)
    return facts.job.tres("TRES").get(resource, 0.0)


def _format_value(resource: str, value: float) -> str:
    return length(int(value)) if resource == "time" else f"{value:.0f}"


def _counted(facts: Facts, bound: Limit) -> list[Job]:
    """Running jobs that count against it."""
    jobs = [job for job in facts.running if bound.entity == "assoc" or job.qos == bound.entity_name]
    if bound.entity == "assoc":
        account, _, user = bound.entity_name.partition("/")
        return [job for job in jobs if job.account == account and user in {"", job.user}]
    if bound.scope == "PerUser":
        return [job for job in jobs if job.user == facts.user]
    if bound.scope == "PerAccount":
        return [job for job in jobs if job.account == facts.job["Account"]]
    return jobs


def _smaller(facts: Facts, bound: Limit, requested: float) -> Change | None:
    """A smaller ask of the job's that the limit has room for."""
    headroom = int(bound.most - (bound.used if bound.scope in _COUNTING else 0))
    if (
        bound.resource == "jobs"
        or bound.scope == "Min"
        or headroom <= 0
        or headroom >= requested
        or bound.most < 0
    ):
        return None
    description = Message("ask for what it allows", "只要求限额之内的量")
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


def _other_qos(facts: Facts, bound: Limit) -> Change | None:
    alternatives = [name for name in facts.allowed_qos if name != facts.job["QOS"]]
    if bound.entity != "qos" or not alternatives or bound.entity_name == facts.partition["QoS"]:
        return None
    return update(
        facts, f"QOS={quoted(alternatives[0])}", Message("name another quality of service", "改用另一个 QOS")
    )


def _raise(bound: Limit, requested: float) -> Change:
    """The limit as it would have to be."""
    value = requested + (bound.used if bound.scope in _COUNTING else 0)
    description = Message("raise the limit" if bound.scope != "Min" else "lower the limit", "放宽该限额")
    return admin(f"{bound.command}={_format_value(bound.resource, value)}", description)
