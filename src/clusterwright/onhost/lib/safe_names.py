"""Names that users choose: in lists, and in texts with commands to copy; standard library only, Python 3.6 or later."""

import os
import re
import shlex
from typing import Iterable

LONGEST = 200  # characters
_SAFE = re.compile("[A-Za-z0-9._-]{1,%d}" % LONGEST)
_UNSAFE = re.compile("[^A-Za-z0-9._-]")
_COMMAND = re.compile("`[^`]*`")
_HOLE = "\0"


def random_mark() -> str:
    """Return a random separator for slurm.jobs.parse_queue, which no user can know when naming a job."""
    return os.urandom(8).hex()  # as `secrets` does, whose import takes 4 ms of each start of a program


def is_safe_name(name: str) -> bool:
    """Return True for a name that has no meaning to a shell, a chat or a browser, and that is no option."""
    return bool(_SAFE.fullmatch(name)) and not name.startswith("-")


def safe_name(name: str) -> str:
    """Return the name with each character that is not safe (see `is_safe_name`) as `_`."""
    text = _UNSAFE.sub("_", name[:LONGEST])
    return "_" + text[1:] if text.startswith("-") else text


def without_unsafe_commands(text: str, values: Iterable[str], most: int = LONGEST) -> str:
    """Return the text with its commands (between backticks) safe to copy; `values` are untrusted names in it.

    In a command, a value that is no safe name becomes NAME; elsewhere it is quoted for a shell, without backticks.
    """
    unsafe = sorted({value for value in values if value and not is_safe_name(value)}, key=len, reverse=True)
    for number, value in enumerate(unsafe):
        text = text.replace(value, "%s%d%s" % (_HOLE, number, _HOLE))
    hole = re.compile(_HOLE + "([0-9]+)" + _HOLE)
    text = _COMMAND.sub(lambda command: hole.sub("NAME", command[0]), text)
    return hole.sub(lambda match: shlex.quote(unsafe[int(match[1])][:most]).replace("`", "_"), text)
