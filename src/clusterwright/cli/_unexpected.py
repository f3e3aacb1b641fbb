"""Errors that no command handles: a disk that is full or read-only, and bugs."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import sys
import tempfile
import traceback
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeGuard

from cyclopts import CycloptsError, MissingArgumentError, UnknownOptionError, UnusedCliTokensError

from clusterwright import __version__
from clusterwright.cli._connection import cluster_option
from clusterwright.cli._global_options import TRACEBACK
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.files import FULL
from clusterwright.units import QuantityError, human_size

_LONGEST_PATH = 200  # characters of a path in a message
_LEAST_SIMILAR = 0.75  # ratio of an option's name and the suggested one
_REFUSED = (errno.EROFS, errno.EIO, errno.EFBIG, errno.EACCES, errno.EPERM)
_NO_PATH = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ELOOP,
)  # of a path that was typed


def shows_traceback(error: Exception) -> bool:
    """Return True for a bug if its traceback is wanted, or if stderr is the journal of a service."""
    if isinstance(error, CycloptsError | QuantityError) or _is_of_disk(error):
        return False
    stream = os.fstat(sys.stderr.fileno())
    is_journal = os.environ.get("JOURNAL_STREAM") == f"{stream.st_dev}:{stream.st_ino}"  # systemd.exec(5)
    return bool(os.environ.get(TRACEBACK)) or is_journal


def explain(error: Exception) -> WrightError:
    """Return what to print in place of the traceback, which is written to a file if the error is a bug."""
    if isinstance(error, CycloptsError):
        return _of_usage(error)
    if _is_of_disk(error):
        return _of_disk(error)
    if isinstance(error, QuantityError):
        return WrightError.from_code("bad-quantity", error.message, error.fix, exit_code=EXIT_USAGE)
    message = _("unexpected {kind}: {error}", kind=type(error).__name__, error=str(error)[:500])
    fix = _(
        "this is a bug in wright: report it with {file}; {variable}=1 shows the traceback",
        file=_write_details(error),
        variable=TRACEBACK,
    )
    return WrightError.from_code("bug", message, fix)


def _of_usage(error: CycloptsError) -> WrightError:
    """Return the error of a command line that names an unknown command or option, or lacks an argument."""
    command = " ".join(("wright", *(error.command_chain or ())))
    message = " ".join(str(error).split()).partition(" Available commands:")[0].rstrip(".")
    fix = _("run `{command} --help`", command=command)
    if isinstance(error, MissingArgumentError) and error.argument and not error.argument.tokens:
        meaning = _(error.argument.parameter.help or "").rstrip(".。")
        message = _("`{command}` needs {name}", command=command, name=error.argument.name)
        message += f" ({meaning})" if meaning else ""
    elif isinstance(error, UnknownOptionError):
        message = _without_bad_guess(message)
        if command == "wright train":
            fix = _("write -- before the program and its options, or run `{command} --help`", command=command)
    elif isinstance(error, UnusedCliTokensError):
        unused = error.unused_tokens or ["-"]
        message = _("unexpected argument `{argument}`", argument=" ".join(unused))
        if unused[0].endswith((".yaml", ".yml")) and not unused[0].startswith("-"):
            fix = _("name the cluster file with {option}", option=cluster_option(Path(unused[0])))
    return WrightError.from_code("usage", message, fix, exit_code=EXIT_USAGE)


def _without_bad_guess(message: str) -> str:
    """Return the message about an unknown option without the suggestion of an option that only looks similar.

    Cyclopts compares names with their hyphens, so that --lr is similar to --cluster.
    """
    about, asks, guess = message.partition(" Did you mean --")
    typed = about.removeprefix("Unknown option: --").rstrip(".")
    guess_name = guess.rstrip("?")
    is_start = len(typed) > 2 and guess_name.startswith(typed)
    is_close = is_start or SequenceMatcher(None, typed, guess_name).ratio() >= _LEAST_SIMILAR
    return message if is_close or not asks else about.rstrip(".")


def _is_of_disk(error: Exception) -> TypeGuard[OSError]:
    return isinstance(error, OSError) and (
        error.errno in (*FULL, *_REFUSED) or (error.errno in _NO_PATH and error.filename is not None)
    )


def _of_disk(error: OSError) -> WrightError:
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    message = f"{path[:_LONGEST_PATH] or _('standard output')}: {error.strerror}"
    if error.errno in _NO_PATH:
        fix = _("name another path")
        return WrightError.from_code("file-unreadable", message, fix, exit_code=EXIT_USAGE)
    if error.errno not in FULL:
        fix = _("choose a path that you may write; files are written whole or not at all")
        return WrightError.from_code("not-writable", message, fix)
    fix = _("free space and run the command again; files are written whole or not at all")
    folder = Path(path).absolute().parent
    if path and folder.is_dir():
        free = human_size(shutil.disk_usage(folder).free)
        message = _("{message} ({free} free)", message=message, free=free)
    return WrightError.from_code("disk-full", message, fix)


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
