"""Limits of qualities of service and associations: whose, on what, how much of it is used, and what fits beneath."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.fit import need
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import admin, holders, quoted, starts, update
from clusterwright.diagnose.pending.waiting import NOT_BY_ITSELF, Change, Waiting, Words
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


_AS_THEY_END = Words("when jobs that count against it end", "计入该限额的作业结束时")


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: what sets it, the scope it counts over, what it counts, the most of it and what is used."""

    of: str  # qos or assoc
    scope: str
    what: str  # jobs, time, or a trackable resource
    unit: str
    whose: str
    most: float
    used: float
    command: str  # that sets it, up to the value
    line: str


@reason(r"(QOS|Assoc)\w*|Max(Cpu|GRES|Gres|Mem|Memory|Node|Jobs?)PerAccount.*")
def limit(facts: Facts) -> Waiting | None:
    """Whose limit it is, who uses it up, and what fits."""
    token = facts.job["Reason"]
    found = _TOKEN.fullmatch(token)
    if not found:
        return None
    one = _limit(facts, found)
    asks, counts = asked(facts, one.what), one.scope in _COUNTING
    change = _smaller(facts, one, asks) or _other_qos(facts, one) or _raise(one, asks)
    return Waiting(
        f"{one.of}-{one.what.rpartition('/')[2]}-{one.scope.lower()}",
        _cause(one, asks),
        starts(facts, _AS_THEY_END) if counts else NOT_BY_ITSELF,
        change if one.most >= 0 else None,
        holders(_counted(facts, one)) if counts else (),
        (("scontrol show assoc_mgr", one.line),) if one.most >= 0 else (),
    )


def _cause(one: Limit, asks: float) -> Words:
    """The limit, what is used of it, and what the job asks for."""
    whose = Words(f"QOS {one.whose}", f"QOS {one.whose}")
    if one.of == "assoc":
        whose = Words(f"association {one.whose}", f"关联 {one.whose}")
    scope, unit, unit_zh = _SCOPES[one.scope], one.unit, _ZH[one.unit]
    most, used, wants = (_shown(one.what, value) for value in (one.most, one.used, asks))
    if one.most < 0:
        return Words(
            f"{whose.en} limits {unit} for {scope[0]}; the limit itself is not seen: accounting did not tell it.",
            f"{whose.zh} 限制了{scope[1]}的{unit_zh}; 限额本身未能看到: 记账系统没有给出。",
        )
    in_use = f"; {used} are in use" if one.scope in _COUNTING else ""
    in_use_zh = f"; 已用 {used}" if one.scope in _COUNTING else ""
    return Words(
        f"{whose.en} allows {most} {unit} for {scope[0]}{in_use}, and the job asks for {wants}.",
        f"{whose.zh} 限定{scope[1]}的{unit_zh}为 {most}{in_use_zh}, 而该作业要求 {wants}。",
    )


def _limit(facts: Facts, found: re.Match[str]) -> Limit:
    """The limit that the reason names, read from the record that sets it."""
    what = found["what"].lower()
    kind, per = found["kind"] or "Max", found["per"]
    scope = "Grp" if kind == "Grp" else "Min" if kind == "Min" else per or "PerJob"
    of = "assoc" if (found["of"] or "QOS").startswith("Assoc") else "qos"
    if what in {"job", "jobs", "submit"}:
        scope = scope if kind == "Grp" or of == "qos" else "PerUser"
        return _found(facts, of, scope, "jobs", "jobs")
    if what in {"wall", "time"}:
        return _found(facts, of, "PerJob" if kind != "Grp" else "Grp", "time", "time")
    return _found(facts, of, scope, *_RESOURCES.get(what, ("cpu", "CPUs")))


def _found(facts: Facts, of: str, scope: str, what: str, unit: str) -> Limit:
    """The first record of those that count whose limit the job would pass; the nearest if none is seen to."""
    limits = [_read(place, of, scope, what, unit) for place in _places(facts, of, scope, what)]
    asks = asked(facts, what)
    full = [one for one in limits if one.most >= 0 and _passes(one, asks)]
    return (full or [one for one in limits if one.most >= 0] or limits)[0]


def _passes(one: Limit, asks: float) -> bool:
    if one.scope == "Min":
        return asks < one.most
    return asks + (one.used if one.scope in _COUNTING else 0) > one.most


