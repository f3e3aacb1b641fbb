"""Accounts, users and QOS of slurmdbd as teams, users and QOS of the cluster file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from clusterwright.adopt.account_tables import ROOT, AccountRecord, AccountRecords
from clusterwright.adopt.lines import LeftOut, is_option, is_valid
from clusterwright.config.names import AccountName, SlurmName
from clusterwright.config.people import FIRST_ID, LAST_ID
from clusterwright.config.slurm_rules.conf import minutes, parse_number
from clusterwright.i18n import _
from clusterwright.slurm.account_settings import ASSOCIATION_SETTINGS, INHERITED
from clusterwright.units import MINUTE_S, format_duration

GPU = "gres/gpu"
NORMAL = "normal"
_MOST = 1_000_000  # of priorities and shares in a cluster file
_QOS_DEFAULTS = {
    "Priority": "0",
    "GraceTime": "00:00:00",
    "PreemptMode": "cluster",
    "UsageFactor": "1.000000",
}
_GPU_FIELDS = (
    ("GrpTRES", "max_gpus"),
    ("MaxTRESPerUser", "max_gpus_per_user"),
    ("MaxTRESPerJob", "max_gpus_per_job"),
)
_ACCOUNT_NAME: TypeAdapter[str] = TypeAdapter(AccountName)
_QOS_NAME: TypeAdapter[str] = TypeAdapter(SlurmName)


@dataclass(frozen=True, slots=True)
class UnixIds:
    """Ids that all examined hosts agree on: (uid, primary gid) by user, and gid by group."""

    users: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)


def account_sections(records: AccountRecords, ids: UnixIds, left_out: list[LeftOut]) -> dict[str, Any]:
    """Return the sections qos, teams and users of a cluster file, without empty ones, from accounting records.

    What they cannot hold is added to `left_out`.
    """
    left_out += records.left_out
    qos = dict(_qos_sections(records, left_out))
    teams = dict(_teams(records, left_out))
    users = dict(_users(records, teams, ids, left_out))
    _member_settings(records, teams, users, left_out)
    for user in users.values():
        if "uid" in user:
            teams[user["team"]]["gid"] = ids.groups[user["team"]]
    sections = {"qos": qos, "teams": teams, "users": users}
    return {name: section for name, section in sections.items() if section}


def is_slurm_name(name: str) -> bool:
    """Return True if a cluster file can have the name, as that of a QOS or a reservation."""
    return is_valid(_QOS_NAME, name)


def _unfit(kind: str, name: str, record: AccountRecord) -> LeftOut:
    reason = _("the cluster file does not accept this name")
    return LeftOut(record.file, record.line, f"{kind} {name}", reason)


def _qos_sections(records: AccountRecords, left_out: list[LeftOut]) -> Iterator[tuple[str, dict[str, Any]]]:
    names = {name for name in records.qos if is_valid(_QOS_NAME, name) and name == name.lower()}
    for name, record in records.qos.items():
        if name not in names:
            left_out.append(_unfit("qos", name, record))
            continue
        section = _qos(dict(record.values), names | {NORMAL})
        _check_options(f"qos {name}", section, record, left_out)
        if section or name != NORMAL:
            yield name, section


def _qos(options: dict[str, str], names: set[str]) -> dict[str, Any]:
    options.pop("Name", None)
    for key, value in _QOS_DEFAULTS.items():
        if options.get(key, "").lower() == value:
            del options[key]
    section = _numbers(options)
    preempts = sorted(filter(None, options.get("Preempt", "").split(",")))
    if preempts and names.issuperset(preempts):
        section["preempts"] = preempts
        del options["Preempt"]
    if options.get("PreemptMode", "").lower() in ("requeue", "cancel"):
        section["preempt_mode"] = options.pop("PreemptMode").lower()
    if (grace := _seconds(options.get("GraceTime", ""))) > 0:
        section["grace"] = format_duration(grace)
        del options["GraceTime"]
    return {**section, **({"options": options} if options else {})}


def _numbers(options: dict[str, str]) -> dict[str, Any]:
    """Return a QOS's settings that fields of a cluster file hold, as these fields, and remove them from `options`."""
    section: dict[str, Any] = {}
    if 0 < parse_number(options.get("Priority", "")) <= _MOST:
        section["priority"] = parse_number(options.pop("Priority"))
    if (limit := minutes(options.get("MaxWall", ""))) is not None and limit > 0:
        section["max_time"] = format_duration(limit * MINUTE_S)
        del options["MaxWall"]
    for setting, name in _GPU_FIELDS:
        if (gpus := _pop_gpus(options, setting)) is not None:
            section[name] = gpus
    if options.get("MaxJobsPerUser", "").isdigit() and int(options["MaxJobsPerUser"]) <= _MOST:
        section["max_jobs_per_user"] = int(options.pop("MaxJobsPerUser"))
    return section


