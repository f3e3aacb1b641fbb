"""Refuses structures in which containers that are named many times multiply to more items than a reader can copy."""

from __future__ import annotations

import pickletools  # nosec B403 # it lists opcodes and runs none
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from torch._C import PyTorchFileReader

from clusterwright.runtime.checkpoints.source import Damaged

_MOST_COPIES = 1_000_000  # items beyond those of the structure itself; a second and 100 MB
_ZIP = b"PK\3\4"  # at the begin of a file of torch.save
_GETS = ("GET", "BINGET", "LONG_BINGET")
_INDEXED = ("PUT", "BINPUT", "LONG_BINPUT")


def require_few_copies(value: Any) -> None:
    """Raise Damaged if a structure of dicts, lists and tuples has many more paths than items.

    As lists that contain another list twice, at many levels.

    Raises:
        Damaged: it has `_MOST_COPIES` more, as lists that contain another list twice, at many levels.
        RecursionError: it is nested too deeply or contains itself.
    """
    paths: dict[int, int] = {}  # by the identity of a container
    if _count_paths(value, paths) > _MOST_COPIES + sum(map(len, _containers(value))):
        raise Damaged("the structure of the state names the same containers too often")


def _inner(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _count_paths(value: Any, paths: dict[int, int]) -> int:
    """Return the number of paths in a structure; it visits a container once, also if that occurs several times."""
    if not isinstance(value, (dict, list, tuple)):
        return 1
    if id(value) not in paths:
        paths[id(value)] = 1 + sum(_count_paths(item, paths) for item in _inner(value))
    return paths[id(value)]


def _containers(value: Any) -> Iterator[Any]:
    """Yield each dict, list and tuple of a nested structure once, the structure itself included."""
    visited: set[int] = set()
    waiting = [value]
    while waiting:
        container = waiting.pop()
        if isinstance(container, (dict, list, tuple)) and id(container) not in visited:
            visited.add(id(container))
            yield container
            waiting += _inner(container)


def pickle_of(source: Path | BinaryIO) -> bytes | None:
    """Return the pickle in a file of torch.save, as torch reads it; None for one of PyTorch before 1.6.

    A stream is read from its begin and set back to it.
    """
    if isinstance(source, Path):
        with source.open("rb") as file:
            return pickle_of(file)
    begin = source.read(len(_ZIP))
    source.seek(0)
    if begin != _ZIP:
        return None
    data: bytes = PyTorchFileReader(source).get_record("data.pkl")
    source.seek(0)
    return data


def require_few_copies_in_keys(data: bytes | memoryview, *, indexes: bool) -> None:
    """Check a pickle before it is loaded: raise Damaged if it would use far more time or memory.

    Hashing a key visits each path of a tuple; Python reserves memory by indexes.

    Raises:
        Damaged: tuples that are named again have more than `_MOST_COPIES` items in all, or there is an index of the
            memo without `indexes`: protocol 4, that of `pack`, writes none.
        ValueError, IndexError, LookupError: it is no pickle.
    """
    stack: list[int | None] = []  # the number of items of each object; None is a mark
    memo: dict[int, int] = {}
    copies = 0
    for opcode, argument, _ in pickletools.genops(bytes(data)):
        if opcode.name in _INDEXED and not indexes:
            raise Damaged("the structure of the state has an index of another protocol")
        index = argument if isinstance(argument, int) else len(memo)  # MEMOIZE names none
        if opcode.name in _GETS:
            stack.append(memo[index])
            copies += memo[index] - 1
        elif opcode.name == "MEMOIZE" or opcode.name in _INDEXED:
            memo[index] = stack[-1] or 1
        elif opcode.name == "DUP":
            raise Damaged("the structure of the state has an instruction of another protocol")
        else:
            _apply(opcode, stack)
        if copies > _MOST_COPIES:
            raise Damaged("the structure of the state names the same tuples too often")


def _apply(opcode: pickletools.OpcodeInfo, stack: list[int | None]) -> None:
    """Change the stack, which has the size of each object, as an instruction of a pickle changes that of objects."""
    before, after = opcode.stack_before, opcode.stack_after
    if opcode.name == "POP" and stack[-1] is None:
        stack.pop()
        return
    items = 0
    if pickletools.markobject in before:
        while (size := stack.pop()) is not None:
            items += size
        before = before[: before.index(pickletools.markobject)]
    for _ in before:
        items += stack.pop() or 1
    stack += [None if kind is pickletools.markobject else 1 + items for kind in after]
