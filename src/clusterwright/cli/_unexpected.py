"""Errors that no command handles: a disk that is full or read-only, and bugs."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TypeGuard

from cyclopts import App, CycloptsError

from clusterwright import __version__
from clusterwright.cli._global_options import TRACEBACK
from clusterwright.cli._mistakes import line_error
from clusterwright.cli._unknown_names import RESULTS
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.files import FULL
from clusterwright.units import QuantityError, human_size

_LONGEST_PATH = 200  # characters of a path in a message
_REFUSED = (errno.EROFS, errno.EIO, errno.EFBIG, errno.EACCES, errno.EPERM)
_NO_PATH = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
)  # of a path that was typed


def shows_traceback(error: Exception) -> bool:
    """Return True if an unexpected error is a bug whose traceback is to be printed.

    That is, if it is requested or stderr is the journal of a service. False for errors that are no bug: wrong usage,
    a wrong quantity, or a disk's error.
    """
    if isinstance(error, CycloptsError | QuantityError) or _is_of_disk(error):
        return False
    stream = os.fstat(sys.stderr.fileno())
    is_journal = os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"  # systemd.exec(5)
    return bool(os.environ.get(TRACEBACK)) or is_journal


def explain(error: Exception, app: Callable[[], App]) -> WrightError:
    """Return what to print in place of the traceback, which is written to a file if the error is a bug.

    `app` creates the command tree, which an error of the command line is searched with.
    """
    if isinstance(error, CycloptsError):
        return line_error(error, app())
    if _is_of_disk(error):
        return _of_disk(error)
    if isinstance(error, QuantityError):
        option = _option_of(error.message)
        message = f"{option}: {error.message}" if option else error.message
        return WrightError.from_code("bad-quantity", message, error.fix, exit_code=EXIT_USAGE)
    message = _("unexpected {kind}: {error}", kind=type(error).__name__, error=str(error)[:500])
    fix = _(
        "this is a bug in wright: report it with {file}; {variable}=1 shows the traceback",
        file=_write_details(error),
        variable=TRACEBACK,
    )
    return WrightError.from_code("bug", message, fix)


def _tokens() -> list[str]:
    """Return the arguments of this process's command line, with `--option=value` as two."""
    return [token for argument in sys.argv[1:] for token in argument.split("=", 1)]


def _option_of(message: str) -> str:
    """Return the option of the command line whose value a message quotes; empty if there is none."""
    options = (
        option for option, value in pairwise(_tokens()) if option.startswith("--") and f"`{value}`" in message
    )
    return next(options, "")


def _is_of_disk(error: Exception) -> TypeGuard[OSError]:
    return isinstance(error, OSError) and (
        error.errno in (*FULL, *_REFUSED) or (error.errno in _NO_PATH and error.filename is not None)
    )


def _of_disk(error: OSError) -> WrightError:
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    message = f"{path[:_LONGEST_PATH] or _('standard output')}: {error.strerror}"
    if error.errno == errno.ENOENT and _is_of_program(error):
        message = _("the program {name} is not installed, or not on the PATH", name=path[:_LONGEST_PATH])
        fix = _("install the missing package, and run the command again")
        return WrightError.from_code("file-unreadable", message, fix)
    if error.errno in _NO_PATH:
        fix = _("name another path")
        code = "not-writable" if _is_output(path) else "file-unreadable"
        return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)
    if error.errno not in FULL:
        fix = _("choose a path that you may write; files are written whole or not at all")
        return WrightError.from_code("not-writable", message, fix)
    fix = _("free space and run the command again; files are written whole or not at all")
    folder = Path(path).absolute().parent
    if path and folder.is_dir():
        free = human_size(shutil.disk_usage(folder).free)
        message = _("{message} ({free} free)", message=message, free=free)
    return WrightError.from_code("disk-full", message, fix)


def _is_of_program(error: OSError) -> bool:
    """Return True if a program could not be started, and not a file opened."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and Path(frames[-1].filename).name == "subprocess.py"


def _is_output(path: str) -> bool:
    """Return True for the value of an option for results, a folder above it, or a file below it."""
    values = [Path(value).absolute() for option, value in pairwise(_tokens()) if option in RESULTS]
    target = Path(path).absolute()
    return any(target == value or target in value.parents or value in target.parents for value in values)


def _write_details(error: Exception) -> str:
    """Write the traceback, versions and arguments into a private file; return its path, or a note without one."""
    text = "".join(traceback.format_exception(error))
    arguments = " ".join(argument.partition("=")[0] for argument in sys.argv[1:])  # values may be secrets
    head = f"wright {__version__}, Python {platform.python_version()}, {platform.platform()}\nwright {arguments}\n\n"
    try:
        number, path = tempfile.mkstemp(prefix="wright-bug-", suffix=".txt")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(head + text)
    except OSError:
        return _("the output of {variable}=1", variable=TRACEBACK)
    return path
