"""Package sets: exact versions installed together in one transaction, fetched before any change of the host.

Standard library only, Python 3.6 or later. A set that cannot be fetched does not delay other sets, other changes of
the host, or other hosts.
"""

import contextlib
import os
import re
import shutil
import tempfile
from typing import Container, Dict, Iterable, Iterator, List

from clusterwright.onhost.provision import apt, package_bundle, packages
from clusterwright.onhost.provision.disk import write_private
from clusterwright.onhost.provision.files import content_of
from clusterwright.onhost.provision.host import ChangeError, Json, LocalHost, must, run

PREFERENCES = "/etc/apt/preferences.d"
# Lines of apt and dnf about unreadable repositories and conflicting packages.
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
    "the repository is signed by another key than the cluster file has, or was modified in transit. Put its key under "
    "software.repositories.NAME.key (`gpg --armor --export`), then run apply again"
)
FETCH_FIX = "check the route to the repository (`curl -I URL`, proxies, the switch), then run apply again"
VERSION_FIX = "set a version that the repository has, or add this one to it, then run apply again"


def pending_sets(host: LocalHost) -> Dict[str, List[Json]]:
    """Return the packages in package sets that need a change, by the set's name."""
    change_ids = {change["id"] for change in packages.plan_packages(host)}
    sets_by_name = {}  # type: Dict[str, List[Json]]
    for package in packages.desired_packages(host):
        if package["set_name"] and package["id"] in change_ids:
            sets_by_name.setdefault(package["set_name"], []).append(package)
    return sets_by_name


def fetch(host: LocalHost, skipped_sets: Container[str] = ()) -> Dict[str, str]:
    """Download every pending set except the skipped ones; return the reasons of failures by set.

    Nothing while an installation of apt is incomplete, unless the mode is `apply`, which completes it first.
    """
    pending = {name: todo for name, todo in pending_sets(host).items() if name not in skipped_sets}
    if not pending:
        return {}
    if not packages.has_dnf(host) and apt.was_interrupted():
        if host.bundle["mode"] != "apply":
            return {}  # the apply completes it, once its changes are permitted on the host
        package_bundle.use_by_apt(host)
        try:
            apt.complete_interrupted()
        except ChangeError as error:
            return dict.fromkeys(pending, str(error))
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


def refreshed(host: LocalHost) -> str:
    """Refresh apt's package lists and return its output; "" for dnf. An unreadable repository is no error yet."""
    if packages.has_dnf(host):
        return ""
    package_bundle.use_by_apt(host)
    return run(["apt-get", "update"], apt.INSTALL_S).out


class HoldError(ChangeError):
    """A package of a set is pinned on this host by somebody, not by an apply."""


class MissingError(ChangeError):
    """No repository has the version; `places` are repositories with other versions of the package."""

    def __init__(self, message: str, places: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.places = set(places)


def explain_error(reason: ChangeError, apt_output: str) -> str:
    """Return at most six relevant lines of the error with its fix; `apt_output` is that of `refreshed`.

    The error of a hold is returned as it is; a missing package also has the errors of its repositories.
    """
    message = str(reason).strip()
    lines = [line.strip() for line in TROUBLE.findall(message)] or message.splitlines()[:1]
    if isinstance(reason, HoldError):
        return message
    if isinstance(reason, MissingError):
        unread = [line.strip() for line in TROUBLE.findall(apt_output)]
        lines = [
            message,
            *(
                line
                for line in unread
                if not reason.places or any(repository in line for repository in reason.places)
            ),
        ]
    text = "\n".join(list(dict.fromkeys(lines))[:6])
    fix = SIGNATURE_FIX if SIGNATURE.search(text) else FETCH_FIX if FETCH.search(text) else VERSION_FIX
    return f"{text}\n{fix}"


@contextlib.contextmanager
def pins(host: LocalHost) -> Iterator[List[str]]:
    """Yield apt's options with the desired version pins (apt preferences), before the files with them are installed."""
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


def download(host: LocalHost, todo: List[Json], options: List[str]) -> None:
    """Download the newest matching versions of the packages without installing them."""
    if packages.has_dnf(host):
        packages.dnf_install(host, todo, [packages.DOWNLOAD])
        return
    with loosened(host, todo):
        must([*apt_argv(todo), "--download-only", *options], apt.INSTALL_S)


@contextlib.contextmanager
def loosened(host: LocalHost, todo: List[Json]) -> Iterator[None]:
    """Unhold the packages that apt holds for a `with` block, and hold them again after it.

    After an interruption the next apply holds them again.
    """
    loose = packages.hold_siblings(host, todo)
    if loose:
        must(["apt-mark", "unhold", *loose])
    try:
        yield
    finally:
        if loose:
            run(["apt-mark", "hold", *loose])


def apt_argv(todo: List[Json]) -> List[str]:
    """Return the apt-get command for the set's exact versions, downgrades and held packages included."""
    names = [f"{package['name']}={exact(package)}" for package in todo]
    over = ["--allow-change-held-packages", "--allow-downgrades"]
    return ["apt-get", "install", "-y", "--no-install-recommends", *apt.APT, *over, *names]


def exact(package: Json) -> str:
    """Return the newest available version of the package's release, with epoch and revision, as apt lists it.

    Raises:
        MissingError: no repository has one.
    """
    rows = run(["apt-cache", "madison", package["name"]]).out
    version = newest_match(rows, package["version"], package["built_for"])
    if version:
        return version
    versions = madison_versions(rows)
    description = package["version"] + (package["built_for"] and f" built for {package['built_for'][1:]}")
    raise MissingError(
        f"no repository has version {description} of {package['name']} (available: {', '.join(versions) or 'none'})",
        versions.values(),
    )


def newest_match(rows: str, release: str, built_for: str) -> str:
    """Return the first version of the release in the output of `apt-cache madison`, newest first; "" without one."""
    for version in madison_versions(rows):
        if packages.matches_release(version, release) and built_for in version:
            return version
    return ""


def madison_versions(rows: str) -> Dict[str, str]:
    """Return the versions in the output of `apt-cache madison`, each with its repository."""
    columns = [row.split("|") for row in rows.splitlines() if row.count("|") > 1]
    return {row[1].strip(): row[2].split()[0] for row in columns}


def install(host: LocalHost, name: str) -> None:
    """Install all packages of one set in one transaction."""
    todo = pending_sets(host).get(name, [])
    if not todo:
        return
    if packages.has_dnf(host):
        packages.dnf_install(host, todo, [])
    else:
        apt.complete_interrupted()
        with loosened(host, todo):
            apt.install(apt_argv(todo))
        packages.refuse_missing(host, todo)
    del host.bundle["installed"]


def refuse_foreign_hold(host: LocalHost, todo: List[Json]) -> None:
    """Raise HoldError if somebody has held by hand one of the packages about to change (`todo`) or a sibling."""
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
            f"{description} by hand. Run `apt-mark unhold {names}` on the host if it may change, or set that "
            "version in the cluster file; then run apply again"
        )


def ids(host: LocalHost, troubles: Container[str]) -> List[str]:
    """Return the resource ids of all packages in the package sets that `troubles` contains."""
    return [package["id"] for package in packages.desired_packages(host) if package["set_name"] in troubles]


def exclude_sets(host: LocalHost, changes: List[Json], troubles: Dict[str, str]) -> List[Json]:
    """Return the changes without the packages of these sets, and without units that need one which is not installed.

    All changes if `troubles` is empty; its keys are the sets.
    """
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
