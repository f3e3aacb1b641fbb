"""Tables and dumps of sacctmgr as records: QOS, accounts, users, and the associations of users with accounts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from clusterwright.adopt.lines import LeftOut
from clusterwright.i18n import _
from clusterwright.slurm.account_settings import ASSOCIATION_SETTINGS, QOS_SETTINGS
from clusterwright.slurm.records import split_lines

QOS, ASSOCIATIONS, USERS, DUMP = "qos", "associations", "users", "dump"  # names of the texts
ROOT = "root"
_NAMES = {
    "Name": (),
    "Cluster": (),
    "Account": (),
    "User": (),
    "Partition": (),
    "ParentName": ("Par Name",),
    "DefaultAccount": ("Def Acct",),
    "AdminLevel": ("Admin",),
}
_DUMP_LINE = re.compile(r"(Cluster|Parent|Account|User) - '([^']*)'(.*)")
_OF_PARENT = {"2147483647": "parent"}  # SLURMDB_FS_USE_PARENT: dumps have the number
_DUMP_SETTING = re.compile(r":(?=[A-Z][A-Za-z]*=)")


@dataclass(frozen=True, slots=True)
class AccountRecord:
    """A row of slurmdbd: its settings by sacctmgr's name, and the line of the text that has it."""

    values: Mapping[str, str]
    file: str
    line: int


@dataclass(slots=True)
class AccountRecords:
    """What slurmdbd has of a cluster: QOS, accounts and users by name, members by (user, account)."""

    qos: dict[str, AccountRecord] = field(default_factory=dict)
    accounts: dict[str, AccountRecord] = field(default_factory=dict)
    users: dict[str, AccountRecord] = field(default_factory=dict)
    members: dict[tuple[str, str], AccountRecord] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)


def parse_accounts(texts: Mapping[str, str], cluster: str) -> AccountRecords:
    """Return the accounting records of a cluster from `sacctmgr -P show qos`, `assoc` and `user`, by name.

    Accounts and members are from the text of `sacctmgr dump` if `assoc` has no account.
    """
    records = AccountRecords()
    for row in _rows(texts.get(QOS, ""), QOS, QOS_SETTINGS, records):
        records.qos[row.values.get("Name", "")] = row
    for row in _rows(texts.get(ASSOCIATIONS, ""), ASSOCIATIONS, ASSOCIATION_SETTINGS, records):
        if row.values.get("Cluster", cluster).lower() == cluster.lower():
            _add_association(row, records)
    if not records.accounts:
        _read_dump(texts.get(DUMP, ""), records)
    for row in _rows(texts.get(USERS, ""), USERS, {}, records):
        records.users[row.values.get("User", "")] = row
    records.qos.pop("", None)
    records.users.pop("", None)
    return records


def _add_association(row: AccountRecord, records: AccountRecords) -> None:
    account, user = row.values.get("Account", ""), row.values.get("User", "")
    if row.values.get("Partition"):
        text = f"user {user} of {account}: Partition={row.values['Partition']}"
        reason = _("a cluster file has no associations with a partition")
        records.left_out.append(LeftOut(row.file, row.line, text, reason))
    elif user:
        records.members[user, account] = row
    elif account:
        records.accounts[account] = row


def _rows(
    text: str, name: str, settings: Mapping[str, tuple[str, ...]], records: AccountRecords
) -> Iterator[AccountRecord]:
    """Yield each line of the table `name` as a record; the first line has the headings, blank lines are skipped.

    A text whose first line has no known heading yields nothing and is added to `left_out` of the records.
    """
    headings: list[str] = []
    canonical = _spellings(settings)
    for number, line in enumerate(split_lines(text), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if not headings:
            headings = [canonical.get(cell.lower(), "") for cell in cells]
            if len(cells) < len(("name", "setting")) or not any(headings):
                reason = _("the text is no table with | between its columns, as option -P of sacctmgr prints")
                records.left_out.append(LeftOut(name, number, line[:80], reason))
                return
            continue
        pairs = zip(headings, cells, strict=False)
        yield AccountRecord({key: cell for key, cell in pairs if key and cell}, name, number)


def _read_dump(text: str, records: AccountRecords) -> None:
    """Add the accounts and users of the lines of a `sacctmgr dump` to the records.

    Both belong to the account of the Parent line before them.
    """
    parent, canonical = ROOT, _spellings(ASSOCIATION_SETTINGS)
    for number, line in enumerate(split_lines(text), 1):
        if not (match := _DUMP_LINE.match(line.strip())):
            continue
        kind, name, tail = match.groups()
        values = dict(_dump_settings(tail, canonical))
        if kind == "Parent":
            parent = name
        elif kind == "Cluster":
            records.accounts[ROOT] = AccountRecord(values, DUMP, number)
        elif kind == "Account":
            records.accounts[name] = AccountRecord({**values, "ParentName": parent}, DUMP, number)
        else:
            row = AccountRecord({**values, "Account": parent, "User": name}, DUMP, number)
            _add_association(row, records)
            if "DefaultAccount" in values:
                records.users[name] = row


def _spellings(settings: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return sacctmgr's names of settings, and of the columns that name a record, by each spelling in lower case."""
    return {
        spelling.lower(): setting
        for setting, spellings in {**_NAMES, **settings}.items()
        for spelling in (setting, *spellings)
    }


def _dump_settings(text: str, canonical: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for part in _DUMP_SETTING.split(text):
        key, _sign, value = part.partition("=")
        if key.lower() in canonical:
            yield canonical[key.lower()], _OF_PARENT.get(value, value.strip("'"))
