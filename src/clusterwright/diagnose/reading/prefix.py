"""Parse the rank and host that launchers and programs write before a line."""

from __future__ import annotations

import re
from typing import NamedTuple

_HOST = r"[A-Za-z](?:[\w-]*[\w])?(?:\.[\w-]+)*"
_RANKS = (
    re.compile(r"^\[[Rr]ank ?(?P<rank>\d+)\]:? ?"),
    re.compile(r"^\[(?:default|\w*worker\w*)(?P<rank>\d+)\]:? ?"),  # torchrun --tee
    re.compile(
        rf"^\[(?P<host>{_HOST}):(?P<rank>\d{{1,3}})\]:? "
    ),  # [host:rank]; more digits are a process id
    re.compile(r"^\[\d+,(?P<rank>\d+)\]<std(?:err|out)>:? ?"),  # mpirun --tag-output
    re.compile(r"^ *\[?(?P<rank>\d{1,5})\]?: "),  # srun --label
    re.compile(r"^[Rr]ank ?(?P<rank>\d+):? "),
    re.compile(r"^\(\w+ pid=\d+(?:, ip=(?P<host>[\d.]+))?\) "),  # Ray
    re.compile(
        r"^(?:slurmstepd-)?(?P<host>[a-z][a-z-]*\d[\w-]*(?:\.[a-z][\w.-]*)?): (?=\S)"
    ),  # pdsh, clush, slurmstepd; names that have a number
)
_NOT_HOSTS = re.compile(
    r"^(?:mlx\d|nvme|eth\d|ib\d|ibs|en[ops]\w*\d|md\d|dm-|sd[a-z]\d|bond|cuda|python|nfs\d|hfi|rdma|pid|line)"
)
_INSIDE_RANK = re.compile(r"\[[Rr]ank ?(\d+)\]|\brank(?:=|: ?|\s?)(\d+)\b|\bRank (\d+)\b")
_NCCL = re.compile(rf"(?P<host>{_HOST}):\d+:\d+ \[(?P<gpu>-?\d+)\] NCCL ")
_SYSLOG_HOST = re.compile(
    rf"^(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?:[A-Z][a-z]{{2}} +\d{{1,2}} [\d:.]{{8,}}|\d{{4}}-\d\d-\d\dT[\d:.+Z-]+) "
    rf"(?P<host>{_HOST}) (?:[\w./()-]+(?:\[\d+\])?:|kernel)"
)
_PREFIX_LENGTH = 160  # characters of a line in which host and rank are searched


class LineParts(NamedTuple):
    """Rank and host of a line, empty if it has none, and the rest of the line."""

    rank: str
    host: str
    body: str


def split_prefix(line: str) -> LineParts:
    """Split prefixes off a line, then search its body for a rank and host.

    The innermost rank counts: the launcher's is the local rank.
    """
    rank = host = ""
    body = line
    for _ in range(4):
        for pattern in _RANKS:
            match = pattern.match(body)
            if match is None or _NOT_HOSTS.match(match.groupdict().get("host") or ""):
                continue
            parts = match.groupdict()
            rank, host = parts.get("rank") or rank, host or parts.get("host") or ""
            body = body[match.end() :]
            break
        else:
            break
    head = body[:_PREFIX_LENGTH]
    if not host and (match := _SYSLOG_HOST.match(head) or _NCCL.search(head)):
        host = match["host"]
    if not rank and (match := _INSIDE_RANK.search(head)):
        rank = next(part for part in match.groups() if part)
    return LineParts(rank, "" if host == "localhost" else host, body)
