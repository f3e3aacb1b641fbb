"""Sets of packages that come all or none, in exact versions: fetched before anything is changed, then installed.

Standard library only, Python 3.6 or later. A set that cannot be had keeps nobody else from being done: not the
other sets, not what else is wanted on this host, not other hosts.
"""

import contextlib
import os
import re
import shutil
import tempfile
from typing import Container, Dict, Iterable, Iterator, List

from clusterwright.onhost.provision import packages
from clusterwright.onhost.provision.disk import write_private
from clusterwright.onhost.provision.files import content_of
from clusterwright.onhost.provision.host import ChangeError, Host, Json, must, run

PREFERENCES = "/etc/apt/preferences.d"
# The lines of apt and dnf on a repository that they could not read, and on packages that do not go with others.
TROUBLE = re.compile(
    r"(?m)^(?:E|W|Err):.*$|^ *The following signatures.*$|^ +\S+ : (?:Depends|Breaks|Conflicts).*$"
    r"|^(?:Error|Errors during).*$|^ *No match for argument.*$|^.*GPG check FAILED.*$|^ *- .*(?:requires|conflicts).*$"
)
SIGNATURE = re.compile(
    r"NO_PUBKEY|signatures? (?:were|was|couldn't)|BADSIG|EXPKEYSIG|not signed|GPG|[Pp]ublic key",
    re.IGNORECASE,
)
FETCH = re.compile(
    r"Failed to (?:fetch|download)|Could not (?:connect|resolve)|Unable to connect|Connection (?:failed|refused|timed)"
    r"|Curl error|All mirrors were tried|Cannot download"
)
SIGNATURE_FIX = (
    "the repository is signed by another key than the file has, or was changed on its way: put its key under "
    "software.repositories.NAME.key (`gpg --armor --export`), apply again"
)
FETCH_FIX = "see that this host reaches the repository (`curl -I URL`, proxies, the switch), apply again"
VERSION_FIX = "name a version of software that the repository has, or bring this one there; then apply again"


def pending_sets(host: Host) -> Dict[str, List[Json]]:
    """What of each set is not as wanted, by the set's name."""
    change_ids = {change["id"] for change in packages.plan_packages(host)}
    sets_by_name = {}  # type: Dict[str, List[Json]]
    for package in packages.desired_packages(host):
        if package["alone"] and package["id"] in change_ids:
            sets_by_name.setdefault(package["alone"], []).append(package)
    return sets_by_name


def fetch(host: Host, skipped_sets: Container[str] = ()) -> Dict[str, str]:
    """Every set that is wanted comes on this host's disk, but for those that are `known` not to; why not, by set."""
    pending = {name: todo for name, todo in pending_sets(host).items() if name not in skipped_sets}
    if not pending:
        return {}
    apt_output = refreshed(host)
    troubles = {}
    with pins(host) as options:
        for name, todo in pending.items():
            try:
                refuse_foreign_hold(host, todo)
                download(host, todo, options)
            except ChangeError as error:
                troubles[name] = explain_error(error, apt_output)
    return troubles


def refreshed(host: Host) -> str:
    """Fresh lists; what apt says of repositories that it could not read is no error yet: another may do."""
    if packages.has_dnf(host):
        return ""
    return run(["apt-get", "update"], packages.INSTALL_S).out


class HoldError(ChangeError):
    """Somebody here keeps a package at its version."""


