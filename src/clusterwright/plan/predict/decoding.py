"""Decoding of a table's bytes to lines of text, also with mixed encodings."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_MOSTLY = 0.3  # share of zero bytes from which text without a byte-order mark counts as UTF-16


@dataclass(frozen=True, slots=True)
class Text:
    """Lines without line ends; `remarks` maps a line number (from 1) to what was unusual in its encoding."""

    lines: tuple[str, ...]
    remarks: dict[int, str] = field(default_factory=dict)


def decode(data: bytes) -> Text:
    """Decode UTF-8 or UTF-16; an invalid line of UTF-8 is read as Latin-1, with a remark on its first invalid byte.

    UTF-16 gives one remark, on line 1; invalid units become U+FFFD.

    Raises:
        WrightError: predict-empty, if there is no text.
    """
    if not data.strip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"):
        raise WrightError.from_code(
            "predict-empty",
            _("the file is empty"),
            _("give a CSV with a header line and rows"),
            exit_code=EXIT_USAGE,
        )
    encoding, start = _encoding(data)
    if encoding != "utf-8":
        text = data[start:].decode(encoding, errors="replace")
        remark = _("the table file is encoded as {encoding}, not as UTF-8", encoding=encoding.upper())
        return Text(tuple(_lines(text)), {1: remark})
    return _line_by_line(data, start)


def _encoding(data: bytes) -> tuple[str, int]:
    for bom, name in _BOMS:
        if data.startswith(bom):
            return name, len(bom)
    sample = data[:4096]
    for name, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        if zeros.count(0) > _MOSTLY * len(sample):
            return name, 0
    return "utf-8", 0


def _line_by_line(data: bytes, start: int) -> Text:
    lines: list[str] = []
    remarks: dict[int, str] = {}
    offset = start
    ended = data if b"\n" in data else data.replace(b"\r", b"\n")
    for raw in ended[start:].split(b"\n"):
        text, remark = _line(raw.removesuffix(b"\r"), offset)
        lines.append(text)
        if remark:
            remarks[len(lines)] = remark
        offset += len(raw) + 1
    return Text(tuple(lines), remarks)


def _line(raw: bytes, offset: int) -> tuple[str, str]:
    """Return (text, remark) of a line that begins at byte `offset`; the remark is empty for valid UTF-8.

    A line with zero bytes is read as Latin-1 without them, and so is a line that is not UTF-8.
    """
    if b"\0" in raw:
        remark = _("byte {offset} is 0, as in UTF-16: zeros removed", offset=offset + raw.index(b"\0"))
        return raw.replace(b"\0", b"").decode("latin-1"), remark
    try:
        return raw.decode("utf-8"), ""
    except UnicodeDecodeError as error:
        odd = raw[error.start]
        remark = _(
            "byte {offset} is 0x{odd:02x}, which is not UTF-8: the line is read as Latin-1",
            offset=offset + error.start,
            odd=odd,
        )
        return raw.decode("latin-1"), remark


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
