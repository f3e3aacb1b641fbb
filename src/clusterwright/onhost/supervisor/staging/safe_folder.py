"""Find out whether another user can exchange a folder."""

from __future__ import annotations

import os
import stat


def refuse_unsafe(folder: str) -> None:
    """Reject a folder that another user can exchange: it and all folders above belong to root or to this user.

    Others can write only to those with a sticky bit, where they cannot rename files of root or of this user.

    Raises:
        OSError: another user can exchange the folder or one above it.
    """
    path = os.path.realpath(folder)
    while True:
        status = os.lstat(path)
        others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not status.st_mode & stat.S_ISVTX
        if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, os.geteuid()) or others_write:
            raise OSError(
                f"{folder} is not safe to use: {path} belongs to user {status.st_uid} and has mode "
                f"{stat.S_IMODE(status.st_mode):o}, so other users could exchange data"
            )
        if path == os.path.dirname(path):
            return
        path = os.path.dirname(path)
