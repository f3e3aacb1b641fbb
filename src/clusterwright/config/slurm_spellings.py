"""Keys of slurm.conf in a cluster file: the line of the cluster file that says the same."""

from __future__ import annotations

import re

_GPUS = re.compile(r"gpu:(?:([A-Za-z][\w-]*):)?(\d+)")
_SWITCH = {"yes": "true", "true": "true", "no": "false", "false": "false"}


def cluster_line(key: str, value: object, text: str) -> str:
    """Return the line `key: value` for a key of slurm.conf; empty for another key, or a value that has no such line.

    `text` is the value as it is in the file.
    """
    name, text = key.lower(), text.strip("'\"")
    if name == "clustername":
        return f"name: {text.lower()}"
    if name == "realmemory" and text.isdecimal():
        return f"memory: {text}MiB"
    if name == "default":
        word = str(value).lower() if isinstance(value, bool) else text.lower()
        return f"default: {_SWITCH[word]}" if word in _SWITCH else ""
    if name == "cpus" and text.isdecimal() and int(text):
        return f"cpus: {{sockets: 1, cores_per_socket: {text}}}"
    if name == "gres" and (match := _GPUS.fullmatch(text)):
        return f"gpus: {{model: {match[1] or 'h100'}, count: {match[2]}}}"
    if name in ("maxtime", "defaulttime"):
        return _time_line("max_time" if name == "maxtime" else "default_time", text)
    return ""


def _time_line(key: str, text: str) -> str:
    from clusterwright.config.slurm_rules.conf import minutes
    from clusterwright.units import format_duration

    limit = minutes(text)
    return f"{key}: {format_duration(limit * 60)}" if limit else ""
