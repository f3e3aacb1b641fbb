"""The in-memory checkpoint that the launcher offers for a resume, and readers of its parts."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterwright.runtime.checkpoints import memory
from clusterwright.runtime.checkpoints.part import Part, Reader
from clusterwright.runtime.checkpoints.source import Damaged, MemorySource, OtherFormat
from clusterwright.runtime.replicas.fetch import Fetched
from clusterwright.runtime.replicas.slots import FORMAT, Slots

VARIABLE = "CLUSTERWRIGHT_MEMORY"


@dataclass(frozen=True)
class Remembered:
    """An in-memory checkpoint with the parts of all ranks; `places` has a path or an address for each rank."""

    generation: int
    step: int
    world_size: int
    token: str
    places: tuple[dict[str, Any], ...]

    @contextlib.contextmanager
    def reader(self, rank: int) -> Iterator[Reader]:
        """Open one rank's part for a `with` block, with its length, header and checksums verified.

        Raises:
            Damaged: the part is missing or fails verification.
            OSError: the agent that holds it cannot be reached.
        """
        location, key = self.places[rank], (self.generation, self.step, self.world_size, rank)
        opened = _mapped(location["path"], key) if "path" in location else _fetched(location, self.token, key)
        with opened as reader:
            yield reader


def read_environment(environ: MutableMapping[str, str] = os.environ) -> Remembered | None:
    """Return the in-memory checkpoint that the launcher's variable names, and remove the variable.

    None if it is not set. Child processes must not inherit it.

    Raises:
        OtherFormat: the agent is of another version, whose copies have another format.
        OSError: the variable names a file that cannot be read.
    """
    text = environ.pop(VARIABLE, "")
    if not text:
        return None
    document = json.loads(Path(text).read_text() if text.startswith("/") else text)
    if document.get("format") != FORMAT:
        raise OtherFormat(
            f"the in-memory checkpoint has format {document.get('format')!r}; this version reads {FORMAT}"
        )
    places = sorted(document["parts"], key=lambda location: int(location["rank"]))
    return Remembered(
        document["generation"], document["step"], document["world_size"], document["token"], tuple(places)
    )


@contextlib.contextmanager
def _mapped(path: str, key: tuple[int, int, int, int]) -> Iterator[Reader]:
    slots = Slots(path)
    try:
        for entry in slots.stored():
            if (entry.generation, entry.step, entry.world_size, entry.rank) == key:
                data = memory.view(slots.bytes(entry.slot, entry.bytes))
                name = f"rank {entry.rank}'s part in {path}"
                yield Reader(MemorySource(name, data), Part(name, entry.bytes, entry.digest))
                return
    finally:
        slots.close()
    raise Damaged(f"rank {key[3]}'s part is not in {path}")


@contextlib.contextmanager
def _fetched(location: dict[str, Any], token: str, key: tuple[int, int, int, int]) -> Iterator[Reader]:
    source = Fetched(location["address"], location["port"], token, key)
    try:
        yield Reader(source, Part(source.name, source.size(), source.digest))
    finally:
        source.close()
