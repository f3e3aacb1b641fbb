"""The password of the BMCs: a file that only its owner may read."""

import os
import stat
from typing import Tuple

GROUP_OTHER_MASK = stat.S_IRWXG | stat.S_IRWXO


class NoPasswordError(Exception):
    """There is no usable password; the message is the reason."""


def password(path: str) -> Tuple[str, float]:
    """Read the password file of the BMCs: return its first line and its modification time.

    Raises:
        NoPasswordError: the file is missing, empty, or readable by others.
    """
    try:
        with open(path) as file:
            status = os.fstat(file.fileno())
            line = file.readline().rstrip("\n")
    except OSError as error:
        raise NoPasswordError(f"{path}: {error.strerror}") from error
    if status.st_mode & GROUP_OTHER_MASK:
        raise NoPasswordError(f"{path}: other users can read it. Run `chmod 600 {path}`")
    if not line:
        raise NoPasswordError(f"{path}: its first line is empty")
    return line, status.st_mtime
