"""Find the faults of a text that the YAML parser rejects: all of them, each at its own line.

The parser stops at the first fault, often a line too late. This scan goes on: it reports a line that needs a repair,
repairs it, and continues. It knows tabs, open quotes and brackets, missing colons, values that need quotes, and
indentation; all else is the parser's. A text that the parser accepts has no fault.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from itertools import islice

from clusterwright.config.source import printable
from clusterwright.i18n import N_, _

_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'\[\]{},#&*!|>%@`][^\n]*?)\s*:(?=\s|$)""")
_NO_COLON = re.compile(r"([A-Za-z_][\w.-]*)(?:\s*[:\uff1a=]\s*|\s+)(?!\s)(.*)")
_ITEMS = re.compile(r"(?:-\s+)*(?:-$)?")
_BLOCK = re.compile(r"[|>][-+0-9]{0,2}\s*(#.*)?$")
_PROPERTIES = re.compile(r"\s*([&!]\S*\s*)*")  # an anchor and a tag, which the reader refuses
_COMMENT = re.compile(r"(^|\s)#.*$")
_QUOTED = {'"': r'(?:[^"\\]|\\.)*"', "'": r"(?:[^']|'')*'"}  # the rest of a quoted text, with its end
_PAIRS = {"[": "]", "{": "}"}
_TAB_WIDTHS = (2, 4, 8)
_MOST = 10  # more faults than that: the text is no YAML at all

