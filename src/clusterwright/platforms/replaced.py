"""Distributions that a cluster file may name from an older guide, and the supported ones that take their place.

Dates: https://www.centos.org/centos-linux-eol/; tools: https://docs.rockylinux.org/guides/migrate2rocky/ and
https://wiki.almalinux.org/elevate/.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.i18n import N_


@dataclass(frozen=True, slots=True)
class Replaced:
    """A family of distributions: the names that it is written by, its state, its successors and the migration."""

    pattern: str
    state: str  # a sentence about `{name}`
    successors: tuple[str, ...]  # values of `os`, the nearest first
    migration: str  # to `{choices}`


_CENTOS = r"centos(?:[-_ ]?linux)?(?:[-_ ]?stream)?[-_ ]?"
_RED_HAT = r"(?:rhel|red ?hat(?:[-_ ]?enterprise)?(?:[-_ ]?linux)?|ol|oracle(?:[-_ ]?linux)?)[-_ ]?"
_SUCCESSORS_8, _SUCCESSORS_9 = ("rocky-8", "alma-8", "rocky-9", "alma-9"), ("rocky-9", "alma-9")
_UNSUPPORTED = N_("`{name}` is not supported; Rocky Linux and AlmaLinux have the same packages")
REPLACED = (
    Replaced(
        rf"{_CENTOS}7(?:\.\d+)*",
        N_("`{name}` has ended on 2024-06-30, and its mirrors are gone"),
        _SUCCESSORS_8,
        N_(
            "use {choices}: reinstall the hosts, or upgrade them in place with ELevate: point the repositories to "
            "vault.centos.org, install `elevate-release-latest-el7`, then `leapp-upgrade` with `leapp-data-rocky` or "
            "`leapp-data-almalinux`; run `leapp preupgrade`, then `leapp upgrade`"
        ),
    ),
    Replaced(
        rf"{_CENTOS}8(?:\.\d+)*",
        N_(
            "`{name}` has ended (CentOS Linux 8 on 2021-12-31, Stream 8 on 2024-05-31), and its mirrors are gone"
        ),
        _SUCCESSORS_8,
        N_(
            "use {choices}: point the repositories to vault.centos.org, then convert each host in place, drained "
            "and one by one, with `migrate2rocky.sh -r` (Rocky) or `almalinux-deploy.sh` (AlmaLinux); or "
            "reinstall the hosts"
        ),
    ),
    Replaced(
        rf"{_RED_HAT}7(?:\.\d+)*",
        _UNSUPPORTED,
        _SUCCESSORS_8,
        N_(
            "use {choices}: reinstall the hosts, or upgrade them in place with ELevate: `leapp-upgrade` with "
            "`leapp-data-rocky` or `leapp-data-almalinux`"
        ),
    ),
    Replaced(
        rf"{_RED_HAT}8(?:\.\d+)*",
        _UNSUPPORTED,
        _SUCCESSORS_8,
        N_(
            "use {choices}: convert each host in place, drained and one by one, with `migrate2rocky.sh -r` (Rocky) or "
            "`almalinux-deploy.sh` (AlmaLinux); or reinstall the hosts"
        ),
    ),
    Replaced(
        rf"(?:{_CENTOS}|{_RED_HAT})9(?:\.\d+)*",
        _UNSUPPORTED,
        _SUCCESSORS_9,
        N_(
            "use {choices}: convert each host in place, drained and one by one, with `migrate2rocky9.sh -r` (Rocky) or "
            "`almalinux-deploy.sh` (AlmaLinux); or reinstall the hosts"
        ),
    ),
)


def replaced(name: object) -> Replaced | None:
    """Return what takes the place of a distribution that is not supported, by its name in any case.

    None for any other value.
    """
    if not isinstance(name, str):
        return None
    text = name.strip()[:60]
    return next((row for row in REPLACED if re.fullmatch(row.pattern, text, re.IGNORECASE)), None)
