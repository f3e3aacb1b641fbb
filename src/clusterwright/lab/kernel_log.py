"""A host's own kernel log: written lines reach that host's journal as kernel messages, and no other host's.

Hosts share the machine's kernel, whose log they cannot read. A host's /dev/kmsg is a pipe that its
journald reads; `journalctl -k` shows its lines, and `dmesg` in a host runs that.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

INSIDE = "/dev/kmsg"
ERROR = 3  # syslog(3): the priority of XIDs in NVIDIA's driver
_SEQUENCE_FILE = "run/systemd/journal/kernel-seqnum"  # 8 bytes: the number that journald expects next
_TIMEOUT_S, _RETRY_S = 5.0, 0.5

# Runs at each boot: the first line names the kernel, as a real log does. An empty log would look like that of a
# container that has none. Repeated until journald has read it, as in `write`.
AT_BOOT = f"""first_line() {{
  read -r up _ < /proc/uptime
  record="6,0,${{up%.*}}${{up#*.}}0000,-;Linux version $(uname -r): the kernel of the machine, the log of this host"
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    echo "$record" > {INSIDE}
    sleep 0.5
    [ "$(od -An -t u8 -N 8 /{_SEQUENCE_FILE} | tr -d ' ')" = 0 ] || return 0
  done
}}
first_line &
"""

DMESG = """#!/bin/sh
# Made by clusterwright for a virtual host: the kernel's log of this host, as its journal has it.
follow=
for word; do
  case $word in -w | -W | --follow | --follow-new) follow=--follow ;; esac
done
journalctl --quiet --dmesg --boot --no-pager --no-hostname --output=short-monotonic $follow |
  sed -u 's/^\\(\\[[^]]*\\]\\) kernel: /\\1 /'
"""


def make(pipe: Path) -> None:
    """Create the named pipe for a lab host's kernel log, unless it exists.

    It is for root only, as a writer blocks without a reader.
    """
    if not pipe.exists():
        os.mkfifo(pipe, 0o600)


def write(pipe: Path, root: Path, text: str, *, priority: int = ERROR) -> bool:
    """Write one line to a lab host's kernel log, and wait until its journald has it; return False if nothing reads it.

    `root` is the root of the host's process 1. Two lines at once would be read as one, and a line read together with
    another is lost, so it is sent again; journald skips a repeated one by its number.
    """
    number, uptime_us = _expected(root), time.monotonic_ns() // 1000
    record = f"{priority},{number},{uptime_us},-;{text}\n".encode()
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        if not _send(pipe, record):
            return False
        retry_time = time.monotonic() + _RETRY_S
        while time.monotonic() < retry_time:
            if _expected(root) != number:
                return True
            time.sleep(0.01)
    return False


def _send(pipe: Path, record: bytes) -> bool:
    try:
        handle = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # ENXIO: no reader
        return False
    try:
        os.write(handle, record)
    except BlockingIOError:  # full: the reader is frozen
        return False
    finally:
        os.close(handle)
    return True


def _expected(root: Path) -> int:
    with suppress(OSError):
        return int.from_bytes((root / _SEQUENCE_FILE).read_bytes()[:8], "little")
    return 0
