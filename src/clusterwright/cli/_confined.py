"""Run a command that reads files of users in one folder only: python -m clusterwright.cli._confined FOLDER WORDS."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

from clusterwright.cli import main
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import UnsafeFileError, confine

_EVENTS = ("open", "os.listdir", "os.scandir")  # of Python, before it opens a path


def refuse_links_out(folder: str) -> None:
    """Make this process refuse to open what a path through the folder leads to outside of it.

    It cannot be undone, and holds for all modules. Python's modules are exempt, because an environment in the folder
    may link to them, unless the folder itself has modules.
    """
    top = _with_slash(os.path.realpath(folder))
    modules = tuple(
        _with_slash(str(Path(entry).absolute())) for entry in sys.path if not _is_above(entry, top)
    )

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in _EVENTS or not isinstance(arguments[0], str | bytes | os.PathLike):
            return  # a number is a handle
        path = os.fsdecode(arguments[0])
        if event == "open" and arguments[2] & os.O_NOFOLLOW and "/" not in path:
            return  # a name in a folder that is open already, and no link
        absolute = str(Path(path).absolute())  # with `..`, which leads elsewhere behind a link
        if absolute.startswith(modules) and ".." not in absolute:
            return
        if _leads_out(absolute, top):
            raise UnsafeFileError(errno.EXDEV, _("a link leads out of {folder}", folder=folder), path)

    sys.addaudithook(refuse)


def _leads_out(absolute: str, top: str) -> bool:
    """Return True if an absolute path goes through the folder `top` and ends outside of it."""
    if _with_slash(os.path.realpath(absolute)).startswith(top):
        return False
    parts = absolute.split("/")
    parents = ("/".join(parts[:count]) or "/" for count in range(1, len(parts)))
    return any(_with_slash(os.path.realpath(parent)).startswith(top) for parent in parents)


def _is_above(entry: str, top: str) -> bool:
    return top.startswith(_with_slash(os.path.realpath(entry)))


def _with_slash(path: str) -> str:
    return path.rstrip("/") + "/"


if __name__ == "__main__":
    confine(sys.argv[1])
    refuse_links_out(sys.argv.pop(1))
    main()