def _places(facts: Facts, of: str, scope: str, what: str) -> list[tuple[str, Record, str, str]]:
    """Records that may set it: whose, the record, the field, and the command that changes it."""
    stem, suffix = _SCOPES[scope][2:]
    thing = {"jobs": "Jobs", "time": "Wall"}.get(what, "TRES")
    field = f"{stem}{thing}{suffix}"
    if what == "time" and stem == "Max":
        field = "MaxWallPJ"
    if of == "assoc":
        field = field.replace("JobsPU", "Jobs")
        return [(_whose(one), one, field, _modify(one, field)) for one in facts.associations] or [
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


def _whose(one: Record) -> str:
    user = one["UserName"].partition("(")[0]
    return f"{one['Account']}/{user}" if user else one["Account"]


def _modify(one: Record, field: str) -> str:
    user = one["UserName"].partition("(")[0]
    who = (
        f"user {quoted(user)} where account={quoted(one['Account'])}"
        if user
        else f"account {quoted(one['Account'])}"
    )
    return f"sacctmgr -i modify {who} set {_set(field)}"


def _read(place: tuple[str, Record, str, str], of: str, scope: str, what: str, unit: str) -> Limit:
    whose, record, field, change = place
    text = record[field]
    if what not in {"jobs", "time"}:
        text = next(
            (part.partition("=")[2] for part in text.split(",") if part.partition("=")[0] == what), ""
        )
        change = f"{change}={what}"
    most, used = re.match(r"([^(]*)", text), re.search(r"\(([\d.]+)\)", text)
    said = most[1] if most else ""
    number = -1.0 if said in {"", "N"} else amount(said)
    if what == "time" and number >= 0:
        number = number * 60 if said.isdigit() else float(seconds(said) or 0)
    return Limit(
        of,
        scope,
        what,
        unit,
        whose,
        number,
        amount(used[1]) if used else 0.0,
        change,
        f"{whose}: {field}={record[field]}",
    )


def asked(facts: Facts, what: str) -> float:
    """How much of it the job asks for."""
    if what == "jobs":
        return 1
    if what == "time":
        return float(seconds(facts.job["TimeLimit"]) or 0)
    return facts.job.tres("TRES").get(what, 0.0)


def _shown(what: str, value: float) -> str:
    return length(int(value)) if what == "time" else f"{value:.0f}"


def _counted(facts: Facts, one: Limit) -> list[Job]:
    """Running jobs that count against it."""
    of_it = [job for job in facts.running if one.of == "assoc" or job.qos == one.whose]
    if one.of == "assoc":
        account, _, user = one.whose.partition("/")
        return [job for job in of_it if job.account == account and user in {"", job.user}]
    if one.scope == "PerUser":
        return [job for job in of_it if job.user == facts.user]
    if one.scope == "PerAccount":
        return [job for job in of_it if job.account == facts.job["Account"]]
    return of_it


def _smaller(facts: Facts, one: Limit, asks: float) -> Change | None:
    """A smaller ask of the job's that the limit has room for."""
    room = int(one.most - (one.used if one.scope in _COUNTING else 0))
    if one.what == "jobs" or one.scope == "Min" or room <= 0 or room >= asks or one.most < 0:
        return None
    says = Words("ask for what it allows", "只要求限额之内的量")
    wanted = need(facts.job)
    if one.what == "time":
        return update(facts, f"TimeLimit={length(room)}", says)
    if one.what == "node":
        return update(facts, f"NumNodes={room}-{room}", says)
    per_node = room if one.scope == "PerNode" else room // wanted.nodes
    if one.what == "gres/gpu" and per_node and facts.job["TresPerNode"]:
        kind = f"{wanted.gpu_type}:" if wanted.gpu_type else ""
        return update(facts, f"TresPerNode=gres:gpu:{kind}{per_node}", says)
    if one.what == "cpu" and wanted.nodes == 1 and facts.job.number("CPUs/Task") <= 1:
        return update(facts, f"NumCPUs={room} NumTasks={room}", says)
    if one.what == "mem" and facts.job["MinMemoryNode"] and per_node:
        return update(facts, f"MinMemoryNode={per_node}", says)
    return None


def _other_qos(facts: Facts, one: Limit) -> Change | None:
    others = [name for name in facts.allowed_qos if name != facts.job["QOS"]]
    if one.of != "qos" or not others or one.whose == facts.partition["QoS"]:
        return None
    return update(
        facts, f"QOS={quoted(others[0])}", Words("name another quality of service", "改用另一个 QOS")
    )


def _raise(one: Limit, asks: float) -> Change:
    """The limit as it would have to be."""
    value = asks + (one.used if one.scope in _COUNTING else 0)
    says = Words("raise the limit" if one.scope != "Min" else "lower the limit", "放宽该限额")
    return admin(f"{one.command}={_shown(one.what, value)}", says)
