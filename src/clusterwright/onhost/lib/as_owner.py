"""Work in a user's folder with that user's rights: for root, in a child process without root's privileges.

Whatever the user has put there, a link, a device or a forged file, then reaches only what the user reaches anyway.
Standard library only, Python 3.6 or later.
"""

import json
import os
import pwd
import resource
import select
import signal
import stat
import sys
import time
import traceback
from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

from clusterwright.onhost.lib.safe_reader import OverBudgetError, Path, UnsafeFileError, location, pin

OVERFLOW_GID = 65534  # group of an account that the password database does not have
RESULT_BYTES = 256 << 20
MEMORY_BYTES = 2 << 30  # of a child beside what it has at its start
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
POLL_S, STOPPED_S = 0.5, 5.0  # whether a child is stopped, and how long in all before it is killed
END_S = 2.0  # in which a child ends once its result is read, or after SIGKILL
CPU_S = 24 * 3600  # of a child without another limit: a checksum of 100 TB


class UserRights(NamedTuple):
    """The user id, group id and groups with which work is done."""

    uid: int
    gid: int
    groups: Tuple[int, ...]


class OwnerWorkError(OSError):
    """The work as the folder's owner ended without a result, exceeded a limit, or cannot be done safely."""


class WorkLimits(NamedTuple):
    """Limits of the work of a child; None: no limit."""

    seconds: Optional[float] = None
    cpu_s: float = CPU_S
    memory_bytes: Optional[int] = MEMORY_BYTES


DEFAULT_LIMITS = WorkLimits()


def as_owner(folder: Path, work: Callable[[], Any], limits: WorkLimits = DEFAULT_LIMITS) -> Any:
    """Call `work` as the owner of the folder and return its result, which must be JSON.

    Only root changes its account; anybody else calls `work` in this process, without limits.

    Raises:
        OwnerWorkError: the child exceeded a limit or failed.
        UnsafeFileError: the path of the folder is under the control of another user.
        OSError: the folder is missing, or `work` raised it.
    """
    return as_account(account_of(folder), work, limits)


def as_account(
    account: Optional[UserRights], work: Callable[[], Any], limits: WorkLimits = DEFAULT_LIMITS
) -> Any:
    """Call `work` with an account's rights and return its result; None: in this process. Raises as `as_owner`."""
    if account is None:
        return work()
    _load_bundle()
    end_with_parent = _parent_death_signal()
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run_child(account, work, writing, limits, end_with_parent)
    os.close(writing)
    try:
        end = None if limits.seconds is None else time.monotonic() + limits.seconds
        data = _collect(child, reading, end)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
        status = _wait(child)
    if os.WIFSIGNALED(status):
        raise OwnerWorkError(_reason(os.WTERMSIG(status), limits))
    return _result(data)


def account_of(folder: Path) -> Optional[UserRights]:
    """Return the account with which root should work in a folder; None for this process's own.

    That is the owner of the folder (or file); for one of root inside a user's folder, that user.

    Raises:
        UnsafeFileError: a folder above belongs to another user, who can exchange this one; or it is root's, and
            others may write there.
        OSError: the folder is missing.
    """
    if os.geteuid() != 0:
        return None
    with pin(folder) as handle:
        status, path = os.fstat(handle), location(handle)
    owner, parent = status.st_uid, path
    while parent != "/":
        parent = os.path.dirname(parent)
        above = os.lstat(parent).st_uid
        if owner and above not in (0, owner):
            raise UnsafeFileError(
                "%s belongs to user %d, but %s to user %d, who can exchange it" % (path, owner, parent, above)
            )
        owner = owner or above
    if not owner and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeFileError("%s belongs to root, and other users may write there" % path)
    return user_account(owner)


def user_account(uid: int) -> Optional[UserRights]:
    """Return the account of a user id; None (this process's own) for root's, or if this process is not root's.

    None too for an id outside of the process's user namespace: root there has no rights over files of that user.
    """
    if uid == 0 or os.geteuid() != 0 or not _is_mapped(uid):
        return None
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return UserRights(uid, OVERFLOW_GID, ())
    return UserRights(uid, entry.pw_gid, tuple(os.getgrouplist(entry.pw_name, entry.pw_gid)))


def _is_mapped(uid: int) -> bool:
    """Return whether the user namespace of this process has the user id."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [[int(number) for number in line.split()] for line in file]
    return any(first <= uid < first + count for first, _outside, count in ranges)


def drop(account: UserRights) -> None:
    """Change this process of root to the account's user and groups, irrevocably."""
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)


def _load_bundle() -> None:
    """Execute the modules of a bundle (edge/bundler.py) now: the account may be unable to read root's Python."""
    for module in list(sys.modules.values()):
        if "__text__" in getattr(module, "__dict__", ()):
            getattr(module, "main", None)