def _seconds(text: str) -> int:
    """Return the seconds of [D-]HH:MM:SS; 0 for another text."""
    days, _dash, clock = text.rpartition("-")
    parts = clock.split(":")
    if len(parts) != len("HMS") or not all(part.isdigit() for part in (*parts, days or "0")):
        return 0
    hours, mins, seconds = map(int, parts)
    return int(days or 0) * 86400 + hours * 3600 + mins * MINUTE_S + seconds


def _pop_gpus(options: dict[str, str], setting: str) -> int | None:
    """Remove the number of GPUs from a setting of several TRES and return it; None without one."""
    pairs = dict(item.split("=", 1) for item in options.get(setting, "").split(",") if "=" in item)
    number = pairs.get(GPU, "")
    if not number.isdigit() or len(number) > len(str(_MOST)):
        return None
    del pairs[GPU]
    if pairs:
        options[setting] = ",".join(f"{tres}={limit}" for tres, limit in pairs.items())
    else:
        del options[setting]
    return int(number)


def _check_options(
    subject: str, section: dict[str, Any], record: AccountRecord, left_out: list[LeftOut]
) -> None:
    """Move the options of a section that a cluster file cannot hold to `left_out`, and remove empty options."""
    options = section.get("options", {})
    for key in [key for key, value in options.items() if not is_option(value)]:
        text = f"{subject}: {key}={options.pop(key)}"
        reason = _("the value cannot be an option of the cluster file")
        left_out.append(LeftOut(record.file, record.line, text, reason))
    if not options:
        section.pop("options", None)


def _settings(record: AccountRecord, above: AccountRecord | None) -> dict[str, str]:
    """Return the settings of an association without those that it inherits from the account `above` it."""
    inherited = above.values if above else {}
    return {
        key: value
        for key, value in record.values.items()
        if key in ASSOCIATION_SETTINGS and not (key in INHERITED and inherited.get(key) == value)
    }


def _teams(records: AccountRecords, left_out: list[LeftOut]) -> Iterator[tuple[str, dict[str, Any]]]:
    accounts = records.accounts
    names = {name for name in accounts if name != ROOT and is_valid(_ACCOUNT_NAME, name)}
    for name, record in accounts.items():
        parent = record.values.get("ParentName", "")
        if name == ROOT:
            left_out += _root_settings(record)
            continue
        if name not in names:
            left_out.append(_unfit("account", name, record))
            continue
        options = _settings(record, accounts.get(parent or ROOT))
        section: dict[str, Any] = {}
        if parent in names:
            section["parent"] = parent
        elif parent not in ("", ROOT):
            reason = _("the cluster file does not accept this name")
            left_out.append(LeftOut(record.file, record.line, f"account {name}: Parent={parent}", reason))
        if options.get("Fairshare", "").isdigit() and int(options["Fairshare"]) <= _MOST:
            section["shares"] = int(options.pop("Fairshare"))
        if (gpus := _pop_gpus(options, "GrpTRES")) is not None:
            section["max_gpus"] = gpus
        if options.get("GrpJobs", "").isdigit():
            section["max_jobs"] = int(options.pop("GrpJobs"))
        if options:
            section["options"] = options
        _check_options(f"account {name}", section, record, left_out)
        yield name, section


