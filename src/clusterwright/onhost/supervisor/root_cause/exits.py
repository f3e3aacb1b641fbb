"""Describe a rank's exit: which rank, by which signal, with which error message from its log."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional, Tuple

from clusterwright.onhost.supervisor.host.generation import EXIT, Generation
from clusterwright.onhost.supervisor.root_cause.error_lines import TAIL, extract_error_message, last_line
from clusterwright.onhost.supervisor.wire import Message


def describe_exit(
    message: Message, generation: Optional[Generation], *, by_launcher: bool = False
) -> Dict[str, Any]:
    """Return the agent's message about an exit, completed with rank, signal and an error message from the log.

    The log is read only if the rank has reported no error; with `by_launcher` it is the launcher's.
    """
    code = int(message["code"])
    more: Dict[str, Any] = {"signal": -code} if code < 0 else {}
    if generation and not by_launcher:
        more["rank"] = generation.hosts.index(generation.host) * generation.ranks + int(message["local_rank"])
    if generation and not message.get("message"):
        name = "launcher.log" if by_launcher else f"{message['local_rank']}.err"
        output, cause = read_last_output(os.path.join(generation.log_dir, name), signalled=code < 0)
        more.update({"message": output, "cause": cause} if cause else {"message": output})
    return {**message, **more}


def read_last_output(path: str, *, signalled: bool) -> Tuple[str, str]:
    """Return the error message in a log file and ""; without one the last line, and EXIT as cause.

    With `signalled` only the error message, which may be "".
    """
    log = tail(path)
    output = extract_error_message(log, signalled=signalled)
    line = "" if output or signalled else last_line(log)
    return (f"exited with {line!r}", EXIT) if line else (output, "")


def tail(path: str) -> str:
    """Return the last TAIL bytes of a log file as text; "" if it cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
