"""One line in a block; what is dear to find out about it is found out when it is asked."""

from __future__ import annotations

import re
from functools import cached_property

from clusterwright.diagnose.reading.clean import clean
from clusterwright.diagnose.reading.prefix import LineParts, split_prefix
from clusterwright.diagnose.reading.quoted import is_quoted
from clusterwright.diagnose.reading.times import Moment, moment

_INFORMS = re.compile(
    r"\b(?:INFO|DEBUG)\b(?!\w)|^\W*[ID]\d{4} \d\d:|: I [\w/]+\.(?:cc|h):\d+\]|\blevel=info\b|\"level\": ?\"info\""
)
HEAD = 120  # characters in which a line says what it is
CHARS_BEFORE, CHARS_AFTER = 1500, 3000  # characters of a line about what was found
BACK = 2048  # bytes in which a line without a stamp finds one before it,
BACK_LINES = 12  # and lines


class Line:
    """Where the line about a place begins and ends; what a progress bar wrote over is another line."""

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
        """The line without a terminal's codes."""
        return clean(self._data[self.begin : self.end]).rstrip()

    @cached_property
    def parts(self) -> LineParts:
        """Who said it, and what."""
        return split_prefix(self.text)

    @cached_property
    def _above(self) -> str:
        chunk = self._data[max(0, self.begin - 300) : max(0, self.begin - 1)]
        return split_prefix(clean(chunk.rpartition(b"\n")[2])).body

    @cached_property
    def moment(self) -> Moment | None:
        """Its stamp, or the last one before it."""
        if stamp := moment(self.text, self._year):
            return stamp
        lines = self._data[max(0, self.begin - BACK) : self.begin].splitlines()
        stamps = (moment(clean(raw), self._year) for raw in reversed(lines[-BACK_LINES:]))
        return next((stamp for stamp in stamps if stamp), None)

    @property
    def informs(self) -> bool:
        """Whether its program says that it is no more than information; NCCL's is often the only word of a cause."""
        return _INFORMS.search(self.text[:HEAD]) is not None and "NCCL" not in self.text

    def has_unquoted(self, text: str) -> bool:
        """Whether it says a text, and does not only quote it."""
        return text in self.text and not is_quoted(self.parts.body, text, self._above)
