"""Packages on a host, by dpkg and apt or by rpm and dnf: there, of the release wanted, and held.

Standard library only, Python 3.6 or later.
"""

import fnmatch
import json
import os
import re
import time
from typing import Dict, Iterable, List, Optional, Sequence, Set, Tuple

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.disk import write_private
from clusterwright.onhost.provision.host import STATE, Host, Json, must, read, run

INSTALL_S = 900  # a driver package builds its module for minutes
LOCKED_S = (
    120  # how long another apt is waited for: unattended upgrades of a few packages take about a minute
)
HELD = STATE + "/held.json"
LOCKS = "/etc/dnf/plugins/versionlock.list"  # dnf-versionlock(8)
APT = (
    *("-o", "Dpkg::Options::=--force-confold"),  # a file that was changed by hand stays, and nobody is asked
    *("-o", f"DPkg::Lock::Timeout={LOCKED_S}"),
)
ONLY_NEEDED = "--setopt=install_weak_deps=False"

Installed = Dict[str, Tuple[str, bool]]  # name: version, held


def has_dnf(host: Host) -> bool:
    """True for Rocky, Alma and their like; by os-release, because Debian can have rpm installed as well."""
    text = (read(host.at("/etc/os-release")) or b"").decode(errors="replace")
    kinds = re.findall(r'(?m)^ID(?:_LIKE)?="?([^"\n]*)', text)
    return any(word in ("rhel", "fedora", "centos") for kind in kinds for word in kind.split())


def installed(host: Host) -> Installed:
    """Every installed package, asked in one call, and once until something is installed."""
    found = host.bundle.get("installed")  # type: Optional[Installed]
    if found is None:
        found = rpm_installed(host) if has_dnf(host) else dpkg_installed(host)
        host.bundle["installed"] = found
    return found


def dpkg_installed(host: Host) -> Installed:
    """What dpkg's own list says; a hold is what is wanted of a package there."""
    form = "${db:Status-Want} ${db:Status-Status} ${Package} ${Version}\\n"
    folder = ["--admindir", host.at("/var/lib/dpkg")] if host.root else []
    rows = [
        line.split() for line in must(["dpkg-query", *folder, "--show", "--showformat", form]).splitlines()
    ]
    there = [row for row in rows if row[1:2] == ["installed"]]
    return {name: (version, want == "hold") for want, _status, name, version in there}


def rpm_installed(host: Host) -> Installed:
    """What rpm's database says, and dnf's list of locks."""
    root = ["--root", host.root] if host.root else []
    form = "%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n"
    rows = [line.split() for line in must(["rpm", *root, "-qa", "--qf", form]).splitlines()]
    locks = set((read(host.at(LOCKS)) or b"").decode(errors="replace").split())
    return {name: (version, f"{name}-{version}.*" in locks) for name, version in (row[:2] for row in rows)}


def fits(version: str, wanted: str) -> bool:
    """True for a version of that release: 24.11.5-4 is of 24.11, and 24.110 is not; all are, where none is named."""
    own = version.rsplit(":", maxsplit=1)[-1]  # without its epoch
    return not wanted or (own.startswith(wanted) and not own[len(wanted) :][:1].isdigit())


def wanted_of(host: Host) -> List[Json]:
    """The packages of the bundle."""
    return [resource for resource in host.resources if resource["kind"] == "package"]


def look_packages(host: Host) -> List[Json]:
    """One change for each package that is missing, or of another release than wanted; asked in one call."""
    wanted = wanted_of(host)
    if not wanted:
        return []
    there = installed(host)
    changes = []
    for package in wanted:
        version = there.get(package["name"], ("", False))[0]
        if not version:
            old = in_place_of(there, package)
            what = f"install in place of {', '.join(old)}" if old else "install"
            change = new_change(what, Verb.INSTALL, cost=package["cost"] if old else "live")
            changes.append(dict(change, id=package["id"]))
        elif not (fits(version, package["version"]) and package["built_for"] in version):
            what = f"{re.sub('^0:', '', version)} -> {package['version']}"
            change = new_change(what, Verb.UPGRADE, cost=package["cost"])
            changes.append(dict(change, id=package["id"]))
    return changes


def in_place_of(there: Installed, package: Json) -> List[str]:
    """What does the package's work now under another name: a driver of another branch, or with other modules."""
    return [name for name in matching(sorted(there), package["place_of"]) if name != package["name"]]


def install_packages(host: Host) -> None:
    """All that are not as wanted, in one call; those that bring repositories come first, in one of their own."""
    for early in (True, False):
        ids = {change["id"] for change in look_packages(host)}
        todo = [
            package
            for package in wanted_of(host)
            if package["id"] in ids and package["early"] == early and not package["alone"]
        ]
        if todo:
            (dnf_install if has_dnf(host) else apt_install)(host, todo)
            del host.bundle["installed"]