def _parent_death_signal() -> Callable[[], None]:
    """Return a function with which a child ends once the thread that forked it has ended, even by SIGKILL.

    A change of ids clears the setting. The account may be unable to read root's Python, so ctypes is loaded now.
    """
    parent = os.getpid()
    try:
        import ctypes

        prctl = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return lambda: None

    def end_with_parent() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before
            os._exit(1)

    return end_with_parent


def _reason(number: int, limits: WorkLimits) -> str:
    """Return why a child ended by this signal, as text: its limit of processor time, lack of memory, or the number."""
    if number == signal.SIGXCPU:
        return "it took more than %d s of processor time" % limits.cpu_s
    return "signal %d ended it%s" % (number, ", maybe for lack of memory" if number == signal.SIGKILL else "")


def _run_child(
    account: UserRights,
    work: Callable[[], Any],
    writing: int,
    limits: WorkLimits,
    end_with_parent: Callable[[], None],
) -> None:
    """Become the account, do the work within the limits, and write the outcome as JSON to the pipe; never return.

    It runs in the forked child, which ends here.
    """
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent handles it
        _end_first_when_memory_runs_out()
        drop(account)
        end_with_parent()
        _limit(limits)
        document = _outcome(work, limits)
        sys.stdout.flush()
        with os.fdopen(writing, "wb") as file:
            file.write(json.dumps(document).encode())
    finally:
        os._exit(0)


def _limit(limits: WorkLimits) -> None:
    """Set the limits of this process (rlimits), on top of the CPU time and memory that it has used before."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = int(used.ru_utime + used.ru_stime + limits.cpu_s) + 1
    _lower(resource.RLIMIT_CPU, cpu_s)
    if limits.memory_bytes is not None:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[5])
        # Not the address space: files that are mapped take none of this memory.
        _lower(resource.RLIMIT_DATA, pages * resource.getpagesize() + limits.memory_bytes)


def _lower(kind: int, limit: int) -> None:
    hard = resource.getrlimit(kind)[1]
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(kind, (limit, hard))


def _outcome(work: Callable[[], Any], limits: WorkLimits) -> Dict[str, Any]:
    try:
        return {"result": work()}
    except OverBudgetError as error:
        return {"errno": None, "text": str(error), "filename": None}
    except MemoryError:
        text = "it takes more than %d MiB of memory" % ((limits.memory_bytes or 0) >> 20)
        return {"errno": None, "text": text, "filename": None}
    except OSError as error:
        filename = None if error.filename is None else os.fsdecode(error.filename)
        return {"errno": error.errno, "text": error.strerror or str(error), "filename": filename}
    except SystemExit as error:
        return {"exit": error.code if isinstance(error.code, int) else 1}
    except BaseException:  # noqa: BLE001 (the parent raises it again)
        traceback.print_exc()
        return {"failed": traceback.format_exception_only(*sys.exc_info()[:2])[-1].strip()}


def _end_first_when_memory_runs_out() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass  # a container without it


def _collect(child: int, reading: int, end: Optional[float]) -> bytes:
    """Return all bytes that the child writes until it ends.

    Raises:
        OwnerWorkError: at `end`, beyond the size limit, or once its user has stopped it for STOPPED_S.
    """
    parts, size, stopped_s = [b""], 0, 0.0
    while True:
        remaining_s = POLL_S if end is None else min(POLL_S, max(0.0, end - time.monotonic()))
        ready, _, _ = select.select([reading], [], [], remaining_s)
        if not ready:
            if end is not None and time.monotonic() >= end:
                raise OwnerWorkError("it took too long")
            stopped_s += POLL_S if _is_stopped(child) else 0.0
            if stopped_s > STOPPED_S:
                raise OwnerWorkError("its user stopped it")
            continue
        part = os.read(reading, 1 << 16)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > RESULT_BYTES:
            raise OwnerWorkError("its result is too large")


def _is_stopped(child: int) -> bool:
    """Return whether a signal has stopped the child; Ctrl-Z at a terminal also stops this process."""
    return os.waitid(os.P_PID, child, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None


def _wait(child: int) -> int:
    """Wait for a child whose result is read or that was killed, and return its exit status as of waitpid(2).

    Its user can stop it, so it is killed after END_S. A file system of the user's (FUSE) can prevent even that: then
    the child stays.

    Raises:
        OwnerWorkError: SIGKILL does not end it.
    """
    for _attempt in range(2):
        end = time.monotonic() + END_S
        while time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return status
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
    raise OwnerWorkError("the kernel cannot end it: it waits for a file system")


def _result(data: bytes) -> Any:
    document = json.loads(data.decode() or "{}")
    if "result" in document:
        return document["result"]
    if "exit" in document:
        sys.exit(document["exit"])
    if "text" in document:
        if document["errno"] is None:
            raise OwnerWorkError(document["text"])
        raise OSError(document["errno"], document["text"], document["filename"])
    raise OwnerWorkError(document.get("failed", "it ended without a result"))
