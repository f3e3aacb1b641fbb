"""XIDs of the kernel's log: each once, in whatever order hosts, drivers and exporters are started again."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from clusterwright.onhost.exporter import kernel_log, state_files
from clusterwright.onhost.exporter.collectors import xids

XID79 = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
GONE = "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus."
XID31 = "NVRM: Xid (PCI:0000:86:00): 31, pid=4242, name=python, Ch 00000008, MMU Fault"
SXID = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 12 LTSSM Fault Up"


JOURNALCTL = """#!{python}
import json, os, sys
rows = [json.loads(line) for line in open({rows!r})]
[start] = [each for each in sys.argv if each == "-b" or each.startswith("--after-cursor=")]
cursors = [row["__CURSOR"] for row in rows]
if start != "-b":
    if start.partition("=")[2] not in cursors:
        sys.exit("Failed to seek to cursor: Invalid argument")
    rows = rows[cursors.index(start.partition("=")[2]) + 1 :]
else:
    rows = [row for row in rows if row["boot"] == rows[-1]["boot"]]
for row in rows:
    print(json.dumps(row, ensure_ascii=False))
"""


class Log:
    """A kernel log in a journal: `journalctl` prints its entries behind a cursor, or those of the newest boot."""

    def __init__(self, folder):
        self.rows, self.boot, self.count = folder / "rows", 1, 0
        self.rows.touch()
        (folder / "journalctl").write_text(JOURNALCTL.format(python=sys.executable, rows=str(self.rows)))
        (folder / "journalctl").chmod(0o755)

    def say(self, *lines, second=100):
        """Append lines of that second."""
        with self.rows.open("a") as file:
            for line in lines:
                row = {
                    "__CURSOR": f"s={self.count}",
                    "__REALTIME_TIMESTAMP": str(second * 1_000_000 + self.count),
                    "MESSAGE": line,
                    "boot": self.boot,
                }
                file.write(json.dumps(row) + "\n")
                self.count += 1

    def restart(self):
        """Another boot; the journal retains the one before."""
        self.boot += 1

    def lose_cursors(self):
        """Another journal with the same lines: its cursors are others."""
        self.rows.write_text(self.rows.read_text().replace('"s=', '"t='))


@pytest.fixture
def log(settings, tmp_path, monkeypatch):
    """A log, and two GPUs in /proc."""
    for minor, pci in enumerate(("0000:3b:00.0", "0000:86:00.0")):
        folder = tmp_path / "proc/driver/nvidia/gpus" / pci
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"GPU UUID: \t GPU-{minor}\nDevice Minor: \t {minor}\n")
    # The exporter finds its programs by PATH, which is the only seam that a program on a host has.
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Log(tmp_path)


@pytest.fixture
def look(settings, samples, log):
    """`look(state)`: one round of a process that has that state."""
    return lambda state: samples(xids.collect(settings(gpus=2), state))


def total(found, gpu, xid):
    """How often."""
    return found.get(("gpu_xid_total", ("gpu", gpu), ("xid", xid)))


def test_each_line_is_one_event(log, look):
    """Of the GPU that has that place on the bus; other lines are none."""
    log.say(XID31, XID31, SXID, "usb 1-1: new device")
    found = look({})

    assert total(found, "1", "31") == 2
    assert total(found, "0000:c1:00", "sxid-20034") == 1
    assert len([key for key in found if key[0] == "gpu_xid_total"]) == 2


def test_a_gpu_that_says_twice_that_it_is_gone_is_gone_once(log, look):
    """With the number, and without; without alone counts, too."""
    log.say(XID79, GONE)
    log.say(GONE, second=700)

    assert total(look({}), "0", "79") == 2


def test_a_new_process_counts_nothing_twice(log, look):
    """Its state has the cursor up to which lines are counted."""
    log.say(XID31)
    assert total(look({}), "1", "31") == 1
    log.say(XID31)

    assert total(look({}), "1", "31") == 2


def test_a_process_that_goes_on_reads_on(log, look):
    """The same state, another line."""
    state = {}
    log.say(XID31)
    look(state)
    log.say(XID31)

    assert total(look(state), "1", "31") == 2
    assert total(look(state), "1", "31") == 2


def test_after_a_reboot_counts_go_on(log, look):
    """Lines behind the cursor are of the old boot and of the new one."""
    log.say(XID31, XID31)
    look({})
    log.say(XID31)
    log.restart()
    log.say(XID31)

    assert total(look({}), "1", "31") == 4


def test_a_cursor_that_the_journal_has_no_more_counts_nothing_twice(log, look):
    """The collector fails once, then reads this boot again without the lines that it has counted."""
    state = {}
    log.say(XID31, XID31)
    look(state)
    log.lose_cursors()
    log.say(XID31)
    with pytest.raises(OSError, match="journalctl failed"):
        look(state)

    assert total(look(state), "1", "31") == 3


def test_the_name_of_a_process_hides_no_xid(log, look):
    """A user chooses it: other line ends, and bytes that are no text, which the journal prints as numbers."""
    log.say("NVRM: Xid (PCI:0000:86:00): 31, pid=1, name=a\u2028b\x85c, Ch 00000008")
    log.say(list(b"NVRM: Xid (PCI:0000:86:00): 31, pid=1, name=\xff\xfe, Ch 00000008"))

    assert total(look({}), "1", "31") == 2


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"rows": '])
def test_what_was_kept_and_is_broken_counts_as_nothing(log, look, settings, broken):
    """The journal still has this boot's events."""
    Path(settings().state, "xids.json").write_text(broken)
    log.say(XID31)

    assert total(look({}), "1", "31") == 1


