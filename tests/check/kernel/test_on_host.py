"""What the programs on the hosts know of Xids is what `wright check` knows, row by row and log by log."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.check.kernel.log_texts import read

from clusterwright.check.kernel.events import events
from clusterwright.check.kernel.judge import judge
from clusterwright.check.kernel.on_host import on_host
from clusterwright.check.kernel.xids import table

HOOKS = Path(__file__).parents[3] / "src" / "clusterwright" / "provision" / "render" / "hooks"
AWKS = [name for name in ("mawk", "gawk", "original-awk", "busybox") if shutil.which(name)]
GPUS = ("PCI:0000:3b:00", "0000:AF:00", "PCI:00010000:3b:00", "3b:00.0")
WORDS = (
    "", "pid=12, Ch 1", "Row Remapper: Failed to remap row", "NETIR Nonfatal Unit 1", "NETIR Fatal", "LINK_DOWN on 3",
    "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "to 0x4 (Drain and Reset)",
    "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "caused by previous Xid 63",
)  # fmt: skip
GRAVE = sorted(number for number in table() if f"\n{number}\t" in on_host())

number = st.one_of(st.sampled_from([*GRAVE, 13, 31, 43, 45, 63]), st.integers(1, 200))
line = st.one_of(
    st.builds("NVRM: Xid ({}): {}, {}".format, st.sampled_from(GPUS), number, st.sampled_from(WORDS)),
    st.builds("NVRM: Xid ({}): {}".format, st.sampled_from(GPUS), number),
    st.builds("nvidia-nvswitch1: SXid ({}): 20034, {}".format, st.sampled_from(GPUS),
              st.sampled_from(["Fatal, Link 48", "Non-fatal, Link 48", "Severity 0 x", "Severity 5 x"])),
    st.builds("clusterwright repaired {}".format, st.sampled_from(GPUS)),
    st.sampled_from(["NVRM: API mismatch: the client has the version GPU has fallen off the bus, but",
                     "NVRM: GPU[91]: segfault at 0 ip 0 sp 7 error 6 in GPU 0000:3b:00 has fallen off the bus[1]",
                     "NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.", "NVRM: GPU at PCI:0000:af:00: GPU-1",
                     "NVRM: a GPU has fallen off the bus", "usb 1-1: new device", "Xid (of no driver): 79"]),
)  # fmt: skip
gap = st.sampled_from([0.25, 1.0, 179.0, 181.0, 3000.0, 40000.0, 86399.0, 86401.0])
log = st.lists(st.tuples(gap, line), max_size=9)


def test_the_hosts_table_is_made_from_this_one():
    """`python -m clusterwright.cli._reference --write` writes it anew."""
    assert (HOOKS / "xids").read_text() == on_host()


def test_no_grave_row_has_a_rule_that_a_host_would_not_follow():
    """A host does not ask whether several GPUs say the same, and knows what holds until boot of its own rows alone."""
    others = [row for number, row in table().items() if number not in GRAVE]

    assert all(table()[each].spread is None and table()[each].ignore_after != "any" for each in GRAVE)
    assert all(row.holds != "boot" for row in others)
    assert all("\t" not in row.meaning + row.action for row in table().values())


def as_log(lines):
    """The text, with uptimes, and the time after it."""
    now, text = 10.0, ""
    for after, said in lines:
        now += after
        text += f"[{now:12.6f}] {said}\n"
    return now, text


def by_check(text, now):
    """What `wright check` finds grave."""
    found = judge(events(read(text)), now)
    return sorted((each.number, each.pci) for each in found if each.severity == "fail")


def by_host(awk, text, now):
    """What the host finds grave."""
    argv = [
        *([awk, "awk"] if awk == "busybox" else [awk]),
        "-v",
        f"known={HOOKS / 'xids'}",
        "-v",
        f"now={now}",
    ]
    done = subprocess.run(
        [*argv, "-v", "since=0", "-f", HOOKS / "xids.awk"], input=text, capture_output=True, text=True, check=True
    )  # fmt: skip
    rows = done.stdout.splitlines()
    return sorted((int(row.split()[0]), row.rpartition("(")[2].rstrip(")")) for row in rows)


@pytest.mark.parametrize("awk", AWKS)
@settings(max_examples=150, deadline=None)
@given(lines=log, wait=gap)
@example(lines=[(1.0, "NVRM: Xid (PCI:0000:3b:00): 119, pid=1, name=nvidia-smi, Timeout")], wait=1.0)
@example(lines=[(1.0, "NVRM: Xid (3b:00): 94, x"), (200.0, "NVRM: Xid (3b:00): 94, x")], wait=1.0)
@example(lines=[(1.0, "NVRM: Xid (3b:00): 63, x"), (2.0, "NVRM: Xid (3b:00): 94, x")], wait=1.0)
def test_a_host_and_a_check_judge_a_log_alike(awk, lines, wait):
    """Any log of Xids: bursts, time, what follows from another, what comes again, the line's own words, fixes."""
    now, text = as_log(lines)

    assert by_host(awk, text, now + wait) == by_check(text, now + wait)


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize("indent", ["", "              "])
def test_a_line_without_a_time_is_no_message(awk, indent):
    """It is the rest of a name with a newline that a user chose and the kernel quotes."""
    text = f"[    9.000000] a.out[9]: segfault in x\n{indent}NVRM: Xid (PCI:0000:3b:00): 79, pid=1, x[400000+1000]\n"
    assert by_host(awk, text, 12.0) == []


@pytest.mark.parametrize("awk", AWKS)
def test_the_names_of_a_process_and_its_file_are_no_lost_gpu(awk):
    """The line of a crash begins with the process."""
    text = "[    9.000000] NVRM: GPU{}[9]: segfault at 0 ip 0 sp 7 error 6 in GPU 3b:00 has fallen off the bus[1]\n"
    for name in ("", " at 3b", " 3b:0", ":"):
        assert by_host(awk, text.format(name), 12.0) == by_check(text.format(name), 12.0) == []
