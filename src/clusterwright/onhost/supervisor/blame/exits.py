"""What is said of a rank that ended: which one, of what, and its last words from the end of its log."""

from __future__ import annotations

import os
from typing import Any, Dict, Optional, Tuple

from clusterwright.onhost.supervisor.blame.words import TAIL, last_line, last_words
from clusterwright.onhost.supervisor.host.generation import EXIT, Generation
from clusterwright.onhost.supervisor.wire import Message


def told(message: Message, generation: Optional[Generation], *, by_launcher: bool = False) -> Dict[str, Any]:
    """The message with the rank, the signal, and words where it had none; of torchrun, only its own words."""
    code = int(message["code"])
    more: Dict[str, Any] = {"signal": -code} if code < 0 else {}
    if generation and not by_launcher:
        more["rank"] = generation.hosts.index(generation.host) * generation.ranks + int(message["local_rank"])
    if generation and not message.get("words"):
        name = "launcher.log" if by_launcher else f"{message['local_rank']}.err"
        said, cause = last_said(os.path.join(generation.log_dir, name), signalled=code < 0)
        more.update({"words": said, "cause": cause} if cause else {"words": said})
    return {**message, **more}


def last_said(path: str, *, signalled: bool) -> Tuple[str, str]:
    """The exception or the line that says why; of a program that left by itself, else its last line, and the cause."""
    log = tail(path)
    said = last_words(log, signalled=signalled)
    line = "" if said or signalled else last_line(log)
    return (f"left with {line!r}", EXIT) if line else (said, "")


def tail(path: str) -> str:
    """The end of a log; empty when there is none."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