def _root_settings(record: AccountRecord) -> Iterator[LeftOut]:
    usual = {"Fairshare": "1", "QOS": NORMAL}
    reason = _("no field holds settings of the account root")
    for key, value in _settings(record, None).items():
        if usual.get(key) != value:
            yield LeftOut(record.file, record.line, f"account {ROOT}: {key}={value}", reason)


def _users(
    records: AccountRecords, teams: Mapping[str, Any], ids: UnixIds, left_out: list[LeftOut]
) -> Iterator[tuple[str, dict[str, Any]]]:
    accounts_by_user: dict[str, list[str]] = {}
    for user, account in records.members:
        accounts_by_user.setdefault(user, []).append(account)
    uids: set[int] = set()
    for name, accounts in accounts_by_user.items():
        record = records.users.get(name) or records.members[name, accounts[0]]
        default = records.users[name].values.get("DefaultAccount", "") if name in records.users else ""
        default = default or (accounts[0] if len(accounts) == 1 else "")
        if name == ROOT:
            continue
        left_out += [
            LeftOut(record.file, record.line, *row) for row in _unfit_user(name, accounts, default, teams)
        ]
        level = record.values.get("AdminLevel", "None")
        if level != "None":
            reason = _("the field `admin` of a user also permits sudo")
            left_out.append(LeftOut(record.file, record.line, f"user {name}: AdminLevel={level}", reason))
        if default not in teams or not is_valid(_ACCOUNT_NAME, name):
            continue
        section: dict[str, Any] = {"team": default}
        uid, gid = ids.users.get(name, (0, 0))
        is_of_team = ids.groups.get(default) == gid and all(FIRST_ID <= id_ <= LAST_ID for id_ in (uid, gid))
        if is_of_team and uid not in uids:
            uids.add(uid)
            section = {"uid": uid, **section}
        if additional_teams := [account for account in accounts if account in teams and account != default]:
            section["additional_teams"] = additional_teams
        yield name, section


def _unfit_user(
    name: str, accounts: list[str], default: str, teams: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield (text, reason) of what a user has and a cluster file cannot."""
    reason = _("the cluster file does not accept this name")
    if not is_valid(_ACCOUNT_NAME, name):
        yield f"user {name}", reason
    elif not default:
        yield f"user {name}", _("the default account of this user is not known")
    else:
        yield from (
            (f"user {name}: Account={account}", reason) for account in accounts if account not in teams
        )


def _member_settings(
    records: AccountRecords, teams: dict[str, Any], users: Mapping[str, Any], left_out: list[LeftOut]
) -> None:
    """Set the limit of GPUs that all members of a team have in common, as the team's `max_gpus_per_user`.

    Other settings of members are added to `left_out`, equal ones together.
    """
    settings = {
        (user, account): _settings(record, records.accounts.get(account))
        for (user, account), record in records.members.items()
        if user in users and account in teams
    }
    members: dict[str, list[dict[str, str]]] = {}
    for (_user, account), values in settings.items():
        members.setdefault(account, []).append(values)
    for account, rows in members.items():
        limits = {_pop_gpus(dict(values), "GrpTRES") for values in rows}
        if len(limits) == 1 and (limit := limits.pop()) is not None:
            teams[account]["max_gpus_per_user"] = limit
            for values in rows:
                _pop_gpus(values, "GrpTRES")
    users_by_text: dict[tuple[str, str], list[str]] = {}
    for (user, account), values in settings.items():
        for key, value in values.items():
            if (key, value) != ("Fairshare", "1"):
                users_by_text.setdefault((account, f"{key}={value}"), []).append(user)
    reason = _("no field holds settings of one member of a team")
    for (account, text), names in users_by_text.items():
        record = records.members[names[0], account]
        left_out.append(
            LeftOut(record.file, record.line, f"user {','.join(names)} of {account}: {text}", reason)
        )
