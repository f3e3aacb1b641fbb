"""Lines for a host's kernel log."""

import os
import threading

import pytest

from clusterwright.lab import kernel_log


@pytest.fixture
def pipe(tmp_path):
    """A pipe that nobody reads, beside a host's root."""
    kernel_log.make(tmp_path / "kmsg")
    (tmp_path / "root/run/systemd/journal").mkdir(parents=True)
    return tmp_path / "kmsg"


def test_nothing_is_written_for_a_host_that_is_down(pipe):
    """Nobody reads there, and nobody waits."""
    assert kernel_log.write(pipe, pipe.parent / "root", "lost") is False


def test_a_line_is_a_record_as_the_kernel_makes_them(pipe):
    """Priority, the number that journald expects, time; sent again until journald has moved on."""
    root = pipe.parent / "root"
    seen = root / "run/systemd/journal/kernel-seqnum"
    seen.write_bytes((41).to_bytes(8, "little"))
    reader = os.open(pipe, os.O_RDWR)
    records = []

    def journald():
        for _ in range(2):  # the first is lost, as what is read together with something else
            records.append(os.read(reader, 4096).decode())
        seen.write_bytes((42).to_bytes(8, "little"))

    thread = threading.Thread(target=journald)
    thread.start()
    written = kernel_log.write(pipe, root, "NVRM: Xid (PCI:0000:07:00): 79")
    thread.join()
    os.close(reader)

    assert written
    assert records[0] == records[1]
    head, _, text = records[0].partition(";")
    assert (text, head.split(",")[:2], head.split(",")[3]) == (
        "NVRM: Xid (PCI:0000:07:00): 79\n", ["3", "41"], "-",
    )  # fmt: skip