def test_a_disk_that_takes_nothing_loses_no_count_now(log, look, settings, monkeypatch, capsys):
    """It is said, and the values go on."""
    monkeypatch.setattr(
        state_files.os, "fsync", lambda _file: (_ for _ in ()).throw(OSError(28, "No space left"))
    )
    log.say(XID31)

    assert total(look({}), "1", "31") == 1
    assert "No space left" in capsys.readouterr().err


def test_when_it_was_last_is_told(log, look):
    """A counter that begins at 1 rises for nobody, so alerts ask for the moment."""
    log.say(XID31, second=900)

    assert look({})["gpu_xid_timestamp_seconds", ("gpu", "1"), ("xid", "31")] == pytest.approx(900, abs=1)


def test_this_machines_own_log_can_be_read():
    """The real journal, whatever it contains: behind its end there is nothing."""
    if shutil.which("journalctl") is None:
        pytest.skip("there is no journalctl here")
    kernel_log.read_new_lines(position := {})

    assert not position or kernel_log.read_new_lines(position) == []


@pytest.mark.parametrize("end", ["\n", " "])
def test_a_gpu_that_is_lost_when_the_driver_starts_is_counted(log, look, end):
    """One message of three lines, or of one, with the address in the first; an Xid after it is its own event."""
    lost = end.join(
        [
            "NVRM: The NVIDIA GPU 0000:3b:00.0",
            f"{'NVRM: ' if end != ' ' else ''}(PCI ID: 10de:26b5) installed in this system has",
            f"{'NVRM: ' if end != ' ' else ''}fallen off the bus and is not responding to commands.",
        ]
    )
    log.say(lost, XID31)
    found = look({})

    assert (total(found, "0", "79"), total(found, "1", "31")) == (1, 1)


def test_a_gpu_that_the_driver_does_not_support_is_not_lost(log, look):
    """Its message begins as that of a lost one."""
    log.say(
        "NVRM: The NVIDIA GPU 0000:3b:00.0 (PCI ID: 10de:1db4)\nNVRM: installed in this system is not supported"
    )
    assert total(look({}), "0", "79") is None
