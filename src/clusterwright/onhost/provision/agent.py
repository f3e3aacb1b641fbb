"""The agent of an apply on a host: compares the host with its desired state (`check`), or changes it (`apply`).

Standard library only, Python 3.6 or later; sent over SSH, never installed. Input: a JSON object {mode, root, source,
when, expect, resources, ...}. Output: one line, ANSWER and a JSON object. Every change is journaled before it is made.
"""

import contextlib
import fcntl
import gc
import hashlib
import itertools
import json
import os
import sys
import time
from typing import IO, Callable, Dict, List, Optional

from clusterwright.onhost.provision import (
    drift,
    files,
    packages,
    reboots,
    records,
    rollback,
    sets,
    system,
    troubles,
    undo,
    units,
)
from clusterwright.onhost.provision.change import Verb
from clusterwright.onhost.provision.derive import derived
from clusterwright.onhost.provision.disk import sync_disk, write_private
from clusterwright.onhost.provision.host import STATE, ChangeError, Json, LocalHost, read, read_bundle
from clusterwright.onhost.provision.plan import of_kinds, plan
from clusterwright.onhost.provision.state_files import RECEIPT
from clusterwright.onhost.provision.storage import disks
from clusterwright.onhost.provision.timings import rows, show_steps, step

ANSWER = "clusterwright-answer:"
DISTURBS = ("drain", "reboot", "rebuild")  # costs that require a host without running jobs

Make = Callable[[LocalHost, Json], None]

DO: Dict[str, Make] = {
    "file": files.do_file,
    "directory": files.do_directory,
    "symlink": files.do_symlink,
    "group": system.do_group,
    "user": system.do_user,
    "sysctl": system.do_sysctl,
    "module": system.do_module,
    "hold": packages.do_hold,
    "disks": lambda host, resource: disks.do_disks(host, resource),  # noqa: PLW0108 (the module loads on first use)
}


def apply(host: LocalHost, changes: List[Json], make: Make) -> Optional[ChangeError]:
    """Make the changes of a plan by `make`, each journaled first; stop at the first failure and raise it.

    Return None, or the failure of a daemon's records, an independent unit or a package set; the rest is complete.
    """
    if not changes:
        return None
    with step("save for rollback"):
        undo.begin(host)
        files.sweep(host)
    late = [change for change in changes if change["id"].partition(":")[0] in ("systemd", "unit", "records")]
    ours = [change for change in changes if change not in late]
    with open(host.resolve_path(STATE + "/journal.jsonl"), "a") as journal:
        note(journal, host.begin_line(), lasting=True)
        missing_sets = {}  # type: Dict[str, str]
        for of_packages, group in itertools.groupby(ours, lambda change: change["id"].startswith("package:")):
            missing_sets.update(lost_sets(host) if of_packages else {})
            steps(host, sets.exclude_sets(host, list(group), missing_sets), make, journal)
        late = sets.exclude_sets(host, late, missing_sets)
        snapshot_changes(host, late)
        with step("sync disk"):
            for folder in {os.stat(folder).st_dev: folder for folder in host.touched}.values():
                sync_disk(folder)
        return settle(host, late, journal) or lost_error(missing_sets)


@step("fetch packages")
def lost_sets(host: LocalHost) -> Dict[str, str]:
    """Download pending package sets; return those that cannot be fetched, also earlier ones, with the reason."""
    skipped_sets = host.bundle.get("skip_sets") or {}
    return {**skipped_sets, **sets.fetch(host, skipped_sets)} if host.bundle["mode"] == "apply" else {}


def lost_error(missing_sets: Dict[str, str]) -> Optional[ChangeError]:
    """Return an error, of this host alone, that names the package sets left out; None if none was."""
    message = "\n".join(f"{name}: {reason}" for name, reason in missing_sets.items())
    return ChangeError(f"packages not changed: {message}", "host") if missing_sets else None


