"""Command lines that read what only root, or only one service, can have written to a host's journal, and its entries.

Every user may write to the journal, with any identifier and text. Only the fields that journald itself sets (those with
a leading underscore) say where an entry comes from. Standard library only, Python 3.6 or later.
"""

import json
import re
import shlex
from typing import List, NamedTuple, Optional

JOURNALCTL = ("journalctl", "-q", "--no-pager")
LINE_END = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # as str.splitlines()
_FIELDS = ("__CURSOR", "SYSLOG_IDENTIFIER", "_PID", "_TRANSPORT", "_UID", "_HOSTNAME")
REPAIR_UNIT = "clusterwright-repair.service"  # of systemd, so only root can start it


class Entry(NamedTuple):
    """An entry of the journal: wall-clock time in seconds, priority of syslog(3), text, and who logged it.

    A program chooses its identifier itself; a kernel entry has `kernel`. journald sets process id, transport, user id
    and host.
    """

    time: float
    priority: int
    text: str
    cursor: str
    identifier: str = ""
    pid: str = ""
    transport: str = ""
    uid: str = ""
    host: str = ""


def message_lines(text: str) -> List[str]:
    """Return the lines of a message: the first, as a name that it quotes may contain line ends and any text.

    All lines where the NVIDIA driver logs a lost GPU, which quotes no name.
    """
    first, *others = LINE_END.split(text)
    is_lost_gpu = first.startswith("NVRM: The NVIDIA GPU ")
    return [first, *(line for line in others if is_lost_gpu and line.startswith("NVRM: "))]


def parse_entry(line: str) -> Optional[Entry]:
    """Return the entry of a line of `journalctl -o json`; None for any other line.

    Text that is not UTF-8, such as the name of a process, comes as numbers.
    """
    try:
        row = json.loads(line)
        text = row["MESSAGE"]
        if isinstance(text, list):
            text = bytes(text).decode(errors="replace")
        if not isinstance(text, str):
            return None
        when, priority = int(row["__REALTIME_TIMESTAMP"]) / 1e6, int(row.get("PRIORITY", 6))
        return Entry(when, priority, text, *(str(row.get(name, "")) for name in _FIELDS))
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None


def kernel(*options: str) -> List[str]:
    """Return the journalctl command for lines of the kernel."""
    return [*JOURNALCTL, "-k", *options]


def of_root_unit(unit: str, *options: str) -> List[str]:
    """Return the command for entries of a service that runs as root, and of systemd about it.

    Processes of jobs may be in slurmd's control group; their entries have another user id.
    """
    return [*JOURNALCTL, *options, f"_SYSTEMD_UNIT={unit}", "_UID=0", "+", f"UNIT={unit}", "_PID=1"]


def of_unit(unit: str, *options: str) -> List[str]:
    """Return the command for entries of a service with an account of its own, and of systemd about it."""
    return [*JOURNALCTL, *options, f"_SYSTEMD_UNIT={unit}", "+", f"UNIT={unit}", "_PID=1"]


def of_systemd(*options: str) -> List[str]:
    """Return the journalctl command for entries of systemd and journald only.

    Entries of root alone are not enough: sshd, as root, logs any login name that a stranger tries.
    """
    return [*JOURNALCTL, *options, "_PID=1", "+", "_SYSTEMD_UNIT=systemd-journald.service"]


def of_hooks(*options: str) -> List[str]:
    """Return the command for entries of the prolog, the epilog and the health check program: root's, with our tag."""
    return [*JOURNALCTL, *options, "-t", "clusterwright", "_UID=0"]


def repairs(*options: str) -> List[str]:
    """Return the journalctl command for the entries `repaired PCI_ADDRESS` that `log_repair` writes."""
    return [*JOURNALCTL, *options, "-t", "clusterwright", "_UID=0", f"_SYSTEMD_UNIT={REPAIR_UNIT}"]


def log_repair(addresses: str) -> str:
    """Return the shell line that logs GPUs as repaired; `addresses` is shell text of PCI addresses.

    A unit, because root's programs may log text of users under any tag; only root can start a unit of this name.
    """
    unit, text = REPAIR_UNIT[: -len(".service")], "'repaired %s\\n'"
    return "systemd-run -q --unit=%s -p SyslogIdentifier=clusterwright printf %s %s" % (unit, text, addresses)


def shell(argv: List[str]) -> str:
    """Return an argument list as quoted shell text."""
    return " ".join(map(shlex.quote, argv))
