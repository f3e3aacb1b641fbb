"""A user's or a team's cache of data copies on a host's scratch: reused, created atomically, oldest deleted first.

STORE/NAME-DIGEST/data      the copy, read-only
STORE/NAME-DIGEST/jobs/ID   one file per job that used it; the folder's time is that of the last use
STORE/.part-ID-RANDOM       an unfinished copy; the next job deletes one that was interrupted
STORE/.lock                 lock: a second job waits, and finds the copy

A user's store has mode 0700. A team's is writable by the team and has a sticky bit: a member can add copies, but can
neither change nor remove those of others, nor redirect what they write.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator, List, Tuple

from clusterwright.onhost.lib.files import rename
from clusterwright.onhost.supervisor.staging.manifest import Manifest, is_equal, manifest_of

LEFT_OVER = 256 * 2**20  # bytes that must stay free, which the prolog checks (provision/render/job_hooks.py)
MB, GB = 10**6, 10**9
AT_ONCE = 8  # files copied in parallel, since one request mostly waits for the server
LOCK_LIMIT_S = 3600.0  # ours: longer than a job that fills the scratch disk from a file server
TEAM_LOCK_LIMIT_S = 300.0  # ours: then the user's own copy is made, since any member can hold the lock
LOCK_POLL_S = 0.2
TEAM_READS, TEAM_ADDS = 0o750, 0o1770  # modes of folders
_READ, _ENTER = stat.S_IROTH, stat.S_IXOTH
_ACCESS_LIST = "system.posix_acl_access"  # acl(5)
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class InsufficientSpaceError(Exception):
    """The copy does not fit, even after all unused copies are deleted."""


class Store:
    """Copies of one user, or of one team, on this host."""

    def __init__(self, folder: str, jobs: str, job: str, *, for_team: bool = False) -> None:
        self.folder, self._jobs, self._job, self._for_team = folder, jobs, job, for_team

    @contextmanager
    def exclusive(self, limit_s: float = LOCK_LIMIT_S) -> Iterator[None]:
        """Hold the lock of the store of staged copies during a `with` block; wait for it up to `limit_s` seconds.

        Raises:
            OSError: another process holds the lock for longer than the limit, or there is no lock.
        """
        path = os.path.join(self.folder, ".lock")
        end = time.monotonic() + limit_s
        lock = self._open_lock(path)
        try:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise OSError(
                            f"another process holds {path} for more than {limit_s:.0f} s; "
                            f"see `fuser -v {path}` on this host"
                        ) from None
                time.sleep(LOCK_POLL_S)
            yield
        finally:
            os.close(lock)

    def _open_lock(self, path: str) -> int:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with suppress(FileExistsError):
            created = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
            os.fchmod(created, 0o640 if self._for_team else 0o600)
            return created
        return os.open(path, flags)

    def find(self, source: str, manifest: Manifest) -> Tuple[str, bool]:
        """Return the folder with a copy of `source`, made now if missing or modified, and whether it existed.

        Raises:
            InsufficientSpaceError: the copy does not fit.
            OSError: the source cannot be read, or changed while it was copied.
        """
        copy_folder = os.path.join(self.folder, f"{os.path.basename(source)}-{manifest.digest(source)}")
        exists = os.path.isdir(copy_folder)
        if exists and not matches(manifest, os.path.join(copy_folder, "data")):
            if not self._is_of_user(os.path.basename(copy_folder)):
                raise OSError(f"another user's copy in {copy_folder} differs from {source}")
            shutil.rmtree(copy_folder)
            exists = False
        if not exists:
            self._free_space(manifest.disk_bytes, source)
            self._copy(source, manifest, copy_folder)
        self._use(copy_folder)
        return os.path.join(copy_folder, "data"), exists

    def _use(self, copy_folder: str) -> None:
        """Record in the copy's folder that the job uses the copy, which also makes it the newest."""
        folder = os.open(copy_folder, FOLDER)
        try:
            jobs = os.open("jobs", FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        try:
            os.close(os.open(self._job, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=jobs))
        except FileExistsError:
            pass
        finally:
            os.close(jobs)

    def _free_space(self, required_bytes: int, source: str) -> None:
        """Delete unused copies of this user, oldest first, until `required_bytes` fit; none if that is not enough.

        Raises:
            InsufficientSpaceError: even without all unused copies they do not fit.
        """
        for name in self._user_folders():
            if name.startswith(".part-"):
                shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)
        unused = [name for name in self._oldest_first() if not self._is_used(name)]
        short = required_bytes + LEFT_OVER - self.free()
        could = {name: manifest_of(os.path.join(self.folder, name, "data")).disk_bytes for name in unused}
        if short > sum(could.values()):
            unused_bytes = sum(could.values())
            raise InsufficientSpaceError(
                f"{source} needs {format_bytes(required_bytes)} and {self.folder} "
                f"has {format_bytes(self.free())} free, of which "
                f"{format_bytes(LEFT_OVER)} must stay free; copies that no job uses "
                f"hold {format_bytes(unused_bytes)}. Nothing was copied"
            )
        for name in unused:
            if required_bytes + LEFT_OVER <= self.free():
                return
            shutil.rmtree(os.path.join(self.folder, name))

    def free(self) -> int:
        """Return the bytes that a user may still write to the disk of the store."""
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize

    def _oldest_first(self) -> List[str]:
        names = [name for name in self._user_folders() if not name.startswith(".")]
        return sorted(names, key=lambda name: os.stat(os.path.join(self.folder, name, "jobs")).st_mtime)

    def _user_folders(self) -> List[str]:
        """Return the names of this user's folders in the store; those of the team may be millions."""
        with os.scandir(self.folder) as entries:
            return [entry.name for entry in entries if self._is_of_user(entry.name)]

    def _is_of_user(self, name: str) -> bool:
        status = os.lstat(os.path.join(self.folder, name))
        return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()

    def _is_used(self, name: str) -> bool:
        """Return True while a job that uses this copy of a dataset has its scratch folder, from prolog to epilog."""
        with os.scandir(os.path.join(self.folder, name, "jobs")) as jobs:
            return any(os.path.lexists(os.path.join(self._jobs, job.name)) for job in jobs)

    def _copy(self, source: str, manifest: Manifest, copy_folder: str) -> None:
        part = tempfile.mkdtemp(prefix=f".part-{self._job}-", dir=self.folder)
        data, jobs = os.path.join(part, "data"), os.path.join(part, "jobs")
        try:
            os.mkdir(data)
            os.mkdir(jobs)
            for path in manifest.folders:
                os.mkdir(os.path.join(data, path))
            for path, target in manifest.links.items():
                os.symlink(target, os.path.join(data, path))
            with ThreadPoolExecutor(AT_ONCE) as pool:
                for _ in pool.map(lambda row: copy_file(source, data, row[0]), manifest.files):
                    pass
            refuse_changed(source, manifest, data)
            if self._for_team:
                share(source, manifest, part)
            rename(part, copy_folder, durable=False)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def copy_file(source: str, data: str, path: str) -> None:
    """Copy the file `path` from folder `source` to `data` with its time; only the owner can read the copy."""
    start, end = os.path.join(source, path), os.path.join(data, path)
    shutil.copyfile(start, end)
    status = os.stat(start)
    os.chmod(end, 0o400)
    os.utime(end, ns=(status.st_mtime_ns, status.st_mtime_ns))


