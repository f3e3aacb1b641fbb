"""A team's or a user's cache of data copies on a host's scratch: reused, created atomically, oldest deleted first.

STORE/NAME-DIGEST/data      the copy, read-only
STORE/NAME-DIGEST/jobs/ID   one file per job that used it; the folder's time is that of the last use
STORE/.part-ID              an unfinished copy; the next job deletes one that was interrupted
STORE/.lock                 lock: a second job of the team waits, and finds the copy
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Iterator, List, Tuple

from clusterwright.onhost.lib.files import rename
from clusterwright.onhost.supervisor.staging.manifest import Manifest, manifest_of

LEFT_OVER = 256 * 2**20  # bytes that must stay free, which the prolog checks (provision/render/job_hooks.py)
MB, GB = 10**6, 10**9
AT_ONCE = 8  # files copied in parallel, since one request mostly waits for the server
LOCK_LIMIT_S = 3600.0  # ours: longer than a job that fills the scratch disk from a file server
LOCK_POLL_S = 0.2
GROUP_READS, ALL_READ = 0o040, 0o004


class InsufficientSpaceError(Exception):
    """The copy does not fit, even after all unused copies are deleted."""


class Store:
    """Copies of one team, or of one user, on this host."""

    def __init__(self, folder: str, jobs: str, job: str) -> None:
        self.folder, self._jobs, self._job = folder, jobs, job

    @contextmanager
    def exclusive(self, limit_s: float = LOCK_LIMIT_S) -> Iterator[None]:
        """Lock the store against other jobs of the team.

        Raises:
            OSError: another process holds the lock for longer than the limit.
        """
        path = os.path.join(self.folder, ".lock")
        end = time.monotonic() + limit_s
        with open(path, "a") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise OSError(
                            f"another process of the team holds {path} for more than {limit_s:.0f} s; "
                            f"see `fuser -v {path}` on this host"
                        ) from None
                time.sleep(LOCK_POLL_S)
            yield

    def find(self, source: str, manifest: Manifest) -> Tuple[str, bool]:
        """Return the folder with a copy of `source`, made now if missing or modified, and whether it existed.

        Raises:
            InsufficientSpaceError: the copy does not fit.
            OSError: the source cannot be read, or changed while it was copied.
        """
        copy_folder = os.path.join(self.folder, f"{os.path.basename(source)}-{manifest.digest(source)}")
        exists = os.path.isdir(copy_folder)
        if exists and not matches(manifest, os.path.join(copy_folder, "data")):
            shutil.rmtree(copy_folder)
            exists = False
        if not exists:
            self._free_space(manifest.disk_bytes, source)
            self._copy(source, manifest, copy_folder)
        self._use(copy_folder)
        return os.path.join(copy_folder, "data"), exists

    def _use(self, copy_folder: str) -> None:
        with open(os.path.join(copy_folder, "jobs", self._job), "w"):
            os.utime(os.path.join(copy_folder, "jobs"))

    def _free_space(self, required_bytes: int, source: str) -> None:
        """Delete unused copies, the longest unused first, until `required_bytes` fit; none if that is not enough.

        Raises:
            InsufficientSpaceError: even without all unused copies they do not fit.
        """
        for name in os.listdir(self.folder):
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
        """Return the bytes that a user may still write here."""
        disk = os.statvfs(self.folder)
        return disk.f_bavail * disk.f_frsize

    def _oldest_first(self) -> List[str]:
        names = [name for name in os.listdir(self.folder) if not name.startswith(".")]
        return sorted(names, key=lambda name: os.stat(os.path.join(self.folder, name, "jobs")).st_mtime)

    def _is_used(self, name: str) -> bool:
        """Return True while a job that uses this copy of a dataset has its scratch folder, from prolog to epilog."""
        jobs = os.listdir(os.path.join(self.folder, name, "jobs"))
        return any(os.path.lexists(os.path.join(self._jobs, job)) for job in jobs)

    def _copy(self, source: str, manifest: Manifest, copy_folder: str) -> None:
        part = os.path.join(self.folder, f".part-{self._job}")
        os.makedirs(os.path.join(part, "jobs"))
        data = os.path.join(part, "data")
        os.mkdir(data)
        try:
            for path in manifest.folders:
                os.mkdir(os.path.join(data, path))
            for path, target in manifest.links.items():
                os.symlink(target, os.path.join(data, path))
            with ThreadPoolExecutor(AT_ONCE) as pool:
                for _ in pool.map(lambda row: copy_file(source, data, row[0]), manifest.files):
                    pass
            refuse_changed(source, manifest, data)
            rename(part, copy_folder, durable=False)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise


def copy_file(source: str, data: str, path: str) -> None:
    """Copy one file with its time; the team can read it only if it can read the source."""
    start, end = os.path.join(source, path), os.path.join(data, path)
    shutil.copyfile(start, end)
    status = os.stat(start)
    by_team = status.st_mode & ALL_READ or (
        status.st_mode & GROUP_READS and status.st_gid == os.stat(data).st_gid
    )
    os.chmod(end, 0o440 if by_team else 0o400)
    os.utime(end, ns=(status.st_mtime_ns, status.st_mtime_ns))


def refuse_changed(source: str, manifest: Manifest, data: str) -> None:
    """Check that copy and source both still match the manifest.

    Raises:
        OSError: the source changed while it was copied.
    """
    if not matches(manifest, data) or not matches(manifest, source):
        raise OSError(
            f"{source} was changed while it was copied; submit the job again when nothing writes there"
        )


def matches(manifest: Manifest, folder: str) -> bool:
    """Return True if the folder's files, sizes, times and links equal the manifest."""
    try:
        actual = manifest_of(folder)
    except OSError:
        return False
    return (actual.files, actual.links, actual.folders) == (manifest.files, manifest.links, manifest.folders)


def format_bytes(count: int) -> str:
    """Format a number of bytes in MB or GB."""
    return f"{count / GB:.2f} GB" if count >= GB else f"{count / MB:.1f} MB"