def settle(host: LocalHost, changes: List[Json], journal: "IO[str]") -> Optional[ChangeError]:
    """Change units, then records (units in `required_by` start after them); return the error of failed units."""
    if not of_kinds(host, ("records",)):  # most hosts, which do not load the modules for records
        return settle_units(host, changes, journal, more=False)
    change_ids = {change["id"] for change in changes}
    due = [resource for resource in of_kinds(host, ("records",)) if resource["id"] in change_ids]
    waiting = {"unit:" + name for resource in due for name in resource["required_by"]} & change_ids
    early = [resource for resource in due if waiting and resource["required_by"]]
    of_units = [change for change in changes if not change["id"].startswith("records:")]
    first_units = [change for change in of_units if change["id"] not in waiting]
    last_units = [change for change in of_units if change["id"] in waiting]
    trouble = settle_units(host, first_units, journal, more=bool(waiting))
    trouble = trouble or records.do_all(host, early, changes)
    if waiting:
        try:
            settle_units(host, last_units, journal, more=False)
            names = [change["id"].partition(":")[2] for change in first_units if change["id"] != "systemd"]
            trouble = trouble or units.expect_running(names, independent=independent_units(host), wait_s=0)
        except ChangeError as error:
            raise trouble or error from error
    late = [resource for resource in due if resource not in early]
    trouble = trouble or records.do_all(host, late, changes)
    records.remember(host)
    return trouble


@step("save for rollback")
def snapshot_changes(host: LocalHost, changes: List[Json]) -> None:
    """Save the present state of everything that the changes affect, for a rollback."""
    by_name = {resource["id"]: resource for resource in host.resources}
    for change in changes:
        undo.save_change(host, change, by_name.get(change["id"]))
    names = []  # type: List[str]
    for change in changes:
        kind, _, name = change["id"].partition(":")
        if kind in ("unit", "gone-unit"):
            names += [name, *change.get("replaces", ())]
    names = [name for name in names if "unit:" + name not in host.saved_ids]
    states = units.show([name for name in names if name not in host.states])
    undo.save_units(host, {name: states.get(name) or host.states[name] for name in names})
    undo.settle(host)


def steps(host: LocalHost, changes: List[Json], make: Make, journal: "IO[str]") -> None:
    """Make the changes in order. Inputs of units are in the journal on disk first: if interrupted, a restart is due."""
    trials = [trial for trial in of_kinds(host, ("trial",)) if files.needs_trial(host, trial, changes)]
    read_by_units = {name for unit in of_kinds(host, ("unit",)) for name in unit["restart_on"]}
    sums = {resource["id"]: files.receipt_row(resource)["sha256"] for resource in of_kinds(host, ("file",))}
    snapshot_changes(host, changes)
    for change in changes:
        entry = {"doing": change["id"], "cost": change["cost"]}
        entry.update({"sha256": sums[change["id"]]} if change["id"] in sums else {})
        note(journal, entry, lasting=change["id"] in read_by_units and change["verbs"] != [Verb.CREATE])
        reboots.owe(host, change)
        try:
            for trial in [candidate for candidate in trials if change["id"] in candidate["files"]]:
                trials.remove(trial)
                with step(trial["id"]):
                    files.try_out(host, trial)
            with step(change["id"]):
                make(host, change)
        except (ChangeError, OSError) as error:
            fault_domain = error.fault_domain if isinstance(error, ChangeError) else "change"
            raise ChangeError(f"{change['id']}: {error}", fault_domain) from error
        change["applied"] = True


def independent_units(host: LocalHost) -> List[str]:
    """Return the names of desired units whose failure does not stop the other changes."""
    return [unit["name"] for unit in of_kinds(host, ("unit",)) if unit.get("independent")]


def settle_units(
    host: LocalHost, changes: List[Json], journal: "IO[str]", *, more: bool
) -> Optional[ChangeError]:
    """Change units in few systemctl calls; return the error. Unless `more` follow, journal that none is due."""
    of_units = [change for change in changes if change["id"] != "systemd"]
    for change in of_units:
        note(journal, {"doing": change["id"]})
    independent = independent_units(host)
    new_files = any(folder.startswith(host.resolve_path("/etc/systemd/system")) for folder in host.touched)
    # Units that wait for a record start last, and are checked with these.
    wait_s = 0 if more else units.SETTLE_S
    reload = len(of_units) < len(changes)
    trouble = units.do_units(
        of_units, reload_unit_files=reload, new_files=new_files, independent=independent, wait_s=wait_s
    )
    for change in changes:
        change["applied"] = trouble is None or change["id"].partition(":")[2] not in independent
    if not more:
        note(journal, {"settled": host.bundle["when"]}, lasting=True)
    return trouble


