"""All failure modes, and the texts to search logs for."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from clusterwright import plugins
from clusterwright.diagnose.mode import FOLDER, Mode, Signature, mode, paths, plugin_tables, tables
from clusterwright.edge.files import cache_folder, read_cached

_MOST_BYTES = 16 << 20  # of the cache; ours has 650 kB


class Knowledge:
    """Failure modes by id, parsed on demand, and the texts of their signatures and witnesses."""

    def __init__(self, mode_tables: Mapping[str, Mapping[str, Any]]) -> None:
        self._tables = mode_tables
        self._modes: dict[str, Mode] = {}

    def __iter__(self) -> Any:
        return iter(self._tables)

    def __getitem__(self, name: str) -> Mode:
        if name not in self._modes:
            self._modes[name] = mode(name, self._tables[name])
        return self._modes[name]

    @cached_property
    def signatures(self) -> dict[str, list[tuple[str, int]]]:
        """Return mode ids and signature numbers by the text of the signature, without those of kind `output`."""
        takers: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for name, table in self._tables.items():
            for number, signature in enumerate(table["signature"]):
                if signature.get("in") != "output":
                    takers[signature["has"]].append((name, number))
        return dict(takers)

    @cached_property
    def of_outputs(self) -> list[tuple[Mode, int, Signature]]:
        """Return the modes, numbers and signatures of kind `output`, for findings in the output of commands."""
        return [
            (self[name], number, self[name].signatures[number])
            for name, table in self._tables.items()
            for number, signature in enumerate(table["signature"])
            if signature.get("in") == "output"
        ]

    @cached_property
    def witness_texts(self) -> set[str]:
        """Return the texts that confirm a failure mode, rule it out, or are the context of a signature.

        Lines with these texts are only recorded.
        """
        texts = set(self.context_texts)
        for table in self._tables.values():
            for witness in (*table.get("confirmed_by", ()), *table.get("ruled_out_by", ())):
                texts.update({witness["has"]} if "has" in witness else ())
        return texts

    @cached_property
    def likes(self) -> dict[str, set[str]]:
        """Return, by text, the regular expressions that a line with it must match to confirm or rule out a mode.

        An empty one matches any line with the text.
        """
        expressions: dict[str, set[str]] = defaultdict(set)
        for table in self._tables.values():
            for witness in (*table.get("confirmed_by", ()), *table.get("ruled_out_by", ())):
                if "has" in witness:
                    expressions[witness["has"]].add(witness.get("like", ""))
        return dict(expressions)

    @cached_property
    def context_texts(self) -> set[str]:
        """Return the texts that signatures require near their line (`near`)."""
        signatures = (signature for table in self._tables.values() for signature in table["signature"])
        return {text for signature in signatures for text in signature.get("near", ())}

    @cached_property
    def texts(self) -> list[str]:
        """Return all texts to search logs for: those of signatures and witnesses, sorted."""
        return sorted({*self.signatures, *self.witness_texts})


def blames_host(mode_id: str) -> bool:
    """Return True if the failure mode is a fault of the host; False for any other, and for what is no mode."""
    known = knowledge()
    return mode_id in set(known) and known[mode_id].exclude == "host"


def knowledge(folder: Path = FOLDER) -> Knowledge:
    """Return the failure modes of all files, from the user's cache if it was made from exactly these files.

    The modes of plug-ins come last. Parsing 250 TOML files takes some 0.3 s of processor time, reading them as one
    JSON document 0.01 s.
    """
    folders = (folder, *plugins.folders("failure_modes"))
    stamp = [_stamp(path) for path in folders]
    cache_path = _cache()
    try:
        stored = json.loads(read_cached(cache_path, _MOST_BYTES))
        if stored["stamp"] == stamp:
            return Knowledge(stored["modes"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    mode_tables = tables(folder)
    mode_tables |= plugin_tables(mode_tables)
    _store(cache_path, {"stamp": stamp, "modes": mode_tables})
    return Knowledge(mode_tables)


def _stamp(folder: Path) -> list[Any]:
    stats = [(path, path.stat()) for path in paths(folder)]
    return [str(folder), len(stats), *([stat.st_mtime_ns, stat.st_size] for _, stat in stats)]


def _cache() -> Path:
    return cache_folder() / "why-modes.json"


def _store(path: Path, document: Mapping[str, Any]) -> None:
    from clusterwright.edge.files import write_file_atomic

    try:
        write_file_atomic(path, json.dumps(document, ensure_ascii=False), mode=0o600)
    except (OSError, RuntimeError):  # no home folder, or it is full or read-only: the next run parses again
        return
