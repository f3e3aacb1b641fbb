"""The journal of a lab, `lab.json` in its folder: names everything before it is created."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from clusterwright.config.site import Lab
from clusterwright.edge.files import write_file_atomic
from clusterwright.errors import EXIT_USAGE, WrightError, closest_name
from clusterwright.i18n import _
from clusterwright.lab.layout import LabLayout

SCHEMA: Literal[1] = 1
_WAIT_S = 900.0  # ours: longer than a node image is built
_NOTICE_S = 1.0  # ours: who waits longer gets a message
_COMMAND_CHARS = 200
_NAME = re.compile(r"[a-z][a-z0-9-]{0,62}")  # as config's ClusterName


@dataclass(frozen=True, slots=True)
class Process:
    """A process identified by PID and start time (clock ticks since boot), as PIDs are reused."""

    pid: int
    started_ticks: int


@dataclass(frozen=True, slots=True)
class Fault:
    """An active fault: its host, kind and options."""

    kind: str
    host: str
    options: dict[str, str] = field(default_factory=dict)
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class LabState:
    """The journal of one lab. `layout` names everything that may exist; `phase` is how far it came."""

    layout: LabLayout
    phase: Literal["making", "up", "removing"]
    boot_id: str
    file_digest: str
    image: str = ""
    binds: tuple[str, ...] = ()
    processes: dict[str, Process] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    switch: Process | None = None  # the process that boots hosts for the control host
    switched_off: frozenset[str] = frozenset()  # by the power switch
    schema: Literal[1] = SCHEMA

    @property
    def name(self) -> str:
        """Return the lab's name."""
        return self.layout.name

    @property
    def folder(self) -> Path:
        """Return the lab's folder."""
        return folder(self.name)

    @property
    def ssh_config(self) -> Path:
        """Return the path of the ssh configuration that reaches the lab's hosts by name."""
        return self.folder / "ssh_config"

    def host_folder(self, host: str) -> Path:
        """Return the folder of a lab host's disk, root and console."""
        return self.folder / "hosts" / host

    def with_process(self, host: str, process: Process) -> LabState:
        """Return a copy of the lab's state with the host's keeper process."""
        return dataclasses.replace(self, processes={**self.processes, host: process})

    def with_fault(self, fault: Fault) -> LabState:
        """Return a copy of the lab's state with one more fault."""
        return dataclasses.replace(self, faults=(*self.faults, fault))

    def without_fault(self, fault: Fault) -> LabState:
        """Return a copy of the lab's state without that fault."""
        return dataclasses.replace(self, faults=tuple(entry for entry in self.faults if entry != fault))


_JSON = TypeAdapter(LabState)


def folder(name: str) -> Path:
    """Return the folder of the lab of that name.

    Raises:
        WrightError: No cluster can have that name; it never becomes part of a path.
    """
    if not _NAME.fullmatch(name):
        fix = _("use a-z, 0-9 and -, a letter first")
        raise WrightError.from_code(
            "lab-unknown", _("`{name}` is not a valid lab name", name=name), fix, exit_code=EXIT_USAGE
        )
    return Path(Lab.folder(name))


def labs() -> tuple[str, ...]:
    """Return the names of the labs that have a journal."""
    return tuple(sorted(path.parent.name for path in folder("x").parent.glob("*/lab.json")))


def write(state: LabState) -> LabState:
    """Write the lab's journal, lab.json, atomically, and return the same state."""
    write_file_atomic(state.folder / "lab.json", _JSON.dump_json(state, indent=2) + b"\n", mode=0o600)
    return state


