"""The password of the management controllers: a file that nobody else may read."""

import os
import stat
from typing import Tuple

GROUP_OTHER_MASK = stat.S_IRWXG | stat.S_IRWXO


class NoPasswordError(Exception):
    """There is none that may be used; says why."""


def password(path: str) -> Tuple[str, float]:
    """The first line, and when the file was changed last.

    Raises:
        NoPasswordError: no such file, nothing in it, or others may read it.
    """
    try:
        with open(path) as file:
            status = os.fstat(file.fileno())
            line = file.readline().rstrip("\n")
    except OSError as error:
        raise NoPasswordError(f"{path}: {error.strerror}") from error
    if status.st_mode & GROUP_OTHER_MASK:
        raise NoPasswordError(f"{path}: others may read it; chmod 600 {path}")
    if not line:
        raise NoPasswordError(f"{path}: its first line is empty")
    return line, status.st_mtime
