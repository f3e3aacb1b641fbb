"""An interrupted installation by dnf: recorded before it starts, completed before the next one.

rpm lists a package before its scripts have ended, and in an upgrade both versions until the old one is removed. Neither
rpm nor dnf record what remains to be done: dnf has no `complete-transaction`.

Standard library only, Python 3.6 or later.
"""

import json
import os
import time
from contextlib import suppress
from typing import Dict, List, Sequence, Set

from clusterwright.onhost.provision.disk import write_private
from clusterwright.onhost.provision.host import STATE, ChangeError, LocalHost, must, read, run

STARTED = (
    STATE + "/dnf-started.json"
)  # the packages before an installation; it exists until dnf has ended by itself
COMPLETE_S = 3600  # seconds for the scripts of packages, of which one exceeded the limit of an installation
ROW = "%{NAME} %{NAME}-%{EPOCHNUM}:%{VERSION}-%{RELEASE}.%{ARCH} %{INSTALLTID}\\n"


def start(host: LocalHost) -> None:
    """Record the installed packages; the record of an interrupted installation stays."""
    if not os.path.exists(host.resolve_path(STARTED)):
        os.makedirs(host.resolve_path(STATE), exist_ok=True)
        record = {"time": int(time.time()), "rows": sorted(_rows(host))}
        write_private(host.resolve_path(STARTED), json.dumps(record).encode())


def finish(host: LocalHost) -> None:
    """Remove the record of an installation that began, as dnf has ended and was not killed."""
    with suppress(FileNotFoundError):
        os.unlink(host.resolve_path(STARTED))


def interrupted_packages(host: LocalHost) -> Dict[str, List[str]]:
    """Return the packages that an interrupted installation has installed: full names with version, by package name.

    Empty if none was interrupted.

    Raises:
        ChangeError: the record is damaged.
    """
    record = read(host.resolve_path(STARTED))
    if record is None:
        return {}
    try:
        recorded = set(json.loads(record.decode())["rows"])
    except (ValueError, KeyError, TypeError):  # damaged: whether packages are complete is unknown
        raise ChangeError(
            f"{STARTED} is damaged: check by `dnf check` that no installation was interrupted, then remove the file"
        ) from None
    packages = {}  # type: Dict[str, List[str]]
    for row in sorted(_rows(host) - recorded):
        name, full_name = row.split()[:2]
        packages.setdefault(name, []).append(full_name)
    return packages


def complete(host: LocalHost, options: Sequence[str]) -> None:
    """Complete an interrupted installation: remove old versions of upgraded packages, install new ones again.

    Raises:
        ChangeError: it cannot be completed; the error names the packages.
    """
    packages = interrupted_packages(host)
    # dnf(8): `remove --duplicates` also installs the newest version again.
    if packages and not run(["dnf", "check", "--duplicates", *options], COMPLETE_S).ok:
        _dnf(["remove", "-y", "--duplicates", *options], packages)
        packages = interrupted_packages(host)
    if packages:
        full_names = [name for full_names in packages.values() for name in full_names]
        _dnf(["reinstall", "-y", *options, *full_names], packages)
    finish(host)


def _dnf(arguments: List[str], packages: Dict[str, List[str]]) -> None:
    result = run(["dnf", *arguments], COMPLETE_S)
    if not result.ok:
        last = "\n".join(result.out.strip().splitlines()[-8:])
        raise ChangeError(
            f"an installation by dnf was interrupted, and `dnf {' '.join(arguments)}` did not complete it:\n{last}\n"
            f"Run it on the host for {', '.join(sorted(packages))}, then remove {STARTED}"
        )


def _rows(host: LocalHost) -> Set[str]:
    root = ["--root", host.root] if host.root else []
    return set(must(["rpm", *root, "-qa", "--qf", ROW]).splitlines())
