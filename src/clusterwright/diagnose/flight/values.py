"""Read a pickle of plain values safely.

No name is imported, nothing is called, and no more memory is allocated than the size of the file. Python's own
unpickler executes whatever a pickle contains; this one supports only the opcodes of numbers, texts, lists, tuples and
dicts, which are all that a dump has.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from clusterwright.i18n import _

_CONSTANTS: dict[int, Any] = {ord("N"): None, 0x88: True, 0x89: False}
_EMPTY: dict[int, Callable[[], Any]] = {ord("}"): dict, ord("]"): list, ord(")"): tuple}
_FIXED = {ord("K"): "<B", ord("M"): "<H", ord("J"): "<i", ord("G"): ">d"}
_TEXTS = {0x8C: "<B", ord("X"): "<I", 0x8D: "<Q"}
_LONGS = {0x8A: "<B", 0x8B: "<I"}
_MEMO_STORES = {ord("q"): "<B", ord("r"): "<I"}
_GETS = {ord("h"): "<B", ord("j"): "<I"}
_TUPLES = {0x85: 1, 0x86: 2, 0x87: 3}
_CHECKED = 4096  # opcodes between two checks of the time budget
_PROTO, _FRAME, _STOP, _MEMOIZE = 0x80, 0x95, ord("."), 0x94


def values(data: bytes, check: Callable[[], None] = lambda: None) -> Any:
    """Return the value of a pickle; `check` is called all the time, and may end it by an exception of its own.

    A pickle can put one list into another again and again: what is short may print as text without end.

    Raises:
        ValueError: the pickle has an opcode that is not of plain values, or is truncated.
    """
    try:
        return _Machine(data).run(check)
    except (IndexError, KeyError, TypeError, struct.error, UnicodeDecodeError, AttributeError) as error:
        raise ValueError(_("the pickle cannot be read: {error}", error=error)) from error


class _Machine:
    """The stack and the memo of an unpickler, which its opcodes change."""

    def __init__(self, data: bytes) -> None:
        self._data, self._offset = data, 0
        self._stack: list[Any] = []
        self._mark_heights: list[int] = []  # heights of the stack
        self._memo: dict[int, Any] = {}

    def run(self, check: Callable[[], None]) -> Any:
        count = 0
        while (code := self._byte()) != _STOP:
            count += 1
            if count % _CHECKED == 0:
                check()
            if not (self._push_value(code) or self._handle_memo(code) or self._combine_values(code)):
                raise ValueError(
                    _(
                        "the pickle has opcode {code:#x} at offset {offset}, which is not of plain values",
                        code=code,
                        offset=self._offset - 1,
                    )
                )
        return self._stack.pop()

    def _push_value(self, code: int) -> bool:
        """Push the constant, empty container, number, text or mark of an opcode on the stack; return True if it does.

        False for any other opcode, which changes nothing here.
        """
        if code in _CONSTANTS:
            self._stack.append(_CONSTANTS[code])
        elif code in _EMPTY:
            self._stack.append(_EMPTY[code]())
        elif code in _FIXED:
            self._stack.append(self._number(_FIXED[code]))
        elif code in _TEXTS:
            self._stack.append(self._read(self._number(_TEXTS[code])).decode("utf-8", "surrogateescape"))
        elif code in _LONGS:
            self._stack.append(int.from_bytes(self._read(self._number(_LONGS[code])), "little", signed=True))
        elif code == ord("("):
            self._mark_heights.append(len(self._stack))
        else:
            return False
        return True

    def _handle_memo(self, code: int) -> bool:
        """Execute an opcode of the memo (store the top of the stack, or push from it) or one that frames the pickle.

        Return False for any other opcode.
        """
        if code in _MEMO_STORES:
            self._memo[self._number(_MEMO_STORES[code])] = self._stack[-1]
        elif code == _MEMOIZE:
            self._memo[len(self._memo)] = self._stack[-1]
        elif code in _GETS:
            self._stack.append(self._memo[self._number(_GETS[code])])
        elif code == _PROTO:
            self._read(1)
        elif code == _FRAME:
            self._read(8)
        else:
            return False
        return True

    def _combine_values(self, code: int) -> bool:
        """Replace values on top of the stack by one container that holds them; return False if the opcode does not.

        These are opcodes of tuples, lists and dicts.
        """
        if code in _TUPLES:
            parts = self._stack[-_TUPLES[code] :]
            del self._stack[-_TUPLES[code] :]
            self._stack.append(tuple(parts))
        elif code == ord("t"):
            self._stack.append(tuple(self._since_mark()))
        elif code == ord("a"):
            item = self._stack.pop()
            self._stack[-1].append(item)
        elif code == ord("e"):
            several = self._since_mark()
            self._stack[-1].extend(several)
        elif code == ord("s"):
            value, key = self._stack.pop(), self._stack.pop()
            self._stack[-1][_plain_key(key)] = value
        elif code == ord("u"):
            pairs = self._since_mark()
            self._stack[-1].update(zip(map(_plain_key, pairs[::2]), pairs[1::2], strict=True))
        else:
            return False
        return True

    def _since_mark(self) -> list[Any]:
        index = self._mark_heights.pop()
        parts = self._stack[index:]
        del self._stack[index:]
        return parts

    def _byte(self) -> int:
        self._offset += 1
        return self._data[self._offset - 1]

    def _number(self, form: str) -> Any:
        (number,) = struct.unpack(form, self._read(struct.calcsize(form)))
        return number

    def _read(self, count: int) -> bytes:
        if self._offset + count > len(self._data):
            raise ValueError(_("the pickle is truncated"))
        self._offset += count
        return self._data[self._offset - count : self._offset]


def _plain_key(key: Any) -> Any:
    """Return the key; TypeError for a tuple, whose parts may be the same tuple again and again: its hash has no end."""
    if isinstance(key, tuple):
        raise TypeError("a tuple as a key")
    return key
