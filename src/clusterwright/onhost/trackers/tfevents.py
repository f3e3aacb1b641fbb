"""TensorBoard's event files: TFRecord records, each with an Event message of event.proto.

Written without TensorBoard, because it takes six fields only; tests read the files with TensorBoard's own reader.
"""

from __future__ import annotations

import struct
from typing import Iterator, List, Mapping, Tuple

# Fields of the messages (tensorboard/compat/proto/event.proto and summary.proto), and how protobuf tags them.
_DOUBLE, _VARINT, _BYTES, _FLOAT = 1, 0, 2, 5
_WALL_TIME, _STEP, _VERSION, _SUMMARY = (1, _DOUBLE), (2, _VARINT), (3, _BYTES), (5, _BYTES)
_VALUE, _TAG, _SIMPLE = (1, _BYTES), (1, _BYTES), (2, _FLOAT)
_CASTAGNOLI = 0x82F63B78  # reversed polynomial of CRC-32C (RFC 3720)
_MASK = 0xA282EAD8  # tensorflow/core/lib/hash/crc32c.h


def _table() -> List[int]:
    entries = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (_CASTAGNOLI if number & 1 else 0)  # noqa: PLW2901 (the remainder)
        entries.append(number)
    return entries


_TABLE = _table()


def begin(time: float) -> bytes:
    """Return the first record of a TensorBoard event file as bytes: the format's version and the time."""
    return _record(_key(_WALL_TIME) + struct.pack("<d", time) + _text(_VERSION, b"brain.Event:2"))


def scalars(time: float, step: int, values: Mapping[str, float]) -> bytes:
    """Return the record of a TensorBoard event file with the values of one step by name."""
    summary = b"".join(
        _text(_VALUE, _text(_TAG, name.encode()) + _key(_SIMPLE) + struct.pack("<f", value))
        for name, value in values.items()
    )
    head = _key(_WALL_TIME) + struct.pack("<d", time) + _key(_STEP) + _varint(step)
    return _record(head + _text(_SUMMARY, summary))


def records(data: bytes) -> Iterator[bytes]:
    """Yield the complete records of a file; stop at one truncated by a crash."""
    offset = 0
    while offset + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, offset)
        if offset + 16 + length > len(data):
            return
        yield data[offset + 12 : offset + 12 + length]
        offset += 16 + length


def step_of(record: bytes) -> int:
    """Return the step of a record of `scalars`; 0 for others."""
    offset = 9
    return (
        _read_varint(record, offset + 1)[0]
        if len(record) > offset and record[offset] == _key(_STEP)[0]
        else 0
    )


def tags(record: bytes) -> List[str]:
    """Return the names of the values in a record that `scalars` built; empty for any other record."""
    offset = 9
    if len(record) <= offset or record[offset] != _key(_STEP)[0]:
        return []
    _, offset = _read_varint(record, offset + 1)
    end, names = len(record), []  # type: int, List[str]
    _, offset = _read_varint(record, offset + 1)
    while offset < end:
        size, offset = _read_varint(record, offset + 1)
        length, start = _read_varint(record, offset + 1)
        names.append(record[start : start + length].decode())
        offset += size
    return names


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _crc(length) + data + _crc(data)


def _crc(data: bytes) -> bytes:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + _MASK) & 0xFFFFFFFF)


def _key(field: Tuple[int, int]) -> bytes:
    return _varint(field[0] << 3 | field[1])


def _text(field: Tuple[int, int], data: bytes) -> bytes:
    return _key(field) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


def _read_varint(data: bytes, offset: int) -> Tuple[int, int]:
    number = shift = 0
    while data[offset] & 0x80:
        number |= (data[offset] & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
    return number | data[offset] << shift, offset + 1
