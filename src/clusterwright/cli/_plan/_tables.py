"""Tables from and to files."""

from __future__ import annotations

from pathlib import Path


def read_table(path: Path, out: Path | None = None) -> bytes:
    """The bytes of a table; refuses to have it overwritten by its own predictions."""
    from clusterwright.errors import EXIT_USAGE, WrightError

    try:
        data = path.read_bytes()
    except OSError as why:
        message, mend = f"{why.strerror}: {path}", "give the path of a CSV that can be read"
        raise WrightError.of("file-unreadable", message, mend, exit_code=EXIT_USAGE) from why
    if out and out.exists() and out.samefile(path):
        message = f"{out} is the table itself"
        raise WrightError.of("predict-out-is-in", message, "give --out another name", exit_code=EXIT_USAGE)
    return data


def write_table(path: Path, text: str) -> None:
    """Whole or not at all."""
    from clusterwright.edge.files import write_whole
    from clusterwright.errors import EXIT_USAGE, WrightError

    try:
        write_whole(path, text)
    except OSError as why:
        message, mend = f"{why.strerror}: {path}", "give --out a path that can be written"
        raise WrightError.of("not-writable", message, mend, exit_code=EXIT_USAGE) from why
