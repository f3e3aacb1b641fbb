"""One line of a block; its parts are parsed on demand."""

from __future__ import annotations

import re
from functools import cached_property

from clusterwright.diagnose.reading.clean import clean
from clusterwright.diagnose.reading.prefix import LineParts, split_prefix
from clusterwright.diagnose.reading.quoted import is_quoted, mask_user_texts
from clusterwright.diagnose.reading.times import Moment, moment

_INFORMS = re.compile(
    r"\b(?:INFO|DEBUG)\b(?!\w)|^\W*[ID]\d{4} \d\d:|: I [\w/]+\.(?:cc|h):\d+\]|\blevel=info\b|\"level\": ?\"info\""
)
HEAD = 120  # characters in which a line has its level
CHARS_BEFORE, CHARS_AFTER = 1500, 3000  # characters of a line that are kept around a match
BACK = 2048  # bytes before a line without a timestamp in which one is searched,
BACK_LINES = 12  # and lines
# A fault of a GPU in a line of the driver, and the begin of a line of the kernel, as dmesg and the journal print them.
_GPU_FAULT = re.compile(r"NVRM|\bS?X[Ii][Dd]\b|fallen off the bus")
_KERNEL_LINE = re.compile(
    rb"^(?:<\d{1,3}>)?\[(?: *\d+\.\d+|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})\] |^.{1,120}? kernel: ",
    re.MULTILINE,
)
# How messages of drivers and of subsystems that report faults of a host begin.
_HARDWARE = re.compile(
    r"(?:[\w./-]+ )?[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d: |NVRM: |[\w-]+: SXid \(|nvidia[\w-]*: |amdgpu: |\[drm"
    r"|pciehp|EDAC |(?:mce|MCE): |(?:\{\d+\})?\[Hardware Error\]: |Memory failure: |mlx\d|(?:nvme )?nvme\d|ata\d|sd[a-z ]"
    r"|blk_update_request: |(?:\w+: )?(?:I/O|critical \w+) error, |Buffer I/O error |EXT\d-fs error|EXT\d-fs \(|XFS \("
    r"|BTRFS|JBD2: |md/raid|(?:NMI )?watchdog: |(?:rcu: )?INFO: rcu|BUG: |kernel BUG at |Oops: |Internal error: "
    r"|Kernel panic - |general protection fault|clocksource: |TSC |LustreError: |Lustre: |LNetError: |nfs: server |VFS: file-max"
)


def is_of_kernel(text: str) -> bool:
    """Return True for a line that the kernel logged or seems to have logged, with a time before it or without."""
    return bool(_KERNEL_LINE.match(text.encode()) or _GPU_FAULT.search(text))


class Line:
    """The line around an offset of a block; a carriage return ends a line, as in progress bars."""

    def __init__(self, data: bytes, offset: int, year: int) -> None:
        low, high = max(0, offset - CHARS_BEFORE), min(len(data), offset + CHARS_AFTER)
        self._data, self._year = data, year
        end = data.find(b"\n", offset, high)
        end = high if end < 0 else end
        back = data.find(b"\r", offset, end)
        self.end = end if back < 0 else back
        self.begin = max(low, data.rfind(b"\n", low, offset) + 1, data.rfind(b"\r", low, offset) + 1)

    @cached_property
    def text(self) -> str:
        """The line without terminal escapes."""
        return clean(self._data[self.begin : self.end]).rstrip()

    @cached_property
    def parts(self) -> LineParts:
        """Rank, host and body of the line."""
        return split_prefix(self.text)

    @cached_property
    def _above(self) -> str:
        chunk = self._data[max(0, self.begin - 300) : max(0, self.begin - 1)]
        return split_prefix(clean(chunk.rpartition(b"\n")[2])).body

    @cached_property
    def moment(self) -> Moment | None:
        """The timestamp of the line, or the last one before it; None if the lines just before have none either."""
        if stamp := moment(self.text, self._year):
            return stamp
        lines = self._data[max(0, self.begin - BACK) : self.begin].splitlines()
        stamps = (moment(clean(raw), self._year) for raw in reversed(lines[-BACK_LINES:]))
        return next((stamp for stamp in stamps if stamp), None)

    @property
    def informs(self) -> bool:
        """Whether the line has level INFO or DEBUG; False for NCCL, whose INFO lines may be the only evidence."""
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
        """Whether it is a message of the kernel that may quote a user: no driver or subsystem of the hardware begins it.

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
        """Whether the line is no message of the driver, but the rest of one in which a user chose a newline.

        In a log of the kernel each message begins with its time; a name that the kernel quotes may have newlines.
        """
        if not _GPU_FAULT.search(self.text) or _KERNEL_LINE.match(self.text.encode()):
            return False
        if moment(self.text, self._year):
            return False
        return _KERNEL_LINE.search(self._data[max(0, self.begin - BACK) : self.begin]) is not None