def read(name: str) -> LabState | None:
    """Return the state of a lab from its journal; None if there is none.

    Raises:
        WrightError: Another version wrote the journal, or it belongs to root.
    """
    path = folder(name) / "lab.json"
    try:
        return _JSON.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise WrightError.from_code(
            "lab-needs-root",
            _("{path} belongs to root", path=path),
            _("run the same command with sudo, or as root"),
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        reason = ": ".join((*map(str, first["loc"]), first["msg"]))  # `schema: Input should be 1`
        raise _unreadable(path, reason) from error


def _unreadable(path: Path, reason: str) -> WrightError:
    return WrightError.from_code(
        "lab-journal-unreadable",
        _("this version cannot read the journal {path}: {errors}", path=path, errors=reason),
        _("remove the lab with the version of clusterwright that created it"),
    )


def require(name: str) -> LabState:
    """Return the state of a lab that must exist.

    Raises:
        WrightError: There is no such lab; names the existing ones.
    """
    state = read(name)
    if state is None:
        raise WrightError.from_code(
            "lab-unknown",
            _("lab `{name}` does not exist", name=name),
            _missing_fix(name),
            exit_code=EXIT_USAGE,
        )
    return state


def _missing_fix(name: str) -> str:
    """Return the fix for a lab that does not exist: the closest name, how to create it, and which labs there are."""
    lab_names = labs()
    guess = closest_name(name, lab_names)
    question = _("did you mean `{suggestion}`?", suggestion=guess) + " " if guess else ""
    if not lab_names:
        return _("create a lab with `wright lab up`")
    return question + _(
        "create it with `wright lab up`; the labs on this machine are {names}", names=", ".join(lab_names)
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Create a folder for root alone and lock it against other `wright` processes.

    The kernel releases the lock when this process dies. The lock is on a file beside the folder, which is created so
    that no other user can ever open it, and is removed at the end; the folder itself, which all users could open in an
    older version, is none that others can lock. Whoever waits is told so within `_NOTICE_S`.

    Raises:
        WrightError: another process holds the lock for too long, or the folder or the file belongs to another user.
    """
    lock_path = path.with_name(f".{path.name}.lock")
    while True:
        _create_private(path)
        handle = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            _require_own(handle, lock_path)
            _lock(handle, lock_path)
            if _is_same_file(handle, lock_path):
                _create_private(path)  # the holder before may have removed it
                try:
                    yield
                finally:
                    lock_path.unlink(
                        missing_ok=True
                    )  # a process that waits for it sees that, and tries again
                return
        finally:
            os.close(handle)


def _create_private(path: Path) -> None:
    """Create a folder that only its owner can open, or make it one; its parents with the usual mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _require_own(handle, path)
        os.fchmod(handle, 0o700)
    finally:
        os.close(handle)


def _require_own(handle: int, path: Path) -> None:
    owner = os.fstat(handle).st_uid
    if owner != os.geteuid():
        raise WrightError.from_code(
            "lab-locked",
            _("{path} belongs to user {uid}, who can hold up all commands of labs", path=path, uid=owner),
            _("check the content of the folder, then remove the folder: rm -r {path}", path=path),
        )


def _lock(handle: int, path: Path) -> None:
    """Lock the file within `_WAIT_S`, or raise WrightError; after `_NOTICE_S`, name the holder on standard error."""
    begun, has_notice = time.monotonic(), False
    while not _is_free(handle):
        waited_s = time.monotonic() - begun
        if waited_s >= _WAIT_S:
            raise WrightError.from_code(
                "lab-locked",
                _("{holder} holds the lock {path}", holder=_holder(handle), path=path),
                _(
                    "wait until the other command ends, or find its process with `fuser -v {path}` and end it",
                    path=path,
                ),
            )
        if waited_s >= _NOTICE_S and not has_notice:
            has_notice = True
            text = _(
                "waiting up to {minutes} minutes for {holder}, which holds the lock {path}; Ctrl-C ends the waiting",
                minutes=round(_WAIT_S / 60),
                holder=_holder(handle),
                path=path,
            )
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        time.sleep(0.1)


def _holder(handle: int) -> str:
    """Return a text for people with the pid and command line of the process that holds the lock of an open file.

    If the kernel does not show it, `another process`.
    """
    status = os.fstat(handle)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError, ValueError):
        for row in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = row.split()
            if fields[1:2] == ["FLOCK"] and fields[5:6] == [device]:
                words = Path("/proc", fields[4], "cmdline").read_bytes().split(b"\0")
                command = b" ".join(words).decode(errors="replace").strip()[:_COMMAND_CHARS]
                return _("process {pid} (`{command}`)", pid=fields[4], command=command)
    return _("another process")


def _is_free(handle: int) -> bool:
    """Try to take the lock of an open file without waiting; return True if taken, False if another process holds it."""
    with suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _is_same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