def held_with(host: Host, todo: List[Json]) -> List[str]:
    """Held packages of the same source as those that get another release: they have its version, and must follow."""
    there = installed(host)
    names = [package["name"] for package in todo if package["version"]]
    names += [name for package in todo for name in in_place_of(there, package)]
    versions = {there[name][0] for name in names if name in there}
    return [name for name, (version, held) in there.items() if held and version in versions]


def apt_install(host: Host, todo: List[Json]) -> None:
    """A hold of ours gives way to a release of the file's; should we be cut short, the next apply holds again."""
    loose = held_with(host, todo)
    if loose:
        must(["apt-mark", "unhold", *loose])
    try:
        apt_get(todo)
    finally:
        if loose:
            run(["apt-mark", "hold", *loose])


def apt_get(todo: List[Json]) -> None:
    """With fresh lists only when the ones at hand do not do."""
    names = [package["name"] + (f"={package['version']}*" if package["version"] else "") for package in todo]
    over = ["--allow-change-held-packages"] if any(package["version"] for package in todo) else []
    argv = ["apt-get", "install", "-y", "--no-install-recommends", *APT, *over, *names]
    if run(argv, INSTALL_S).code != 0:
        refresh()
        must(argv, INSTALL_S)


def refresh() -> None:
    """`apt-get update`, which does not wait for another one by itself."""
    end = time.monotonic() + LOCKED_S
    while True:
        done = run(["apt-get", "update"], INSTALL_S)
        if done.code == 0:
            return
        if "Could not get lock" not in done.out or time.monotonic() > end:
            must(["apt-get", "update"], INSTALL_S)
            return
        time.sleep(1)


def dnf_install(host: Host, todo: List[Json], more: Sequence[str] = ()) -> None:
    """It waits for another one by itself; our locks give way to a release of the file's."""
    names = [package["name"] + (f"-{release(package)}" if package["version"] else "") for package in todo]
    root = ["--installroot", host.root] if host.root else []
    over = ["--disableplugin", "versionlock"] if any(package["version"] for package in todo) else []
    must(["dnf", "install", "-y", ONLY_NEEDED, *root, *over, *more, *names], INSTALL_S)


def release(package: Json) -> str:
    """The pattern of its versions."""
    built_for = package["built_for"]
    return f"{package['version']}*" + (f"{built_for}*" if built_for else "")


def look_hold(host: Host, resource: Json) -> Optional[Json]:
    """Installed packages that match and are not held; also what this apply will bring, and what comes with it."""
    there = installed(host)
    coming = {change["id"].partition(":")[2] for change in look_packages(host)}
    free = [name for name, (_version, held) in there.items() if not held]
    names = sorted(set(matching(free, resource["patterns"])) | set(matching(coming, resource["patterns"])))
    return new_change("hold " + ", ".join(names), Verb.HOLD) if names else None


def matching(names: Iterable[str], patterns: List[str]) -> List[str]:
    """The names that one of the patterns fits, as a shell would say."""
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def held_by_us(host: Host) -> Set[str]:
    """What an apply of ours has held; before a list was kept, all that our patterns fit."""
    kept = read(host.at(HELD))
    if kept is not None:
        return set(json.loads(kept.decode()))
    if "hold:packages" not in host.receipt.get("wanted", {}):
        return set()
    patterns = [pattern for one in host.resources if one["kind"] == "hold" for pattern in one["patterns"]]
    return set(matching([name for name, (_version, held) in installed(host).items() if held], patterns))


def remember_held(host: Host, names: Iterable[str]) -> None:
    """These are held by us from now on."""
    os.makedirs(host.at(STATE), exist_ok=True)
    write_private(host.at(HELD), json.dumps(sorted(held_by_us(host).union(names))).encode())


def hold_by_dpkg(names: List[str]) -> None:
    """What apt-mark itself does, without the half second that it first reads all packages for; it stands by.

    It also knows which package is meant where several architectures have one of the name, and dpkg refuses.
    """
    if run(["sh", "-c", 'printf "%s hold\\n" "$@" | dpkg --set-selections', "sh", *names]).code != 0:
        must(["apt-mark", "hold", *names])


def do_hold(host: Host, resource: Json) -> None:
    """Everything that matches now is held."""
    there = installed(host)
    names = matching([name for name, (_version, held) in there.items() if not held], resource["patterns"])
    if not names:
        return
    remember_held(host, names)
    del host.bundle["installed"]
    if not has_dnf(host):
        hold_by_dpkg(names)
        return
    old = (read(host.at(LOCKS)) or b"").decode(errors="replace").splitlines()
    kept = [line for line in old if not any(re.match(re.escape(name) + r"-\d+:", line) for name in names)]
    lines = kept + [f"{name}-{there[name][0]}.*" for name in names]
    os.makedirs(os.path.dirname(host.at(LOCKS)), exist_ok=True)
    write_atomic(host.at(LOCKS), "\n".join(lines) + "\n", mode=0o644)
