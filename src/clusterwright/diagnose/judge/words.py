"""The words of a diagnosis, in two languages: a mode's texts with the names that were read put in."""

from __future__ import annotations

import re
from collections.abc import Mapping

LANGUAGES = ("en", "zh")
_NAMES = re.compile(r"(?<!\$)\{([a-z_][a-z0-9_]*)\}")
# What stands for a name that the line did not give.
_UNNAMED = {
    "host": ("a host", "某台主机"),
    "node": ("a host", "某台主机"),
    "peer": ("a peer", "某个对端"),
    "rank": ("a rank", "某个 rank"),
    "gpu": ("a GPU", "某块 GPU"),
    "path": ("a file", "某个文件"),
    "port": ("a port", "某个端口"),
    "interface": ("an interface", "某个网卡"),
    "module": ("a module", "某个模块"),
    "device": ("a device", "某个设备"),
    "user": ("the user", "该用户"),
}
_UNKNOWN = {
    "en": (
        "Nothing here is known to be a cause.",
        "Read the quoted line and what stands before it; give the logs of all ranks and the kernel's log as well.",
    ),
    "zh": ("其中没有已知的故障特征。", "请查看所引用的行及其上文；并提供所有 rank 的日志与内核日志。"),
}


def filled(text: str, names: Mapping[str, str], lang: str) -> str:
    """The text with its names."""

    def name(match: re.Match[str]) -> str:
        key = match[1]
        known = _UNNAMED.get(key, (key.replace("_", " "), key))
        return names.get(key) or known[LANGUAGES.index(lang)]

    done = _NAMES.sub(name, text)
    return done[:1].upper() + done[1:]


def unknown(lang: str) -> tuple[str, str]:
    """Cause and mend where nothing is recognised."""
    return _UNKNOWN[lang]
