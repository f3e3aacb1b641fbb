"""The journal of a lab, `lab.json` in its folder: names everything before it is created."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from clusterwright.config.site import Lab
from clusterwright.edge.files import write_file_atomic
from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _
from clusterwright.lab.layout import LabLayout

SCHEMA: Literal[1] = 1
_WAIT_S = 900.0  # ours: longer than a node image is built
_PUBLIC_S = 5.0  # ours: any user may hold a folder that was public
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
    """Write the lab's journal atomically; return the state for the next step."""
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
            unknown_name_fix(name, labs(), "" if labs() else _("create it with `wright lab up`")),
            exit_code=EXIT_USAGE,
        )
    return state


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a folder against other `wright` processes during a `with` block; the folder is created.

    The kernel releases the lock when this process dies. Only root can open the folder: who can open it can hold the
    lock, and read keys and disks of lab hosts in it. It is private from its creation on. Who opened one of an older
    version before can hold its lock: the wait has an end. The lock is on the folder itself, so that nothing is left
    of it. The folder may be removed and recreated during the wait: then the new one is locked.

    Raises:
        WrightError: another process holds the lock for too long.
    """
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            was_public = bool(os.fstat(handle).st_mode & 0o077)
            os.fchmod(handle, 0o700)
            _lock(handle, path, _PUBLIC_S if was_public else _WAIT_S)
            if _is_same_file(handle, path):
                yield
                return
        finally:
            os.close(handle)


def _lock(handle: int, path: Path, most_s: float) -> None:
    """Take the lock of the folder within `most_s` seconds, or raise WrightError."""
    end = time.monotonic() + most_s
    while not _is_free(handle):
        if time.monotonic() >= end:
            raise WrightError.from_code(
                "lab-locked",
                _("another process holds the lock of {path}", path=path),
                _("wait for it, or find it with `fuser -v {path}` and end it", path=path),
            )
        time.sleep(0.1)


def _is_free(handle: int) -> bool:
    """Take the lock and return True, unless another process holds it."""
    with suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _is_same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
