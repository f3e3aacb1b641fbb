"""slurmdbd.conf: host, storage, purges and archives, and its match with slurm.conf."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.config.slurm_rules.conf import Setting, SlurmConf
from clusterwright.config.slurm_rules.registry import Problem, Severity, rule
from clusterwright.i18n import _

_FILE = "slurmdbd.conf"
_STORAGE = "StorageType=accounting_storage/mysql"
_HEAD = f"--- {_FILE}\nDbdHost=d\n{_STORAGE}"
_UNITS = ("months", "hours", "days")
_PURGED = ("Event", "Job", "Resv", "Step", "Suspend", "TXN", "Usage")


def _top(conf: SlurmConf, key: str) -> Setting:
    return Setting(key, "", conf.files[_FILE], 1)


@rule(
    Severity.ERROR,
    "slurmdbd.conf(5), StorageType",
    wrong=f"--- {_FILE}\nDbdHost=d",
    correct=_HEAD,
)
def storage_type_missing(conf: SlurmConf) -> Iterator[Problem]:
    """slurmdbd.conf has a StorageType: slurmdbd does not start otherwise."""
    if _FILE in conf.files and not conf.line_of("StorageType", _FILE) and not conf.has_unread:
        yield Problem(_top(conf, "StorageType"), _("the file slurmdbd.conf has no StorageType"), _STORAGE)


@rule(
    Severity.ERROR,
    "slurmdbd.conf(5), StorageType",
    wrong=f"--- {_FILE}\nDbdHost=d\nStorageType=accounting_storage/slurmdbd",
    correct=_HEAD,
)
def storage_type_invalid(conf: SlurmConf) -> Iterator[Problem]:
    """StorageType is accounting_storage/mysql: slurmdbd does not start otherwise."""
    setting = conf.line_of("StorageType", _FILE)
    if setting and setting.value.lower().rpartition("/")[2] != "mysql":
        yield Problem(setting, _("slurmdbd does not take {value}", value=setting.value), _STORAGE)


@rule(
    Severity.ERROR,
    "slurmdbd.conf(5), DbdHost",
    wrong=f"--- {_FILE}\n{_STORAGE}",
    correct=_HEAD,
)
def dbd_host_missing(conf: SlurmConf) -> Iterator[Problem]:
    """slurmdbd.conf has a DbdHost, which must be specified."""
    has_host = conf.line_of("DbdHost", _FILE) or conf.line_of("DbdAddr", _FILE)
    if _FILE in conf.files and not has_host and not conf.has_unread:
        yield Problem(_top(conf, "DbdHost"), _("the file slurmdbd.conf has no DbdHost"), "DbdHost=head")


@rule(
    Severity.ERROR,
    "slurmdbd.conf(5), PurgeJobAfter",
    wrong=f"{_HEAD}\nPurgeJobAfter=2years",
    correct=f"{_HEAD}\nPurgeJobAfter=24months",
)
def purge_unit_unknown(conf: SlurmConf) -> Iterator[Problem]:
    """The ages of purges are in hours, days or months: slurmdbd does not start with other units."""
    for name in (*_PURGED, "JobScript", "JobEnv"):
        setting = conf.line_of(f"Purge{name}After", _FILE)
        match = re.fullmatch(r"(\d+)([a-z]*)", setting.value.lower()) if setting else None
        if setting and not (match and any(unit.startswith(match[2]) for unit in _UNITS)):
            message = _("{value} is no number of hours, days or months", value=setting.value)
            yield Problem(setting, message, f"{setting.key}=12months")


@rule(
    Severity.WARNING,
    "slurmdbd.conf(5), ArchiveJobs",
    wrong=f"{_HEAD}\nArchiveJobs=yes",
    correct=f"{_HEAD}\nArchiveJobs=yes\nPurgeJobAfter=12months",
)
def archive_without_purge(conf: SlurmConf) -> Iterator[Problem]:
    """An Archive... has the Purge...After of its kind: records are archived when they are purged."""
    plurals = {"Event": "Events", "Job": "Jobs", "Resv": "Resvs", "Step": "Steps"}
    for name in _PURGED:
        setting = conf.line_of(f"Archive{plurals.get(name, name)}", _FILE)
        if setting and conf.is_yes(setting.key, _FILE) and not conf.line_of(f"Purge{name}After", _FILE):
            message = _("{key} archives nothing without {purge}", key=setting.key, purge=f"Purge{name}After")
            yield Problem(setting, message, f"Purge{name}After=12months")


@rule(
    Severity.WARNING,
    "slurmdbd.conf(5), SlurmUser",
    wrong=f"SlurmUser=slurm\n{_HEAD}\nSlurmUser=slurmdbd",
    correct=f"SlurmUser=slurm\n{_HEAD}\nSlurmUser=slurm",
)
def dbd_user_differs(conf: SlurmConf) -> Iterator[Problem]:
    """SlurmUser is the same in slurm.conf and slurmdbd.conf, unless slurmctld runs as root."""
    setting, user = conf.line_of("SlurmUser", _FILE), conf.get("SlurmUser")
    if setting and user not in ("", "root", "0") and setting.value != user:
        message = _("SlurmUser of slurm.conf is {user}", user=user)
        yield Problem(setting, message, f"SlurmUser={user}")


@rule(
    Severity.ERROR,
    "slurmdbd.conf(5), AuthType",
    wrong=f"AuthType=auth/slurm\n{_HEAD}\nAuthType=auth/munge",
    correct=f"AuthType=auth/munge\n{_HEAD}\nAuthType=auth/munge",
)
def dbd_authentication_differs(conf: SlurmConf) -> Iterator[Problem]:
    """AuthType is the same in slurm.conf and slurmdbd.conf; otherwise slurmdbd rejects slurmctld."""
    setting, name = conf.line_of("AuthType", _FILE), conf.plugin("AuthType", "munge")
    if (
        setting
        and "slurm.conf" in conf.files
        and not conf.has_unread
        and conf.plugin("AuthType", "munge", _FILE) != name
    ):
        yield Problem(setting, _("AuthType of slurm.conf is auth/{name}", name=name), f"AuthType=auth/{name}")
