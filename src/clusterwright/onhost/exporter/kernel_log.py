"""New lines of the kernel's log, each once: from /dev/kmsg, or from the journal where a host has no log of its own."""

from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, Iterator, List, Tuple

from clusterwright.onhost.exporter.commands import said
from clusterwright.onhost.exporter.kept import text_of

Line = Tuple[float, str]  # when, by the wall's clock, and what
_LIMIT_S = 20.0  # a busy host takes seconds to start a program
_MOST = 8192  # bytes of a record (printk's limit is below)


def new(state: Dict[str, Any], place: Dict[str, Any], *, proc: str, kmsg: str, journal: bool) -> List[Line]:
    """Those that came after `place`, which is moved on; a place of another boot is none."""
    boot = text_of(os.path.join(proc, "sys/kernel/random/boot_id"), 64).strip()
    if not journal and place.get("boot") != boot:
        place.clear()
    place["boot"] = boot
    return list(_journal(place) if journal else _kmsg(state, place, proc, kmsg))


def _kmsg(state: Dict[str, Any], place: Dict[str, Any], proc: str, path: str) -> Iterator[Line]:
    """The handle is kept open: what was read is not read again. A record that was overwritten is passed over."""
    handle = state.get("kmsg")
    if handle is None:
        handle = state["kmsg"] = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    booted = time.time() - float(text_of(os.path.join(proc, "uptime")).split()[0])
    while True:
        try:
            record = os.read(handle, _MOST)
        except BlockingIOError:
            return
        except BrokenPipeError:  # the ring has gone round (Documentation/ABI/testing/dev-kmsg)
            continue
        if not record:
            return
        head, _, text = record.decode("utf-8", "replace").partition(";")
        fields = head.split(",")
        if len(fields) < 3 or not (fields[1].isdigit() and fields[2].isdigit()):
            continue
        if int(fields[1]) > place.get("number", -1):
            place["number"] = int(fields[1])
            yield booted + int(fields[2]) / 1e6, text.partition("\n")[0]


def _journal(place: Dict[str, Any]) -> Iterator[Line]:
    """From its cursor on; without one, from the beginning of this boot."""
    since = [f"--after-cursor={place['cursor']}"] if place.get("cursor") else ["-b"]
    fields = "--output-fields=MESSAGE,__REALTIME_TIMESTAMP"
    told = said(["journalctl", "-k", "-q", "--no-pager", "-o", "json", fields, *since], _LIMIT_S)
    if told is None:
        place.pop("cursor", None)  # it may have been of a journal that is gone
        raise OSError("journalctl gives no answer")
    for line in told.splitlines():
        try:
            row = json.loads(line)
            when, cursor, message = int(row["__REALTIME_TIMESTAMP"]) / 1e6, row["__CURSOR"], row["MESSAGE"]
        except (ValueError, KeyError, TypeError):
            continue
        place["cursor"] = cursor
        if isinstance(message, str):
            yield when, message