_PROBLEMS = {
    "tab": N_("the line has a tab"),
    "quote": N_("the quote has no end"),
    "bracket": N_("the bracket has no end"),
    "closed": N_("text follows after the end of the value"),
    "colon": N_("the key has no colon with a space after it"),
    "value": N_("the value is not in quotes"),
    "indent": N_("the indentation is that of no section"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: its line and column, from 1, what is wrong there, and how to repair it."""

    line: int
    column: int
    problem: str
    fix: str


def yaml_faults(text: str) -> tuple[list[Fault], str]:
    """Return the faults of a text in the order of its lines, and the text without them.

    No faults, and the text unchanged, for one that is no YAML at all.
    """
    scan = _Scan(re.split(r"\r\n|\r|\n", text), not text.endswith(("\n", "\r")))
    index = 0
    while index < len(scan.lines) and len(scan.faults) <= _MOST:
        index = scan.line(index)
    content = [line for line in scan.lines if line.strip() and not line.lstrip().startswith("#")]
    if len(scan.faults) > min(_MOST, (len(content) + 1) // 2):
        return [], text
    return [scan.faults[number] for number in sorted(scan.faults)], "\n".join(scan.lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


@dataclass(slots=True)
class _Scan:
    """The state of the scan: the lines with their repairs, and the columns of the open sections."""

    lines: list[str]
    is_truncated: bool  # the last line has no end
    faults: dict[int, Fault] = field(default_factory=dict)  # by index of the line
    columns: list[int] = field(default_factory=list)
    dashes: set[int] = field(default_factory=set)  # columns of the items of lists
    opens: bool = True  # the last key has its value on the next lines

    def report(self, index: int, column: int, kind: str, repaired: str, repaired_index: int = -1) -> None:
        """Record a fault of line `index` with its fix, and replace the line by `repaired`.

        A line has one fault: its first problem, with the last fix. `repaired_index`: the line to replace, if it is
        another.
        """
        target = index if repaired_index < 0 else repaired_index
        fault = self.faults.get(index, Fault(index + 1, column + 1, _(_PROBLEMS[kind]), ""))
        if (
            kind in ("bracket", "quote")
            and not any(map(str.strip, self.lines[target + 1 :]))
            and self.is_truncated
        ):
            fix = _("close the open bracket or quote; the file may be truncated")
        elif kind in ("tab", "indent"):
            text = printable(repaired.strip())
            fix = _("indent with spaces, here {count}: `{line}`", count=_indent(repaired), line=text)
        elif target != index:
            text = printable(repaired.strip())
            fix = _("close it: write line {number} as `{line}`", number=target + 1, line=text)
        else:
            fix = _("write the line as `{line}`", line=printable(repaired.strip()))
        self.faults[index] = replace(fault, fix=fix)
        self.lines[target] = repaired

    def line(self, index: int) -> int:
        """Scan a line, with the further lines of its value, for faults of YAML; return the index of the next line."""
        line = self.lines[index]
        if _is_blank(line) or line.startswith(("---", "...", "%")):
            return index + 1
        self._tabs(index)
        line = self.lines[index]
        indent = _indent(line)
        items = _ITEMS.match(line, indent)
        column = items.end() if items else indent
        if column > indent:
            self.dashes.add(indent)
        if column == len(line):  # a dash alone
            self.opens = True
            return index + 1
        key = _KEY.match(line, column)
        if not key:
            return self._no_key(index, indent, column)
        if not self._aligned(index, indent, column):
            return self.line(index)
        properties = _PROPERTIES.match(line, key.end())
        start = properties.end() if properties else key.end()
        self.opens = not _COMMENT.sub("", line[start:]).strip()
        if self.opens:
            return index + 1
        return self._value(index, start, column)

    def _tabs(self, index: int) -> None:
        line = self.lines[index]
        head = re.match(r"\s*(?:-\s+)*(?:[\w.-]+:\s+)?", line)
        start = head[0] if head else ""
        if "\t" not in start:
            return
        blank = re.match(r"\s*", line)
        indentation = blank[0] if blank else ""
        widths = [len(indentation.expandtabs(width)) for width in _TAB_WIDTHS]
        deeper = max(self.columns, default=0)
        indents = (
            _indent(text)
            for text in islice(self.lines, index + 1, None)
            if not _is_blank(text) and "\t" not in text
        )
        following = next(indents, -1)
        fitting = [following] if following > deeper or (not self.opens and following in self.columns) else []
        fitting += [width for width in widths if width in self.columns or (self.opens and width > deeper)]
        width = (fitting or widths)[0] if "\t" in indentation else len(indentation)
        repaired = " " * width + start[len(indentation) :].replace("\t", " ") + line[len(start) :]
        self.report(index, line.index("\t"), "tab", repaired)

    def _aligned(self, index: int, indent: int, column: int) -> bool:
        """Return True if the key at this column belongs to an open section or opens one.

        Else repair its indentation to that of the nearest section, and return False.
        """
        closed: list[int] = []
        while self.columns and self.columns[-1] > column:
            closed.append(self.columns.pop())
        if self.columns and self.columns[-1] == column:
            return True
        if not self.columns and not closed:
            self.columns.append(column)
            return True
        if (self.opens and not closed) or column > indent or column in self.dashes:
            self.columns.append(column)
            return True
        candidates = [*closed[-1:], *self.columns[-1:]]
        target = min(candidates, key=lambda number: abs(number - column))
        self.columns += closed[-1:] if target in closed else []
        self.report(index, column, "indent", " " * target + self.lines[index].lstrip())
        return False

    def _no_key(self, index: int, indent: int, column: int) -> int:
        """Scan a line without a key, an item of a list, a value below its key, or a key without its colon.

        Repair the last of these. Return the index of the line to scan next.
        """
        line = self.lines[index]
        if column > indent or line[column] in "\"'[{":
            self.opens = False
            return self._value(index, column, indent - 1 if column == indent else indent)
        is_sibling, is_section = self._siblings(index, indent)
        if self.opens and not is_sibling and not is_section:
            self.opens = False
            return self._continued(index, indent - 1)
        bare = _COMMENT.sub("", line[column:]).rstrip()
        parts = _NO_COLON.fullmatch(bare)
        if is_section or not parts:
            name = parts[1] if parts and not is_section else bare.rstrip("\uff1a:= ")
            repaired = f"{' ' * indent}{name}:" + ("" if is_section else " ...")
        else:
            repaired = f"{' ' * indent}{parts[1]}: {parts[2]}"
        if index in self.faults or not _KEY.match(repaired, indent):
            return index + 1
        self.report(index, column, "colon", repaired)
        return self.line(index)

    def _siblings(self, index: int, indent: int) -> tuple[bool, bool]:
        """Return whether a later key has the indentation of a line, and whether the next line is a key below it."""
        later = [line for line in islice(self.lines, index + 1, None) if not _is_blank(line)]
        for line in later:
            blank = line[: len(line) - len(line.lstrip())]
            if "\t" not in blank and len(blank) < indent:
                break
            if ("\t" in blank or len(blank) == indent) and _KEY.match(line, len(blank)):
                return True, False
        next_line = later[0] if later else ""
        return False, _indent(next_line) > indent and bool(_KEY.match(next_line, _indent(next_line)))

    def _continued(self, index: int, parent: int) -> int:
        """Return the index of the first line that no longer continues the unquoted value which begins on this line."""
        index += 1
        while index < len(self.lines):
            line = self.lines[index]
            indent = _indent(line)
            if line.strip() and (indent <= parent or "\t" in line[: indent + 1] or _KEY.match(line, indent)):
                break
            index += 1
        return index

    def _value(self, index: int, start: int, parent: int) -> int:
        line = self.lines[index]
        if _BLOCK.match(line, start):
            index += 1
            while index < len(self.lines) and (
                not self.lines[index].strip() or _indent(self.lines[index]) > parent
            ):
                index += 1
            return index
        if line[start] in "\"'[{":
            return _Flow(self, index, start, parent).end()
        value = _COMMENT.sub("", line[start:]).rstrip()
        if re.search(r":(\s|$)", value) or value[0] in "@`%]}," or value[:2] in ("- ", "? "):
            if index not in self.faults:
                quoted = json.dumps(value, ensure_ascii=False)
                self.report(index, start, "value", line[:start] + quoted + line[start + len(value) :])
            return index + 1
        return self._continued(index, parent)


class _Flow:
    """The scan of one value in quotes or brackets, which may have several lines."""

    def __init__(self, scan: _Scan, index: int, start: int, parent: int) -> None:
        self._scan, self._index, self._start, self._parent = scan, index, start, parent
        self._open: list[tuple[str, int, int]] = []  # brackets: character, index of the line, column

    def end(self) -> int:
        """Scan the value in quotes or brackets to its end; return the index of the line after it.

        An end that is missing is reported as a fault and repaired.
        """
        index, position, quote = self._index, self._start, None
        while index < len(self._scan.lines):
            if index > self._index and self._ends_before(self._scan.lines[index]):
                break
            position, quote = self._scan_line(index, position, quote)
            if position < 0:  # repaired: scan it once more
                return self._rescan(index)
            if not quote and not self._open:
                return self._trailing_text(index, position)
            index, position = index + 1, 0
        if quote:
            return self._close_quote(quote)
        return self._close_brackets(index)

    def _ends_before(self, line: str) -> bool:
        """Return whether a line is outside the value: not further to the right than its key; a bracket's end may be."""
        return bool(line.strip()) and _indent(line) <= self._parent and line.lstrip()[0] not in "]}#"

    def _scan_line(
        self, index: int, position: int, quote: tuple[str, int, int] | None
    ) -> tuple[int, tuple[str, int, int] | None]:
        """Scan a line of a value in quotes or brackets; return the column at which value or line ends, and the quote.

        The open quote is None if there is none. The column is -1 after a repair of the line.
        """
        line, is_start = self._scan.lines[index], True
        while position < len(line):
            char = line[position]
            if quote:
                end = re.compile(_QUOTED[quote[0]]).match(line, position)
                if not end:
                    return len(line), quote
                position, quote, is_start = end.end() - 1, None, False
            elif char == "#" and line[position - 1 : position].isspace():
                break
            elif char in "\"'" and is_start:
                quote = (char, index, position)
            elif char in "[]{}":
                is_start = char in _PAIRS
                if not self._bracket(index, position, char):
                    return -1, None
            elif not char.isspace():
                is_start = char == "," or (char == ":" and line[position + 1 : position + 2] in ("", " "))
            position += 1
            if not quote and not self._open:
                return position, None
        return position, quote

    def _bracket(self, index: int, position: int, char: str) -> bool:
        """Open or close a bracket; return True if the line needs no repair, False after a repair."""
        if char in _PAIRS:
            self._open.append((char, index, position))
            return True
        return self._closes(index, position, char)

    def _closes(self, index: int, position: int, char: str) -> bool:
        """Return True if a closing bracket matches the innermost open one; else repair the line and return False."""
        opener, opener_index, column = self._open.pop()
        if _PAIRS[opener] == char:
            return True
        line, expected = self._scan.lines[index], _PAIRS[opener]
        is_outer = any(_PAIRS[outer] == char for outer, _index, _column in self._open)
        repaired = line[:position] + expected + line[position + (0 if is_outer else 1) :]
        self._scan.report(opener_index, column, "bracket", repaired, index)
        return False

    def _rescan(self, index: int) -> int:
        return (
            _Flow(self._scan, self._index, self._start, self._parent).end() if index >= self._index else index
        )

    def _trailing_text(self, index: int, position: int) -> int:
        """Report text that follows the end of the value on its line, and repair the line; return the next line's index.

        Only a comment, or nothing, is no fault.
        """
        line = self._scan.lines[index]
        trailing = line[position:]
        if not trailing.strip() or re.match(r"\s+#", trailing):
            return index + 1
        if index not in self._scan.faults:
            value = _COMMENT.sub("", line[self._start :]).rstrip() if index == self._index else ""
            if value and not set(trailing.strip()) <= set("]}"):
                repaired = line[: self._start] + json.dumps(value, ensure_ascii=False)
            else:
                repaired = line[:position]
            self._scan.report(index, position, "closed", repaired)
        return index + 1

    def _close_quote(self, quote: tuple[str, int, int]) -> int:
        char, index, column = quote
        line = self._scan.lines[index]
        body = line.rstrip()
        tail = re.search(r"[\]}\s,]*$", body) if self._open else None
        position = max(tail.start() if tail else len(body), column + 1)
        self._scan.report(index, column, "quote", body[:position] + char + body[position:])
        return self._rescan(index)

    def _close_brackets(self, index: int) -> int:
        """Report that brackets are open at line `index`, where the next key begins, and close them before that line.

        Return `index`.
        """
        _opener, opener_index, column = self._open[-1]
        last = index - 1
        while last > opener_index and _is_blank(self._scan.lines[last]):
            last -= 1
        line = _COMMENT.sub("", self._scan.lines[last]).rstrip()
        closing = "".join(_PAIRS[char] for char, _index, _column in reversed(self._open))
        self._scan.report(opener_index, column, "bracket", line + closing, last)
        return index
