"""What a user writes to the journal or into the kernel's log is not believed."""

import re
from pathlib import Path

import pytest
from tests.check.kernel.log_texts import read

from clusterwright.check.kernel.events import events
from clusterwright.check.kernel.faults import find_faults
from clusterwright.check.kernel.lines import KernelLine
from clusterwright.onhost.exporter.collectors import xids
from clusterwright.onhost.lib import journal

SRC = Path(__file__).parents[3] / "src" / "clusterwright"
FOLDERS = ("onhost", "check/facts", "diagnose/gather", "heal", "monitor", "provision/render")
READERS = {
    "onhost/lib/journal.py",
    "provision/render/job_hooks.py",  # journalctl -k, in place of dmesg
    "provision/render/hooks/gpus",  # as onhost/lib/journal.py: `repairs`
}
XID = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."
OOM = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/user.slice/{},task=x"


def _calls(line):
    """Whether a line of source starts the program, and does not just name it to a person."""
    return re.search(r"""["']journalctl["']|journalctl -""", line) is not None and "`" not in line


def test_every_reader_of_the_journal_is_the_trusted_one():
    """A command of its own would read what any user has written."""
    files = [path for folder in FOLDERS for path in (SRC / folder).rglob("*") if path.suffix in ("", ".py")]
    found = {
        path.relative_to(SRC).as_posix()
        for path in files
        if path.is_file() and any(map(_calls, path.read_text().splitlines()))
    }

    assert found == READERS


@pytest.mark.parametrize(
    "argv",
    [journal.kernel(), journal.of_root_unit("slurmd.service"), journal.of_unit("munge.service"), journal.of_systemd(),
     journal.of_hooks(), journal.repairs()],
)  # fmt: skip
def test_no_command_reads_an_entry_by_what_its_writer_chooses_alone(argv):
    """Each alternative of the matches has a field that journald itself sets."""
    alternatives = " ".join(argv).split(" + ")

    assert all(re.search(r" -k|_UID=|_PID=|_SYSTEMD_UNIT=|_TRANSPORT=", text) for text in alternatives)


def test_the_hook_reads_repairs_by_the_same_fields():
    """A text of its own, since it is shell on hosts."""
    text = (SRC / "provision/render/hooks/gpus").read_text().replace("\\\n    ", "")

    assert journal.shell(journal.repairs("-b", "-o", "short-monotonic")) in text


@pytest.mark.parametrize(
    "text",
    [OOM.format(XID), f"Tasks in /{XID} killed as a result of limit of /x", f"x {XID}",
     "NVRM: GPU[9155]: segfault at 0 ip 0 sp 7 error 6 in GPU at PCI 0000:3b:00 has fallen off the bus[116b,1000]",
     "NVRM: GPU 3b:0[91]: segfault at 0 ip 0 sp 7 error 6 in x 0000:3b:00 GPU has fallen off the bus[116b,1000]",
     "a: SXid (1): 2,[9155]: segfault at 0 ip 0 sp 7 error 6 in Fatal[116b,1000]",
     "NVRM: API mismatch: the client has the version 0000:3b:00 GPU has fallen off the bus, but"],
)  # fmt: skip
def test_a_name_in_a_line_of_the_kernel_is_no_xid(text):
    """Users name their control groups; the kernel logs the name when it kills their process."""
    assert events([KernelLine(1.0, 3, text)]) == ()
    assert xids.read(text) is None
    assert events([KernelLine(1.0, 3, XID)])[0].number == 79


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\u2028"])
@pytest.mark.parametrize("start", ["a.out[9]: segfault at 0 ip 0 sp 7 error 14 in x", "tmpfs: Unknown parameter 'x",
                                   "NVRM: API mismatch: the client has the version x",
                                   "NVRM: Xid (PCI:0000:3b:00): 13, pid=1, name=x"])  # fmt: skip
def test_a_line_end_in_a_name_begins_no_message(start, end):
    """An entry of the journal has it as it is."""
    assert journal.message_lines(f"{start}{end}{XID}[400000+1000]") == [start]


def test_a_lost_gpu_is_one_message_of_several_lines():
    """The driver logs it in one call."""
    lines = ["NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: (PCI ID: 10de:26b5) installed in this system has",
             "NVRM: fallen off the bus and is not responding to commands."]  # fmt: skip
    assert journal.message_lines("\n".join(lines)) == lines
    found = events([KernelLine(1.0, 3, text) for text in lines])
    assert [(event.number, event.pci) for event in found] == [(79, "0000:b3:00")]


def test_a_name_in_a_line_of_the_kernel_repairs_nothing():
    """Else a user would hide a fault."""
    lines = read(f"[1.0] {XID}\n[2.0] {OOM.format('clusterwright: repaired 0000:3b:00')}\n")

    assert [event.number for event in events(lines)] == [79]


@pytest.mark.parametrize(
    "text",
    [
        "Memory cgroup out of memory: Killed process 5 (soft lockup) total-vm:1kB, anon-rss:1kB",
        OOM.format("Kernel panic"),
        "Oops[77]: segfault at 0 ip 1 sp 2 error 4 in libx.so[1+1]",
        "x[77]: segfault at 0 ip 1 sp 2 error 4 in EDAC MC0: 1 UE memory[1+1]",
        "traps: a.out[77] general protection fault ip:1 sp:2 error:0 in a.out[1+1]",
        "INFO: task hard LOCKUP:77 blocked for more than 120 seconds.",
        "[   77]  1000    77     1     1   1     0    0  Kernel panic",
        "soft lockup invoked oom-killer: gfp_mask=0x0, order=0, oom_score_adj=0",
        "CPU: 1 PID: 77 Comm: Kernel panic Tainted: P",
        "process '/home/m/Kernel panic' started with executable stack",
        "audit: type=1400 audit(1.1:2): apparmor=DENIED name=/home/m/Oops comm=x",
    ],
)
def test_a_name_in_a_line_of_the_kernel_is_no_fault_of_the_host(text):
    """A process can have any name of 15 characters, a file and a control group any at all."""
    found = find_faults([KernelLine(10.0, 3, text)], 11.0)

    assert [fault.fault.name for fault in found if fault.fault.severity == "fail"] == []
