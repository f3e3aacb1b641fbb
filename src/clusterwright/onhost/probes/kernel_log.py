"""Prints the kernel log since boot, filtered, and related facts, as one JSON object.

Of the journal's lines (or the ring buffer's if the journal has none) it keeps warnings and worse, and those that match
the first argument; only the latest if there are many.
"""

import glob
import json
import os
import re
import sys
import time
from typing import Any, Dict, Iterator, List, Tuple

from clusterwright.onhost.lib import journal as trusted
from clusterwright.onhost.lib import processes

Row = Tuple[float, int, str]

MOST = 2000  # our choice: with 400 characters each below the reader's limit for one fact
MAX_CHARS = 400
WARNING = 4  # syslog(2)
RECORD_BYTES = 8192  # at least the kernel's limit of a record (PRINTK_MESSAGE_MAX, 2048)


def run(argv: List[str]) -> Iterator[str]:
    """Yield the lines of a command's output; none if it cannot be started."""
    try:
        process = processes.start(argv, stdout=processes.PIPE, stderr=processes.DEVNULL)
    except OSError:
        return
    out: Any = process.stdout
    for line in out:
        yield line.decode(errors="replace")
    process.wait()


FIELDS = ("-b", "-o", "json", "--output-fields=PRIORITY,MESSAGE")


def journal(argv: List[str]) -> Iterator[Row]:
    """Yield (time, priority, text) of each entry that the command prints."""
    for entry in filter(None, map(trusted.parse_entry, run(argv))):
        for text in trusted.message_lines(entry.text):
            yield entry.time, entry.priority, text


def ring_buffer(path: str = "/dev/kmsg") -> Iterator[Row]:
    """Yield (time, priority, text) of each line of the kernel's ring buffer; its times are relative to boot.

    A record is one message, in which line ends are escaped; dmesg prints a line end in a user's name as one.
    """
    with open("/proc/stat") as file:
        boot = next(float(line.split()[1]) for line in file if line.startswith("btime"))
    for record in records(path):
        match = re.match(rb"(\d+),\d+,(\d+),[^;]*;(.*)", record)
        if match:
            text = re.sub(rb"\\x([0-9a-f]{2})", lambda sign: bytes([int(sign.group(1), 16)]), match.group(3))
            for line in trusted.message_lines(text.decode(errors="replace")):
                yield boot + int(match.group(2)) / 1e6, int(match.group(1)) % 8, line


def records(path: str) -> Iterator[bytes]:
    """Yield the records of the kernel's ring buffer that are there now, each from one read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        while True:
            try:
                record = os.read(handle, RECORD_BYTES)
            except BrokenPipeError:  # overwritten before it was read: the next read begins at the oldest
                continue
            if not record:
                return
            yield record
    except OSError:  # BlockingIOError after the last one
        return
    finally:
        os.close(handle)


def minors() -> Dict[str, int]:
    """Return the minor number of each GPU by PCI address, from the driver's files."""
    minor_numbers: Dict[str, int] = {}
    for path in glob.glob("/proc/driver/nvidia/gpus/*/information"):
        with open(path) as file:
            number = re.search(r"^Device Minor:\s*(\d+)", file.read(), re.MULTILINE)
        if number:
            minor_numbers[path.split("/")[-2]] = int(number.group(1))
    return minor_numbers


def in_container() -> bool:
    """Return True if this host is a container, so that the kernel is that of another system."""
    try:
        with open("/proc/1/environ", "rb") as file:
            return b"container=" in file.read()
    except OSError:
        return False


def main() -> None:
    """Print as JSON the newest kernel log lines that are warnings or match argument 1, and facts about the host."""
    telling = re.compile(sys.argv[1])
    container, source, count = in_container(), "", 0
    rows: List[Any] = []
    # A container's journal has the lines written to its /dev/kmsg; dmesg would show those of the machine.
    for name, lines in (
        ("journal", journal(trusted.kernel(*FIELDS))),
        ("dmesg", iter(()) if container else ring_buffer()),
    ):
        for when, priority, text in lines:
            source = name
            if priority <= WARNING or telling.search(text):
                count += 1
                rows.append([round(when, 3), priority, text.strip()[:MAX_CHARS]])
                del rows[:-MOST]
        if source:
            break
    for when, priority, text in journal(trusted.repairs(*FIELDS)):
        if text.startswith("repaired "):
            count += 1
            rows.append([round(when, 3), priority, "clusterwright " + text.strip()[:MAX_CHARS]])
    rows.sort(key=lambda line: line[0])
    report = {"now": time.time(), "container": container, "source": source, "lines": rows}
    json.dump(dict(report, left_out=count - len(rows), minors=minors()), sys.stdout)


if __name__ == "__main__":
    main()
