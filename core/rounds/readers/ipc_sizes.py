"""What the packed buffers of an Arrow file unpack to, read from its messages before anything is unpacked.

Arrow IPC may pack each buffer of a message (zstd, LZ4); the buffer then begins with its unpacked length, and the message says where its
buffers are. pyarrow allocates that length at once, so it is looked at first. Layout: the Arrow columnar format's Message.fbs, a FlatBuffers
table: ``Message {version, header_type, header, bodyLength}``, ``DictionaryBatch {id, data}``, ``RecordBatch {length, nodes, buffers,
compression}``.
"""
from __future__ import annotations

import struct
from typing import Any, Final

import pyarrow as pa

_OFFSET, _BACK, _SHORT, _VTABLE, _LENGTH = (struct.Struct(form) for form in ("<I", "<i", "<H", "<HH", "<q"))
_BUFFER: Final = struct.Struct("<qq")
_MESSAGE: Final = ("version", "header_type", "header", "bodyLength")
_DICTIONARY: Final = ("id", "data")
_BATCH: Final = ("length", "nodes", "buffers", "compression")


_END_OF_STREAM: Final = struct.Struct("<Ii")
"""What a writer that is closed puts after its last message: the continuation mark and a length of nothing."""


def unpacked_total(source: Any, limit: int) -> tuple[int, bool]:
    """The bytes that all messages of an Arrow stream unpack to, and whether the stream says that it ends there. The counting ends beyond
    ``limit``. A stream may be cut between two messages, and reads like a shorter one then: only its end tells. Raises struct.error or
    ArrowException for what is no such stream."""
    total, last = 0, source.tell()
    for message in pa.ipc.MessageReader.open_stream(source):
        total, last = total + _unpacked(message), source.tell()
        if total > limit:
            break
    return total, source.tell() - last == _END_OF_STREAM.size


def _unpacked(message: Any) -> int:
    if message.body is None or not message.body.size:
        return 0
    data, body = memoryview(message.metadata), memoryview(message.body)
    root = _followed(data, 0)
    header = _followed(data, _field(data, root, _MESSAGE.index("header")))
    if message.type == "dictionary":
        header = _followed(data, _field(data, header, _DICTIONARY.index("data")))
    if not _field(data, header, _BATCH.index("compression")):
        return len(body)
    vector = _followed(data, _field(data, header, _BATCH.index("buffers")))
    (count,) = _OFFSET.unpack_from(data, vector)
    places = (_BUFFER.unpack_from(data, vector + _OFFSET.size + number * _BUFFER.size) for number in range(count))
    return sum(_buffer_bytes(body, start, length) for start, length in places)


def _buffer_bytes(body: memoryview, start: int, length: int) -> int:
    """The unpacked bytes of one buffer: its first eight bytes say it, -1 for one that is not packed after all."""
    if length < _LENGTH.size:
        return 0
    (said,) = _LENGTH.unpack_from(body, start)
    return int(said) if said >= 0 else length - _LENGTH.size


def _followed(data: memoryview, place: int) -> int:
    """Where the offset at ``place`` leads."""
    return place + int(_OFFSET.unpack_from(data, place)[0])


def _field(data: memoryview, table: int, slot: int) -> int:
    """Where a field of a table is, or 0 where the table leaves it out."""
    vtable = table - int(_BACK.unpack_from(data, table)[0])
    place = vtable + _VTABLE.size + slot * _SHORT.size
    if place >= vtable + int(_SHORT.unpack_from(data, vtable)[0]):
        return 0
    offset = int(_SHORT.unpack_from(data, place)[0])
    return table + offset if offset else 0
