"""How checkpoints are shown, and where they are looked for."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterwright.cli._show import say, show_json, show_table, show_text

if TYPE_CHECKING:
    from clusterwright.launch.checkpoints import Seen

_PREFIXES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"))


def seen(what: str, cluster: Path | None, host: str) -> Seen | None:
    """The host that sees them; None for what is on this machine."""
    from clusterwright.cli._there import find_cluster, way_to
    from clusterwright.launch.checkpoints import Seen

    if not (cluster or host) and ("/" in what or Path(what).exists()):
        return None
    where = find_cluster(cluster)
    return Seen(where, way_to(where), host)


def show_list(found: dict[str, Any], *, json: bool, now: float | None = None) -> int:
    """One row for each; half-done saves as talk."""
    if json:
        show_json(found)
        return 0
    at = time.time() if now is None else now
    rows = [_row(row, at) for row in found["checkpoints"]]
    if rows:
        columns = ("step", "saved", "size", "ranks", "torch", "verified", "mark", "next save")
        show_table(columns, rows)
    for row in found["checkpoints"]:
        if row["why"]:
            say(f"step {row['step']}: {row['why']}")
    for partial in found["partial"]:
        size, age = _size(partial["bytes"]), _ago(partial["time"], at)
        say(f"{partial['name']}: a save or removal that is not finished, {size}, {age}")
    say(f"{found['folder']} keeps {found['keep']} good ones")
    return 0


def show_verified(found: dict[str, Any], *, json: bool) -> int:
    """One row for each, and what is damaged; 5 when anything is."""
    rows = found["checkpoints"]
    if json:
        show_json(found)
    else:
        shown = [
            (str(row["step"]), row["state"], _size(row["bytes"]), f"{row['seconds']:.1f} s") for row in rows
        ]
        show_table(("step", "bytes", "size", "took"), shown)
        for row in rows:
            if row["why"]:
                show_text(f"step {row['step']}: {row['why']}")
            if not row["noted"]:
                say(f"step {row['step']}: the outcome could not be noted in {found['folder']}")
    return 5 if any(row["state"] == "damaged" for row in rows) else 0


def show_converted(told: dict[str, Any], *, json: bool) -> int:
    """What was written, and what was not."""
    if json:
        show_json(told)
    else:
        show_text(f"{told['target']}  {_size(told['bytes'])}, equal bit for bit")
        say(f"not carried: {', '.join(told['left_behind'])}")
    return 0


def _row(row: dict[str, Any], now: float) -> tuple[str, ...]:
    checked = _ago(row["verified_at"], now)
    verified = (
        "damaged"
        if row["state"] == "damaged"
        else "when saved"
        if row["verified_at"] == row["time"]
        else checked
    )
    ranks = "-" if row["world_size"] is None else str(row["world_size"])
    marks = ", ".join(row["marks"]) or "-"
    saved = _ago(row["time"], now)
    return (
        str(row["step"]),
        saved,
        _size(row["bytes"]),
        ranks,
        row["torch"] or "-",
        verified,
        marks,
        row["fate"],
    )


def _size(count: int) -> str:
    for unit, name in _PREFIXES:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"


def _ago(when: float | None, now: float) -> str:
    if when is None:
        return "-"
    seconds = max(0.0, now - when)
    for unit, name in _SPANS:
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name} ago"
    return f"{seconds:.0f} s ago"
