"""XIDs of the kernel's log: each once, in whatever order hosts, drivers and exporters are started again."""

import os
import time
from pathlib import Path

import pytest

from clusterwright.onhost.exporter import state_files
from clusterwright.onhost.exporter.collectors import xids

XID79 = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
GONE = "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."
XID31 = "NVRM: Xid (PCI:0000:86:00): 31, pid=4242, name=python, Ch 00000008, MMU Fault"
SXID = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 12 LTSSM Fault Up"


class Log:
    """A kernel's log as /dev/kmsg gives it, a record a read: a pipe of packets in its place."""

    def __init__(self):
        self.out, self.into = os.pipe2(os.O_DIRECT)
        self.path = f"/proc/self/fd/{self.out}"
        self.number = 0
        self.records = []

    def say(self, *lines, second=100):
        """Lines at that second of the uptime; those of before are there for who opens it anew."""
        for line in lines:
            self.records.append(f"3,{self.number},{second * 1_000_000},-;{line}\n SUBSYSTEM=pci\n".encode())
            self.number += 1

    def open_anew(self):
        """As for a process that has just begun to read: all that the ring holds."""
        for record in self.records:
            os.write(self.into, record)

    def go_on(self, count):
        """Only the newest, for a process that reads on."""
        for record in self.records[-count:]:
            os.write(self.into, record)


@pytest.fixture
def log(settings, tmp_path):
    """A log, and two GPUs in /proc."""
    (tmp_path / "proc/sys/kernel/random").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("one\n")
    (tmp_path / "proc/uptime").write_text("1000.00 1.00\n")
    for minor, pci in enumerate(("0000:3b:00.0", "0000:86:00.0")):
        folder = tmp_path / "proc/driver/nvidia/gpus" / pci
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"GPU UUID: \t GPU-{minor}\nDevice Minor: \t {minor}\n")
    return Log()


@pytest.fixture
def look(settings, samples, log):
    """`look(state)`: one round of a process that has that state."""
    return lambda state: samples(xids.collect(settings(gpus=2, kmsg=log.path), state))


def total(found, gpu, xid):
    """How often."""
    return found.get(("gpu_xid_total", ("gpu", gpu), ("xid", xid)))


def test_each_line_is_one_event(log, look):
    """Of the GPU that has that place on the bus; other lines are none."""
    log.say(XID31, XID31, SXID, "usb 1-1: new device")
    log.open_anew()
    found = look({})

    assert total(found, "1", "31") == 2
    assert total(found, "0000:c1:00", "sxid-20034") == 1
    assert len([key for key in found if key[0] == "gpu_xid_total"]) == 2


def test_a_gpu_that_says_twice_that_it_is_gone_is_gone_once(log, look):
    """With the number, and without; without alone counts, too."""
    log.say(XID79, GONE)
    log.say(GONE, second=700)
    log.open_anew()

    assert total(look({}), "0", "79") == 2


def test_a_new_process_counts_nothing_twice(log, look):
    """It reads the whole ring again, and knows up to where it was counted."""
    log.say(XID31)
    log.open_anew()
    assert total(look({}), "1", "31") == 1
    log.say(XID31)
    log.open_anew()

    assert total(look({}), "1", "31") == 2


def test_a_process_that_goes_on_reads_on(log, look):
    """The same state, another line."""
    state = {}
    log.say(XID31)
    log.open_anew()
    look(state)
    log.say(XID31)
    log.go_on(1)

    assert total(look(state), "1", "31") == 2
    assert total(look(state), "1", "31") == 2


def test_after_a_reboot_numbers_begin_anew_and_counts_go_on(log, look, tmp_path):
    """The ring of the new boot begins at 0."""
    log.say(XID31, XID31)
    log.open_anew()
    look({})
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text("two\n")
    log.records, log.number = [], 0
    log.say(XID31)
    log.open_anew()

    assert total(look({}), "1", "31") == 3


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"rows": '])
def test_what_was_kept_and_is_broken_counts_as_nothing(log, look, settings, broken):
    """The ring still has this boot's events."""
    Path(settings().state, "xids.json").write_text(broken)
    log.say(XID31)
    log.open_anew()

    assert total(look({}), "1", "31") == 1


def test_a_disk_that_takes_nothing_loses_no_count_now(log, look, settings, monkeypatch, capsys):
    """It is said, and the values go on."""
    monkeypatch.setattr(
        state_files.os, "fsync", lambda _file: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    log.say(XID31)
    log.open_anew()

    assert total(look({}), "1", "31") == 1
    assert "No space left" in capsys.readouterr().err


def test_when_it_was_last_is_told(log, look):
    """A counter that begins at 1 rises for nobody, so alerts ask for the moment."""
    log.say(XID31, second=900)  # the host has been up for 1000 s
    log.open_anew()
    found = look({})

    when = found["gpu_xid_timestamp_seconds", ("gpu", "1"), ("xid", "31")]
    assert time.time() - when == pytest.approx(100, abs=30)


def test_this_machines_own_log_can_be_read(settings, samples):
    """The real /dev/kmsg, whatever it holds."""
    if not os.access("/dev/kmsg", os.R_OK):
        pytest.skip("/dev/kmsg cannot be read here")
    state = {}
    xids.kernel_log.new(state, place := {}, proc="/proc", kmsg="/dev/kmsg", journal=False)

    assert place["boot"]
    assert (
        xids.kernel_log.new(
            state, {**place, "number": 1 << 60}, proc="/proc", kmsg="/dev/kmsg", journal=False
        )
        == []
    )