def share(source: str, manifest: Manifest, part: str) -> None:
    """Let the team read those files and folders of a complete copy that it can reach and read at the source.

    Links count as what they are: the team follows them with its own rights.
    """
    data = os.path.join(part, "data")
    team = os.stat(data).st_gid
    shared_folders = {""} if _team_reaches(source, team) else set()
    for folder in manifest.folders:
        path = os.path.join(source, folder)
        if os.path.dirname(folder) in shared_folders and _team_may(path, team, _READ | _ENTER):
            shared_folders.add(folder)
            os.chmod(os.path.join(data, folder), TEAM_READS)
    for path, _size, _when in manifest.files:
        if os.path.dirname(path) in shared_folders and _team_may(os.path.join(source, path), team, _READ):
            os.chmod(os.path.join(data, path), 0o440)
    os.chmod(os.path.join(part, "jobs"), TEAM_ADDS)
    os.chmod(data, TEAM_READS if shared_folders else 0o700)
    os.chmod(part, TEAM_READS)


def _team_reaches(folder: str, team: int) -> bool:
    """Return True if the team can enter all folders above a folder, and list the folder."""
    parents = list(Path(os.path.realpath(folder)).parents)
    return all(_team_may(str(parent), team, _ENTER) for parent in parents) and _team_may(
        folder, team, _READ | _ENTER
    )


def _team_may(path: str, team: int, bits: int) -> bool:
    """Return True if every member of the team has the rights `bits` to a file or folder, whoever else has.

    False with an access control list: an entry can deny what the bits permit, and the group's bits are its mask. A
    member can be in the group of the file as well, whose bits then count in place of those of others.
    """
    status = os.stat(path)
    if _ACCESS_LIST in _attributes(path):
        return False
    others = bits if status.st_gid == team else status.st_mode & bits
    return status.st_mode >> 3 & bits & others == bits


def _attributes(path: str) -> List[str]:
    try:
        return os.listxattr(path)
    except OSError:
        return []  # a file system without


def refuse_changed(source: str, manifest: Manifest, data: str) -> None:
    """Raise OSError unless copy and source both still match the manifest.

    Raises:
        OSError: the source changed while it was copied.
    """
    if not matches(manifest, data) or not matches(manifest, source):
        raise OSError(
            f"{source} was changed while it was copied; submit the job again when nothing writes there"
        )


def matches(manifest: Manifest, folder: str) -> bool:
    """Return True if the folder's files, sizes, times, links and subfolders equal the manifest; False if unreadable."""
    try:
        return is_equal(manifest, folder)
    except OSError:
        return False


def format_bytes(count: int) -> str:
    """Return a number of bytes as text in MB, or GB from 1 GB on."""
    return f"{count / GB:.2f} GB" if count >= GB else f"{count / MB:.1f} MB"
