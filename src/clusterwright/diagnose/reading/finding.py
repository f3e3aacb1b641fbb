"""Find log files, their order of rotation, and the host and rank that their names give."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from clusterwright.diagnose.reading.line import clean
from clusterwright.diagnose.reading.source import LogSource, of_stream, opened
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

_PACKED = re.compile(r"\.(?:gz|xz|bz2|zst)$")
_ROTATED = re.compile(r"^(?P<base>.+?)[.-](?P<number>\d{1,3}|\d{8}(?:-?\d{4,6})?)$")
_SUFFIX = r"\.(?:log|out|err|txt|stderr|stdout|jsonl?|messages|dmesg)(?:\.\d+)?$"
_LOGS = re.compile(rf"{_SUFFIX}|^[\w-]+$", re.IGNORECASE)
_FILES = re.compile(rf"{_SUFFIX}|{_PACKED.pattern}|\.(?:zip|tar|tgz)$", re.IGNORECASE)
_KINDS = (
    ("kernel", re.compile(r"^(?:kern(?:el)?|dmesg)\b|[.-](?:dmesg|kern(?:el)?)\b", re.IGNORECASE)),
    ("slurm", re.compile(r"^slurm(?:ctld|d|dbd|stepd)\b", re.IGNORECASE)),
    ("sacct", re.compile(r"^sacct\b")),
    ("scontrol", re.compile(r"^scontrol\b")),
    ("verdict", re.compile(r"^verdicts?\b")),
    ("metric", re.compile(r"^metrics?\b")),
    ("flight", re.compile(r"^flight\b")),
)
_RANK = re.compile(r"(?:^|[/._-])(?:rank|r|task|proc|worker)[-_ ]?(\d+)(?=[/._-]|$)", re.IGNORECASE)
_OF_TORCHRUN = re.compile(r"attempt_\d+/(\d+)/std(?:err|out)")
_HOST = re.compile(
    r"(?:^|[/._])((?:[a-z]+[a-z-]*)?(?:node|gpu|host|worker-|compute|dgx|hgx)[a-z-]*\d+)(?=[/._-]|$)"
)
_OURS = re.compile(r"logs/[^/]+/(?P<host>[^/]+)/(?P<local>\d+)\.(?:out|err)$")


def is_named_like_file(name: str) -> bool:
    """Return True for a name with the suffix of a log, of a compressed file or of an archive."""
    return bool(_FILES.search(name))


def find_sources(arguments: Sequence[str]) -> list[LogSource]:
    """Return the sources of all arguments: `-` for standard input, files, and folders with files named like logs.

    Raises:
        WrightError: `file-unreadable`: a path does not exist, or there is no file, or only empty ones.
    """
    files: list[Path] = []
    streams = []
    for argument in arguments:
        if argument == "-":
            streams.append(of_stream())
        else:
            files += _files(Path(argument))
    if not files and not streams:
        raise WrightError.from_code(
            "file-unreadable",
            _("there is no log in {paths}", paths=", ".join(arguments)),
            _("name the log files, or a folder of log files"),
            exit_code=EXIT_USAGE,
        )
    if not streams and all(map(_is_empty, files)):
        raise WrightError.from_code(
            "file-unreadable",
            _("{paths}: the log has no line, so there is no diagnosis", paths=", ".join(arguments)),
            _("name a log with lines, or the job itself, as its id or the name of its run"),
            exit_code=EXIT_USAGE,
        )
    ordered = sorted(dict.fromkeys(files), key=_order)
    return [*streams, *(_source(path, number) for number, path in enumerate(ordered))]


def _is_empty(path: Path) -> bool:
    """Return True for a regular file without a byte; files of /proc have the size 0 and lines.

    False if it cannot be read.
    """
    try:
        return path.is_file() and not path.stat().st_size and not path.read_bytes()[:1]
    except OSError:
        return False


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        inside = (file for file in path.rglob("*") if file.is_file() and not _hidden(file.relative_to(path)))
        yield from (file for file in inside if _LOGS.search(Path(_group(file)[0]).name))
    elif path.exists():
        yield path
    else:
        raise WrightError.from_code(
            "file-unreadable",
            _("`{path}` does not exist", path=path),
            _("name a log file, a folder of log files, or `-` for standard input"),
            exit_code=EXIT_USAGE,
        )


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _group(path: Path) -> tuple[str, tuple[int, int]]:
    """Return the path of the log of which a file is a rotated part, and a key that sorts parts from oldest to newest.

    Parts with a date come first, then numbered ones from the highest number down; the one without suffix is the
    newest.
    """
    name = _PACKED.sub("", path.name)
    match = _ROTATED.match(name)
    if match is None or (name.startswith("slurm-") and "." not in match["base"]):
        return str(path.parent / name), (2, 0)
    number = int(match["number"].replace("-", ""))
    dated = len(match["number"]) >= len("20260101")
    return str(path.parent / match["base"]), (0, number) if dated else (1, -number)


def _order(path: Path) -> tuple[str, tuple[int, int], str]:
    return *_group(path), path.name


def _source(path: Path, number: int) -> LogSource:
    text = path.as_posix()
    host, rank = _owner(text)
    try:
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC).year
    except OSError:
        written = 0
    return LogSource(
        name=clean(os.fsencode(path)),  # a name may contain terminal escapes
        open=partial(opened, path),
        kind=next((kind for kind, pattern in _KINDS if pattern.search(path.name)), "log"),
        host=host,
        rank=rank,
        year=written,
        order=number,
        group=_group(path)[0],
    )


def _owner(text: str) -> tuple[str, str]:
    """Return host and rank that a path names, each empty if it names none; for our own logs the host only."""
    if match := _OURS.search(text):
        return match["host"], ""
    rank = _OF_TORCHRUN.search(text) or _RANK.search(text)
    tail = "/".join(text.split("/")[-3:])
    host = _HOST.search(tail)
    return host[1] if host else "", rank[1] if rank else ""
