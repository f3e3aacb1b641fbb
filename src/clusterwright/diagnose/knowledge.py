"""All modes at hand: which texts are looked for, and whom each of them tells of."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from clusterwright.diagnose.mode import FOLDER, Mode, mode, paths, tables


class Knowledge:
    """Modes by id, made when they are asked for; and the texts of all their signatures and witnesses."""

    def __init__(self, known: Mapping[str, Mapping[str, Any]]) -> None:
        self._tables = known
        self._modes: dict[str, Mode] = {}

    def __iter__(self) -> Any:
        return iter(self._tables)

    def __getitem__(self, name: str) -> Mode:
        if name not in self._modes:
            self._modes[name] = mode(name, self._tables[name])
        return self._modes[name]

    @cached_property
    def signatures(self) -> dict[str, list[tuple[str, int]]]:
        """Text to look for: the modes, with the number of the signature, that it may tell of."""
        takers: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for name, table in self._tables.items():
            for number, each in enumerate(table["signature"]):
                takers[each["has"]].append((name, number))
        return dict(takers)

    @cached_property
    def others(self) -> set[str]:
        """Texts of witnesses and of what is near a signature: where they are is noted, and no more."""
        found = set(self.near)
        for table in self._tables.values():
            for each in (*table.get("confirmed_by", ()), *table.get("ruled_out_by", ())):
                found.update({each["has"]} if "has" in each else ())
        return found

    @cached_property
    def likes(self) -> dict[str, set[str]]:
        """Expressions of witnesses by their texts; an empty one where any line with the text will do."""
        found: dict[str, set[str]] = defaultdict(set)
        for table in self._tables.values():
            for each in (*table.get("confirmed_by", ()), *table.get("ruled_out_by", ())):
                if "has" in each:
                    found[each["has"]].add(each.get("like", ""))
        return dict(found)

    @cached_property
    def near(self) -> set[str]:
        """Texts that are asked for near a signature."""
        signatures = (each for table in self._tables.values() for each in table["signature"])
        return {text for each in signatures for text in each.get("near", ())}

    @cached_property
    def texts(self) -> list[str]:
        """Everything that is looked for."""
        return sorted({*self.signatures, *self.others})


def knowledge(folder: Path = FOLDER) -> Knowledge:
    """What the mode files say; read from the user's cache where that was made from these very files.

    Parsing 250 TOML files takes some 0.3 s of processor time, reading them as one JSON document 0.01 s.
    """
    stamp = _stamp(folder)
    kept = _cache()
    try:
        stored = json.loads(kept.read_bytes())
        if stored["stamp"] == stamp:
            return Knowledge(stored["modes"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    known = tables(folder)
    _keep(kept, {"stamp": stamp, "modes": known})
    return Knowledge(known)


def _stamp(folder: Path) -> list[Any]:
    found = [(path, path.stat()) for path in paths(folder)]
    return [str(folder), len(found), *([at.st_mtime_ns, at.st_size] for _, at in found)]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "clusterwright" / "why-modes.json"


def _keep(path: Path, document: Mapping[str, Any]) -> None:
    from clusterwright.edge.files import write_whole

    try:
        write_whole(path, json.dumps(document, ensure_ascii=False), mode=0o600)
    except (OSError, RuntimeError):  # no home, or one that is full or read-only: the next run parses again
        return
