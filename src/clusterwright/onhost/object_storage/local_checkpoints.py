"""Checkpoints in a run's folder, as the uploads need them: found by manifest, verified with torch if it is there."""

from __future__ import annotations

import importlib
import os
import re
import secrets
import shutil
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional

from clusterwright.onhost.lib import checkpoint_manifest
from clusterwright.onhost.lib.files import rename, replace_link, sync_folder
from clusterwright.onhost.lib.safe_reader import read_text, refuse_irregular
from clusterwright.onhost.object_storage.layout import step_name

VERIFY = "clusterwright.runtime.checkpoints.retention"  # imports torch
PARTIAL = ".partial-upload-"  # the next generation of the training removes such folders
_STEP = re.compile(r"step-([0-9]{8,})")


def steps(folder: str) -> List[int]:
    """Return the steps that have a checkpoint folder, the newest first, unverified; empty without `folder`."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted((int(name[5:]) for name in names if _STEP.fullmatch(name)), reverse=True)


def read_complete(folder: str, step: int) -> Optional[Dict[str, Any]]:
    """Return the manifest of a checkpoint whose files exist with their full size; None for any other."""
    path = os.path.join(folder, step_name(step))
    try:
        text = read_text(os.path.join(path, checkpoint_manifest.NAME), checkpoint_manifest.LIMIT_BYTES)
        manifest = checkpoint_manifest.parse(text)
        is_complete = checkpoint_manifest.are_valid(manifest) and all(
            _regular_size(os.path.join(path, part["file"])) == part["bytes"] for part in manifest["parts"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return manifest if is_complete else None


def _regular_size(path: str) -> int:
    """Return the size of a regular file, -1 for a link and anything else."""
    status = os.lstat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else -1


def open_files(path: str, names: Iterable[str], stack: ExitStack) -> Dict[str, Any]:
    """Open files of a checkpoint, which `stack` closes; who may write its folder leads to no other file by a link.

    Raises:
        OSError: the folder or a file is missing or a link, or a file is not regular.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    stack.callback(os.close, folder)
    files = {}
    for name in names:
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        files[name] = stack.enter_context(os.fdopen(handle, "rb", buffering=0))
        refuse_irregular(Path(path, name), os.fstat(handle).st_mode)
    return files


def damage(path: str) -> Optional[str]:
    """Verify every byte of a checkpoint; return what is damaged, "" if nothing is, None without torch."""
    try:
        retention = importlib.import_module(VERIFY)
        source = importlib.import_module("clusterwright.runtime.checkpoints.source")
    except ImportError:
        return None
    try:
        retention.check(Path(path))
    except (OSError, source.Damaged) as error:
        return str(error) or type(error).__name__
    return ""


def create_partial(folder: str, step: int) -> str:
    """Create a folder for the files of a checkpoint that is being restored, and return it."""
    path = os.path.join(folder, f"{PARTIAL}{secrets.token_hex(4)}", step_name(step))
    os.makedirs(path)
    return path


def free_bytes(path: str) -> Optional[int]:
    """Return the bytes that this user may still write in a folder; None where the file system does not report them."""
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize if disk.f_blocks else None


def publish(path: str, folder: str, step: int) -> None:
    """Give a restored checkpoint its final name; a damaged one of the same step is removed first.

    The link `latest` then names it, unless the file system has no symbolic links.
    """
    final = os.path.join(folder, step_name(step))
    if os.path.lexists(final):
        trash = os.path.join(os.path.dirname(path), "replaced")
        rename(final, trash, durable=False)
    sync_folder(path)
    rename(path, final, durable=True)
    remove_partial(path)
    try:
        replace_link(os.path.join(folder, "latest"), step_name(step))
    except OSError:  # a file system without symbolic links
        return


def remove_partial(path: str) -> None:
    """Remove the folder of an unfinished or published restore."""
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)