class MissingError(ChangeError):
    """No repository has that version; `places` are those that have others of the package."""

    def __init__(self, message: str, places: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.places = set(places)


def explain_error(why: ChangeError, apt_output: str) -> str:
    """The error with the lines that matter, and its fix; `apt_output` is what apt said when it read the lists."""
    message = str(why).strip()
    lines = [line.strip() for line in TROUBLE.findall(message)] or message.splitlines()[:1]
    if isinstance(why, HoldError):
        return message
    if isinstance(why, MissingError):
        unread = [line.strip() for line in TROUBLE.findall(apt_output)]
        lines = [
            message,
            *(
                line
                for line in unread
                if not why.places or any(repository in line for repository in why.places)
            ),
        ]
    text = "\n".join(list(dict.fromkeys(lines))[:6])
    fix = SIGNATURE_FIX if SIGNATURE.search(text) else FETCH_FIX if FETCH.search(text) else VERSION_FIX
    return f"{text}\n{fix}"


@contextlib.contextmanager
def pins(host: Host) -> Iterator[List[str]]:
    """Apt's options with the pins that are wanted, before they are in place."""
    folder = tempfile.mkdtemp(prefix="wright-pins-")
    try:
        for entry in (
            os.listdir(host.resolve_path(PREFERENCES))
            if os.path.isdir(host.resolve_path(PREFERENCES))
            else ()
        ):
            shutil.copy(host.resolve_path(PREFERENCES + "/" + entry), folder)
        for resource in host.resources:
            if resource["kind"] == "file" and os.path.dirname(resource["path"]) == PREFERENCES:
                write_private(folder + "/" + os.path.basename(resource["path"]), content_of(resource))
        yield ["-o", "Dir::Etc::preferencesparts=" + folder]
    finally:
        shutil.rmtree(folder)


def download(host: Host, todo: List[Json], options: List[str]) -> None:
    """On the disk, and nothing installed."""
    if packages.has_dnf(host):
        packages.dnf_install(host, todo, ["--downloadonly"])
        return
    with loosened(host, todo):
        must([*apt_argv(todo), "--download-only", *options], packages.INSTALL_S)


@contextlib.contextmanager
def loosened(host: Host, todo: List[Json]) -> Iterator[None]:
    """Holds of ours give way to what the file asks for; should we be cut short, the next apply holds again."""
    loose = packages.hold_siblings(host, todo)
    if loose:
        must(["apt-mark", "unhold", *loose])
    try:
        yield
    finally:
        if loose:
            run(["apt-mark", "hold", *loose])


def apt_argv(todo: List[Json]) -> List[str]:
    """All of the set by exact version; what was held by us moves, and a version may be older than what is there."""
    names = [f"{package['name']}={exact(package)}" for package in todo]
    over = ["--allow-change-held-packages", "--allow-downgrades"]
    return ["apt-get", "install", "-y", "--no-install-recommends", *packages.APT, *over, *names]


def exact(package: Json) -> str:
    """The newest version that is of that release, with its epoch and the packager's own number."""
    rows = run(["apt-cache", "madison", package["name"]]).out.splitlines()
    versions = {row.split("|")[1].strip(): row.split("|")[2].split()[0] for row in rows if row.count("|") > 1}
    for version in versions:
        if packages.matches_release(version, package["version"]) and package["built_for"] in version:
            return version
    description = package["version"] + (package["built_for"] and f" built for {package['built_for'][1:]}")
    raise MissingError(
        f"no version {description} of {package['name']} is known here (known: {', '.join(versions) or 'none'})",
        versions.values(),
    )


def install(host: Host, name: str) -> None:
    """One set, in one transaction."""
    todo = pending_sets(host).get(name, [])
    if not todo:
        return
    if packages.has_dnf(host):
        packages.dnf_install(host, todo, [])
    else:
        with loosened(host, todo):
            must(apt_argv(todo), packages.INSTALL_S)
    del host.bundle["installed"]


def refuse_foreign_hold(host: Host, todo: List[Json]) -> None:
    """What somebody here has held is theirs to let go."""
    installed_versions, ours = packages.installed(host), packages.managed_hold(host)
    foreign_hold = {name for name in packages.hold_siblings(host, todo) if name not in ours}
    foreign_hold |= {
        package["name"] for package in todo if installed_versions.get(package["name"], ("", False))[1]
    } - ours
    if foreign_hold:
        description = ", ".join(
            f"{name} is held at {installed_versions[name][0]}" for name in sorted(foreign_hold)
        )
        names = " ".join(sorted(foreign_hold))
        raise HoldError(
            f"{description} by somebody here, not by us: `apt-mark unhold "
            f"{names}` there if it may change, else have the file "
            "name that version; then apply again"
        )


def ids(host: Host, troubles: Container[str]) -> List[str]:
    """The packages of these sets."""
    return [package["id"] for package in packages.desired_packages(host) if package["alone"] in troubles]


def exclude_sets(host: Host, changes: List[Json], troubles: Dict[str, str]) -> List[Json]:
    """What can be done although these sets cannot be had: neither they nor the units that need them."""
    if not troubles:
        return changes
    excluded_ids = set(ids(host, troubles))
    installed_versions = packages.installed(host)
    missing_ids = {
        package_id for package_id in excluded_ids if package_id.partition(":")[2] not in installed_versions
    }
    units = {
        resource["id"]
        for resource in host.resources
        if resource["kind"] == "unit" and missing_ids.intersection(resource.get("needs", ()))
    }
    return [change for change in changes if change["id"] not in excluded_ids | units]