def make(host: LocalHost, change: Json) -> None:
    """Make one change of a plan, by the kind in its id; the first missing package installs all of them in one call."""
    kind, _, name = change["id"].partition(":")
    if kind == "package":
        package = {row["name"]: row for row in packages.desired_packages(host)}.get(name)
        if package and package["set_name"]:
            sets.install(host, package["set_name"])
        else:
            packages.install_packages(host)
        host.states.clear()  # packages start their own units
    elif kind == drift.INTERRUPTED:
        packages.complete(host)
    elif kind == "gone-user":
        system.lock_user(name)
    elif kind == "gone-unit":
        units.stop_unit(name)
    elif kind == "gone":
        os.unlink(host.resolve_path(name))
    else:
        DO[kind](host, next(resource for resource in host.resources if resource["id"] == change["id"]))


def note(journal: "IO[str]", entry: Json, *, lasting: bool = False) -> None:
    """Append one line to the apply's journal and flush it; with `lasting`, sync it to disk."""
    journal.write(json.dumps(entry) + "\n")
    journal.flush()
    if lasting:
        os.fsync(journal.fileno())


@step("write receipt")
def write_receipt(host: LocalHost, changes: List[Json]) -> None:
    """Write the receipt, the record of this apply that later ones compare with, and remove the journal."""
    back = host.bundle.get("to", "")
    receipt = undo.receipt_before(host, back) if back else receipt_of(host)
    is_unchanged = all(host.receipt.get(key) == receipt.get(key) for key in ("files", "units", "wanted"))
    if changes or not is_unchanged:
        write_private(host.resolve_path(STATE + "/receipt.json"), RECEIPT.dump(receipt).encode())
    if host.interrupted or changes:
        os.unlink(host.resolve_path(STATE + "/journal.jsonl"))
    undo.prune(host)


def receipt_of(host: LocalHost) -> Json:
    """Return the record of this apply: desired files, former ones that still exist here, units and their readers."""
    rows = {file["path"]: files.receipt_row(file) for file in of_kinds(host, ("file",))}
    for path, row in host.receipt["files"].items():
        if path not in rows and read(host.resolve_path(path)) is not None:
            rows[path] = row
    desired_units = of_kinds(host, ("unit",))
    readers = {unit["name"]: {key: unit[key] for key in ("restart_on", "reload")} for unit in desired_units}
    return {
        "source": host.bundle["source"],
        "when": host.bundle["when"],
        "files": rows,
        "units": [unit["name"] for unit in desired_units],
        "readers": readers,
        "wanted": drift.digests(host),
    }


@step("facts")
def facts(host: LocalHost) -> Json:
    """Return this host's name, OS, versions, SSH addresses, number of job steps, and whether an apply was cut short."""
    client, _, reached_at, reached_port = (os.environ.get("SSH_CONNECTION", "").split() + [""] * 4)[:4]
    return {
        "hostname": os.uname().nodename,
        "python": sys.version.split()[0],
        "kernel": os.uname().release,
        "reached_at": reached_at,
        "reached_port": reached_port,
        "ssh_source": client,
        "job_steps": job_steps(),
        "interrupted": host.interrupted or bool(host.damaged),
        "os": troubles.system(host),
    }


def sum_of(changes: List[Json]) -> str:
    """Return the hashes of a plan's changes, separated by spaces; an apply makes only changes with approved hashes."""
    texts = (json.dumps(change, sort_keys=True) for change in changes)
    return " ".join(hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts) or "-"


def run_bundle(bundle: Json) -> Json:
    """Check, apply, fetch packages or list undoable applies; return the answer, with failures in `error`."""
    host = LocalHost(bundle)
    answer = {"facts": facts(host), "changes": [], "notes": host.notes, "error": "", "stale": False}  # type: Json
    try:
        with step("other"):
            with_lock(host, answer)
    except (ChangeError, OSError) as error:
        answer["error"], answer["fault_domain"] = troubles.explain_error(host, error)
    for change in answer["changes"]:  # the sender has the content of a new file, and so its diff
        if change["id"] in host.shared and change["verbs"] == [Verb.CREATE]:
            change["diff"] = None
    answer["timings"] = rows()
    answer["facts"].update(now=time.time(), boot=reboots.boot_id(), owes=reboots.owed(host))
    return answer


def with_lock(host: LocalHost, answer: Json) -> None:
    """Take the lock of applies on this host, then do the work and add its result to the answer."""
    troubles.refuse_other_system(host)
    with step("wait for another apply"):
        lock = locked(host) if host.bundle["mode"] == "apply" else wait_for_other_applies(host)
    try:
        answer.update(work(host, answer))
    finally:
        if lock is not None:
            os.close(lock)


