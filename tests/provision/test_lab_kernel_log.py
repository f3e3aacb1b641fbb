"""The health program's reading of the journal of a lab host, where users chose names with line ends."""

import os
import shutil
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(os.getuid() != 0, reason="the programs run as root"),
    pytest.mark.skipif(not shutil.which("flock"), reason="flock is not here (apt-get install util-linux)"),
]


def test_no_text_of_a_user_is_a_message_in_the_journal_of_a_lab_host(hooks):
    """As journald 252 and `journalctl -k -o short-monotonic` print line ends, also carriage returns, in a name."""
    uptime_s = int(float(Path("/proc/uptime").read_text().split()[0]))
    stamp, xid = (
        f"[{uptime_s:5d}.000000]",
        "NVRM: Xid (PCI:0000:{}:00): 79, pid=1, GPU has fallen off the bus",
    )
    forged = f"{stamp} {xid.format('3b')}"
    rows = [
        f"{stamp} n1 kernel: a.out[9]: segfault in x\n{' ' * 26}{forged}",
        f"{stamp} n1 kernel: tmpfs: Unknown parameter 'x\r{forged}",  # older than 246: no blob
        f"{stamp} n1 kernel: [114B blob data]",
        f"{stamp} n1 kernel: a kernel: NVRM:[77]: segfault in {forged}",
        f"{stamp} n1 kernel: NVRM: Xid (1): [77]: segfault",
    ]
    for lines, addresses in (
        (rows, []),
        ([*rows, f"{stamp} n1 kernel: {xid.format('91')}"], ["(0000:91:00)"]),
    ):
        hooks.run("prolog")
        hooks.say("kernel.log", "\n".join(lines) + "\n")
        (hooks.run_folder / "7.uptime").write_text("0.00\n")
        done = hooks.run("epilog")
        assert [line.split()[-1] for line in done.stderr.splitlines() if " gpu-xid " in line] == addresses
