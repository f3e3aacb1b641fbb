"""Read new lines of the kernel log, each once: from /dev/kmsg, or from the journal on hosts without their own log."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, Iterator, List, Tuple

from clusterwright.onhost.exporter.commands import command_output
from clusterwright.onhost.exporter.state_files import text_of
from clusterwright.onhost.lib.journal import kernel

Line = Tuple[float, str]  # wall-clock time, text
_LIMIT_S = 20.0  # seconds; a busy host takes seconds to start a program
_MOST = 8192  # bytes of a record (printk's limit is below)


def new(
    state: Dict[str, Any], position: Dict[str, Any], *, proc: str, kmsg: str, journal: bool
) -> List[Line]:
    """Return the lines after `position`, and move it to the end; a position of an earlier boot is dropped."""
    boot = text_of(os.path.join(proc, "sys/kernel/random/boot_id"), 64).strip()
    if not journal and position.get("boot") != boot:
        position.clear()
    position["boot"] = boot
    return list(_journal(position) if journal else _kmsg(state, position, proc, kmsg))


def _kmsg(state: Dict[str, Any], position: Dict[str, Any], proc: str, path: str) -> Iterator[Line]:
    """Yield new records of /dev/kmsg; the open handle in `state` has the position. Overwritten records are skipped."""
    handle = state.get("kmsg")
    if handle is None:
        handle = state["kmsg"] = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    booted = time.time() - float(text_of(os.path.join(proc, "uptime")).split()[0])
    while True:
        try:
            record = os.read(handle, _MOST)
        except BlockingIOError:
            return
        except BrokenPipeError:  # records were overwritten (Documentation/ABI/testing/dev-kmsg)
            continue
        if not record:
            return
        head, _, text = record.decode("utf-8", "replace").partition(";")
        fields = head.split(",")
        if len(fields) < 3 or not (fields[1].isdigit() and fields[2].isdigit()):
            continue
        if int(fields[1]) > position.get("number", -1):
            position["number"] = int(fields[1])
            yield booted + int(fields[2]) / 1e6, text.partition("\n")[0]


def _journal(position: Dict[str, Any]) -> Iterator[Line]:
    """Yield new lines of the journal after the cursor; without one, from the beginning of this boot."""
    start_arguments = [f"--after-cursor={position['cursor']}"] if position.get("cursor") else ["-b"]
    fields = "--output-fields=MESSAGE,__REALTIME_TIMESTAMP"
    output = command_output(kernel("-o", "json", fields, *start_arguments), _LIMIT_S)
    if output is None:
        position.pop("cursor", None)  # the cursor may belong to a removed journal
        raise OSError("journalctl failed")
    for line in output.splitlines():
        try:
            row = json.loads(line)
            when, cursor, message = int(row["__REALTIME_TIMESTAMP"]) / 1e6, row["__CURSOR"], row["MESSAGE"]
        except (ValueError, KeyError, TypeError):
            continue
        position["cursor"] = cursor
        if isinstance(message, str):
            yield when, message
