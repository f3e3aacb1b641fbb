"""A line of a log: its text without terminal escapes, and the rank, host and time that it begins with."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property
from typing import NamedTuple

from clusterwright.diagnose.reading.quoted import is_quoted, mask_user_texts

_INFORMS = re.compile(
    r"\b(?:INFO|DEBUG)\b(?!\w)|^\W*[ID]\d{4} \d\d:|: I [\w/]+\.(?:cc|h):\d+\]|\blevel=info\b|\"level\": ?\"info\""
)
HEAD = 120  # characters in which a line has its level
CHARS_BEFORE, CHARS_AFTER = 1500, 3000  # characters of a line that are kept around a match
LONG = 8192  # bytes before a match in which its line begins; a path that the kernel quotes has up to 4096
BACK = 2048  # bytes before a line without a timestamp in which one is searched,
BACK_LINES = 12  # and lines
# A fault of a GPU in a line of the driver, and the begin of a line of the kernel, as dmesg and the journal print them;
# UCX prints a time so, too. No process can be named as UCX begins a line: its name has 15 characters.
_GPU_FAULT = re.compile(r"NVRM|\bS?X[Ii][Dd]\b|fallen off the bus")
_KERNEL_LINE = re.compile(
    rb"^(?:<\d{1,3}>)?\[(?: *\d+\.\d+|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})\] "
    rb"(?!\[[\w.-]+:\d+:\d+\] +[\w.-]+:\d+ +UCX )|^.{1,120}? kernel: ",
    re.MULTILINE,
)
# How messages of drivers and of subsystems that report faults of a host begin.
_HARDWARE = re.compile(
    r"(?:[\w./-]+ )?[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d: |NVRM: |[\w-]+: SXid \(|nvidia[\w-]*: |amdgpu: |\[drm"
    r"|pciehp|EDAC |(?:mce|MCE): |(?:\{\d+\})?\[Hardware Error\]: |Memory failure: |mlx\d|(?:nvme )?nvme\d"
    r"|ata\d|sd[a-z ]|blk_update_request: |(?:\w+: )?(?:I/O|critical \w+) error, |Buffer I/O error |EXT\d-fs error"
    r"|EXT\d-fs \(|XFS \(|BTRFS|JBD2: "
    r"|md/raid|(?:NMI )?watchdog: |(?:rcu: )?INFO: rcu|BUG: |kernel BUG at |Oops: |Internal error: "
    r"|Kernel panic - |general protection fault|clocksource: |TSC |LustreError: |Lustre: |LNetError: |nfs: server "
    r"|VFS: file-max|reboot: "
)
_CODES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # a title, a link
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # a device control string
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colors, cursor movements
    r"|\x1b[ -/]*[0-~]"
)
# Control characters, direction marks and characters without width.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb]"
)
_HOST = r"[A-Za-z](?:[\w-]*[\w])?(?:\.[\w-]+)*"
_RANKS = (
    re.compile(r"^\[[Rr]ank ?(?P<rank>\d+)\]:? ?"),
    re.compile(r"^\[(?:default|\w*worker\w*)(?P<rank>\d+)\]:? ?"),  # torchrun --tee
    re.compile(
        rf"^\[(?P<host>{_HOST}):(?P<rank>\d{{1,3}})\]:? "
    ),  # [host:rank]; more digits are a process id
    re.compile(r"^\[\d+,(?P<rank>\d+)\]<std(?:err|out)>:? ?"),  # mpirun --tag-output
    re.compile(r"^ *\[?(?P<rank>\d{1,5})\]?: "),  # srun --label
    re.compile(r"^[Rr]ank ?(?P<rank>\d+):? "),
    re.compile(r"^\(\w+ pid=\d+(?:, ip=(?P<host>[\d.]+))?\) "),  # Ray
    re.compile(
        r"^(?:slurmstepd-)?(?P<host>[a-z][a-z-]*\d[\w-]*(?:\.[a-z][\w.-]*)?): (?=\S)"
    ),  # pdsh, clush, slurmstepd; names that have a number
)
_NOT_HOSTS = re.compile(
    r"^(?:mlx\d|nvme|eth\d|ib\d|ibs|en[ops]\w*\d|md\d|dm-|sd[a-z]\d|bond|cuda|python|nfs\d|hfi|rdma|pid|line)"
)
_INSIDE_RANK = re.compile(r"\[[Rr]ank ?(\d+)\]|\brank(?:=|: ?|\s?)(\d+)\b|\bRank (\d+)\b")
_NCCL = re.compile(rf"(?P<host>{_HOST}):\d+:\d+ \[(?P<gpu>-?\d+)\] NCCL ")
_SYSLOG_HOST = re.compile(
    rf"^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:[A-Z][a-z]{{2}} +\d{{1,2}} [\d:.]{{8,}}|\d{{4}}-\d\d-\d\dT[\d:.+Z-]+) "
    rf"(?P<host>{_HOST}) (?:[\w./()-]+(?:\[\d+\])?:|kernel)"
)
_PREFIX_LENGTH = 160  # characters of a line in which host and rank are searched
_ISO = re.compile(
    r"(?P<y>\d{4})[-/](?P<mo>\d\d)[-/](?P<d>\d\d)[T _](?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?P<f>[.,]\d{1,9})?"
    r"\s?(?P<z>Z|UTC|[+-]\d\d:?\d\d)?"
)
_SYSLOG = re.compile(
    r"\b(?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?P<d>\d{1,2}) "
    r"(?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?P<f>\.\d{1,9})?(?: (?P<y>\d{4}))?"
)
_GLOG = re.compile(r"\b[IWEF](?P<mo>\d\d)(?P<d>\d\d) (?P<h>\d\d):(?P<mi>\d\d):(?P<s>\d\d)(?P<f>\.\d{1,9})?\b")
_BOOT = re.compile(r"^\[ *(?P<t>\d{1,8}\.\d{3,6})\]")
_EPOCH = re.compile(r"^\[?(?P<t>1[5-9]\d{8}\.\d{1,9})\b")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME_LENGTH = 160  # characters in which a timestamp is searched


def clean(raw: bytes) -> str:
    """Return a line as text without color codes, overstruck and other characters that are not printable."""
    text = raw.decode("utf-8", "replace")
    if text.isprintable():
        return text
    text = _CODES.sub("", text)
    return _UNSEEN.sub("", _without_overstruck(text) if "\x08" in text else text)


def _without_overstruck(text: str) -> str:
    """Return the text without each character that a backspace deletes, and without the backspaces."""
    remaining: list[str] = []
    for sign in text:
        if sign != "\x08":
            remaining.append(sign)
        elif remaining:
            remaining.pop()
    return "".join(remaining)


class LineParts(NamedTuple):
    """Rank and host of a line, empty if it has none, and the rest of the line."""

    rank: str
    host: str
    body: str


def split_prefix(line: str) -> LineParts:
    """Return rank, host and body of a line, from the prefixes in front, else from the body.

    The innermost rank counts: the launcher's is the local rank.
    """
    rank = host = ""
    body = line
    for _ in range(4):
        for pattern in _RANKS:
            match = pattern.match(body)
            if match is None or _NOT_HOSTS.match(match.groupdict().get("host") or ""):
                continue
            parts = match.groupdict()
            rank, host = parts.get("rank") or rank, host or parts.get("host") or ""
            body = body[match.end() :]
            break
        else:
            break
    head = body[:_PREFIX_LENGTH]
    if not host and (match := _SYSLOG_HOST.match(head) or _NCCL.search(head)):
        host = match["host"]
    if not rank and (match := _INSIDE_RANK.search(head)):
        rank = next(part for part in match.groups() if part)
    return LineParts(rank, "" if host == "localhost" else host, body)


class Moment(NamedTuple):
    """Seconds and their clock: `utc`, `local` (time zone not given) or `boot`."""

    seconds: float
    clock: str


def moment(line: str, year: int) -> Moment | None:
    """Return the timestamp of a line, None without a valid one; `year` is that of timestamps without a year."""
    head = line[:_TIME_LENGTH]
    if match := _BOOT.search(head):
        return Moment(float(match["t"]), "boot")
    if match := _EPOCH.search(head):
        return Moment(float(match["t"]), "utc")
    for pattern in (_ISO, _SYSLOG, _GLOG):
        if match := pattern.search(head):
            return _parse_parts(match.groupdict(), year)
    return None


def _parse_parts(parts: dict[str, str | None], year: int) -> Moment | None:
    month = _MONTHS.index(parts["mon"] or "") + 1 if "mon" in parts else int(parts["mo"] or 0)
    zone = parts.get("z")
    try:
        when = datetime(
            int(parts.get("y") or year or 1970),
            month,
            int(parts["d"] or 0),
            int(parts["h"] or 0),
            int(parts["mi"] or 0),
            min(int(parts["s"] or 0), 59),
            tzinfo=_zone(zone),
        )
    except ValueError:
        return None
    fraction = float("0." + (parts.get("f") or ".0")[1:])
    return Moment(when.timestamp() + fraction, "utc" if zone else "local")


def _zone(text: str | None) -> timezone:
    if not text or text in {"Z", "UTC"}:
        return UTC
    digits = text[1:].replace(":", "")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if text.startswith("-") else ahead)


def is_of_kernel(text: str) -> bool:
    """Return True for a line that the kernel logged or seems to have logged, with a time before it or without."""
    return bool(_KERNEL_LINE.match(text.encode()) or _GPU_FAULT.search(text))


class Line:
    """The line around an offset of a block; a carriage return ends a line, as in progress bars.

    In a line of the kernel it ends none: a name that the kernel quotes may have one, and then any text.
    """

    def __init__(self, data: bytes, offset: int, year: int) -> None:
        low, high = max(0, offset - CHARS_BEFORE), min(len(data), offset + CHARS_AFTER)
        self._data, self._year = data, year
        end = data.find(b"\n", offset, high)
        self.end = high if end < 0 else end
        self.begin = max(low, data.rfind(b"\n", low, offset) + 1)
        start = data.rfind(b"\n", max(0, offset - LONG), offset) + 1
        if _KERNEL_LINE.match(data, start):
            self.begin = start
        else:
            self.begin = max(self.begin, data.rfind(b"\r", self.begin, offset) + 1)
            back = data.find(b"\r", offset, self.end)
            self.end = self.end if back < 0 else back

    @cached_property
    def text(self) -> str:
        """Return the whole line without terminal escapes and trailing spaces."""
        return clean(self._data[self.begin : self.end]).rstrip()

    @cached_property
    def parts(self) -> LineParts:
        """Return rank, host and body of the line."""
        return split_prefix(self.text)

    @cached_property
    def _above(self) -> str:
        chunk = self._data[max(0, self.begin - 300) : max(0, self.begin - 1)]
        return split_prefix(clean(chunk.rpartition(b"\n")[2])).body

    @cached_property
    def moment(self) -> Moment | None:
        """Return the timestamp of the line, or the last one before it; None if the lines just before have none."""
        if stamp := moment(self.text, self._year):
            return stamp
        lines = self._data[max(0, self.begin - BACK) : self.begin].splitlines()
        stamps = (moment(clean(raw), self._year) for raw in reversed(lines[-BACK_LINES:]))
        return next((stamp for stamp in stamps if stamp), None)

    @property
    def informs(self) -> bool:
        """Return True if the line has level INFO or DEBUG; False for NCCL, whose INFO may be the only evidence."""
        return _INFORMS.search(self.text[:HEAD]) is not None and "NCCL" not in self.text

    @cached_property
    def _message_start(self) -> int:
        """Where the message of the kernel begins in the line; 0 if it is no line of the kernel's log."""
        prefix = _KERNEL_LINE.match(self.text.encode())
        return len(prefix[0].decode()) if prefix else 0

    @cached_property
    def own_text(self) -> str:
        """The line as its program chose it: in messages of the kernel, with `_` for what a user may have chosen."""
        start = self._message_start
        return self.text[:start] + mask_user_texts(self.text[start:]) if start else self.text

    @property
    def is_of_user(self) -> bool:
        """Whether it is a message of the kernel that may quote a user: it begins with no driver and no fault.

        Any user can cause others, such as `tmpfs: Unknown parameter 'TEXT'`, in a user namespace.
        """
        return bool(self._message_start and not _HARDWARE.match(self.text, self._message_start))

    def has_unquoted(self, text: str) -> bool:
        """Return whether the line contains a text that is not only quoted."""
        return (
            text in self.own_text
            and not is_quoted(self.parts.body, text, self._above)
            and not self._continues_kernel_message
        )

    @cached_property
    def _continues_kernel_message(self) -> bool:
        """Return True if the line is the rest of a kernel message in which a user chose a newline.

        In a log of the kernel each message begins with its time; a name that the kernel quotes may have newlines.
        """
        if not _GPU_FAULT.search(self.text) or _KERNEL_LINE.match(self.text.encode()):
            return False
        if moment(self.text, self._year):
            return False
        return _KERNEL_LINE.search(self._data[max(0, self.begin - BACK) : self.begin]) is not None