def work(host: LocalHost, answer: Json) -> Json:
    """Do what the mode says; return fields of the answer. `apply` changes nothing (stale) unless all is approved."""
    if host.bundle["mode"] == "list":
        return {"applies": undo.listed(host)}
    if host.bundle["mode"] == "fetch":
        missing_sets = sets.fetch(host)
        return {"unavailable": missing_sets, "unavailable_ids": sets.ids(host, missing_sets)}
    back = bool(host.bundle.get("to"))
    with step("compare"):
        answer["changes"] = changes = (rollback.plan if back else plan)(host)
    answer["sum"] = sum_of(changes)
    agreed = {"-", *host.bundle["expect"].split()}
    stale = bool(host.bundle["expect"]) and not set(answer["sum"].split()) <= agreed
    if host.bundle["mode"] == "apply" and not stale:
        refuse_jobs(host, sets.exclude_sets(host, changes, host.bundle.get("skip_sets") or {}))
        trouble = apply(host, changes, rollback.make if back else make)
        write_receipt(host, changes)
        note_moved(host, changes)
        if trouble:
            raise trouble
    return {"stale": stale}


def note_moved(host: LocalHost, changes: List[Json]) -> None:
    """Add a note if derived files would differ now, because packages or modules of this apply made devices visible."""
    is_derived = any("program" in resource for resource in host.resources)
    paths = derived.moved(host) if changes and is_derived else []
    if paths:
        host.notes.append(f"{', '.join(paths)}: the host's devices changed during this apply. Run it again")


def refuse_jobs(host: LocalHost, changes: List[Json]) -> None:
    """Raise an error if a change needs a drained host and jobs run; ending jobs get `lock_timeout_s`."""
    if not host.bundle.get("idle") or not any(change["cost"] in DISTURBS for change in changes):
        return
    deadline = time.monotonic() + host.bundle.get("lock_timeout_s", 0)
    while job_steps():
        if time.monotonic() > deadline:
            message = "a job started on this host after the plan: nothing was changed. Run apply again"
            raise ChangeError(message, fault_domain="host")
        time.sleep(0.2)


def job_steps() -> int:
    """Return the number of slurmstepd processes of job steps, without that which only holds slurmd's cgroup (v2)."""
    processes = [entry for entry in os.listdir("/proc") if entry.isdigit()]
    steps = [entry for entry in processes if read(f"/proc/{entry}/comm") == b"slurmstepd\n"]
    return sum(not (read(f"/proc/{entry}/cmdline") or b"").endswith(b"\0infinity\0") for entry in steps)


def locked(host: LocalHost) -> int:
    """Take the lock of applies; return its file descriptor. Raise ChangeError if it is held for `lock_timeout_s`."""
    os.makedirs(host.resolve_path(undo.FOLDER), exist_ok=True)
    os.chmod(host.resolve_path(undo.FOLDER), 0o700)
    handle = os.open(host.resolve_path(STATE + "/lock"), os.O_RDWR | os.O_CREAT, 0o600)
    wait_for(host, handle, fcntl.LOCK_EX)
    with contextlib.suppress(OSError):  # the change itself reports a full disk
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} since {time.strftime('%H:%M:%S')}".encode())
    return handle


def wait_for_other_applies(host: LocalHost) -> Optional[int]:
    """Wait for a running apply, such as one whose SSH connection broke; return a shared lock, None before any apply."""
    if not os.path.exists(host.resolve_path(STATE + "/lock")):
        return None
    handle = os.open(host.resolve_path(STATE + "/lock"), os.O_RDONLY)
    wait_for(host, handle, fcntl.LOCK_SH)
    return handle


def wait_for(host: LocalHost, handle: int, how: int) -> None:
    """Take the lock within `lock_timeout_s`; else close the handle and raise ChangeError with the lock's owner."""
    deadline = time.monotonic() + host.bundle.get("lock_timeout_s", 0)
    while True:
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() > deadline:
                lock_owner = os.read(handle, 200).decode()
                os.close(handle)
                raise ChangeError(
                    f"another apply is running on this host ({lock_owner}). Wait for it", fault_domain="host"
                ) from None
            time.sleep(0.1)
        else:
            return


def main() -> None:
    """Read the compressed bundle from stdin, do what it orders, and print the answer as a line of JSON on stdout."""
    os.umask(0o022)
    gc.disable()  # nearly all objects live until the end, within minutes: collections took 3 % of a check
    with step("read bundle"):
        bundle = read_bundle(sys.stdin.buffer.read())
    show_steps(enabled=bool(bundle.get("progress")))
    sys.stdout.write(f"\n{ANSWER}{json.dumps(run_bundle(bundle))}\n")
