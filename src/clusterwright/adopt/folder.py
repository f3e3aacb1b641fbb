"""A recorded site in a folder: a copy of its Slurm files, and optional files of Slurm's version and of addresses."""

from __future__ import annotations

import shlex
from pathlib import Path

from clusterwright.adopt.account_tables import ASSOCIATIONS, DUMP, QOS, USERS
from clusterwright.adopt.recorded import RecordedHost, RecordedSite
from clusterwright.adopt.reservations import TABLE
from clusterwright.config.load import text_of
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

_PATTERNS = ("*.conf", "*.yaml", "*/*.conf")
VERSION, ADDRESSES, HOSTS = "slurm", "addresses", "hosts"  # in the folder, beside slurm.conf

TABLES = (QOS, ASSOCIATIONS, USERS, DUMP, TABLE)


def read_folder(folder: Path) -> RecordedSite:
    """Return the texts of a site from a folder with its slurm.conf.

    `slurm` has the output of `scontrol --version`, `addresses` lines of NAME ADDRESS; `hosts/NAME/` has the texts of
    a host, by the names of RecordedHost. `qos`, `associations` and `users` are tables of `sacctmgr -P show`, `dump` a
    file of `sacctmgr dump`, `reservations` the output of `scontrol show reservation -o`.

    Raises:
        WrightError: the folder has no slurm.conf, or a file cannot be read.
    """
    if folder.is_file():
        raise WrightError.from_code(
            "file-unreadable",
            _("{path} is a file, not a folder", path=folder),
            _("write --folder {folder}", folder=shlex.quote(str(folder.parent))),
            exit_code=EXIT_USAGE,
        )
    paths = [path for pattern in _PATTERNS for path in sorted(folder.glob(pattern)) if path.is_file()]
    if folder / "slurm.conf" not in paths:
        raise WrightError.from_code(
            "file-unreadable",
            _("{folder} has no slurm.conf", folder=folder),
            _("pass a copy of /etc/slurm with --folder FOLDER, or the host of slurmctld with --control HOST"),
            exit_code=EXIT_USAGE,
        )
    hosts = {path.name: _host(path) for path in sorted((folder / HOSTS).glob("*")) if path.is_dir()}
    files = {str(path): text_of(path) for path in paths}
    version = _text(folder / VERSION).strip().rpartition(" ")[2]
    tables = {name: _text(folder / name) for name in TABLES}
    return RecordedSite(files, str(folder), version, _text(folder / ADDRESSES), hosts, tables)


def _host(folder: Path) -> RecordedHost:
    return RecordedHost(**{name: _text(folder / name) for name in RecordedHost.__slots__})


def _text(path: Path) -> str:
    return text_of(path) if path.is_file() else ""
