"""The systemd sandbox of our own units: it denies everything that a unit does not explicitly allow."""

from __future__ import annotations

import textwrap

# systemd.exec(5) and systemd.resource-control(5). Releases that lack a setting ignore it with a warning.
# ProtectSystem=full and no ProtectHome: `strict` remounts every mount, and an NFS server that is down would then block
# the start of the programs that report it.
_DENIED = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "ProtectSystem": "full",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "PrivateMounts": "yes",
    "ProtectClock": "yes",
    "ProtectControlGroups": "yes",
    "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes",
    "ProtectKernelModules": "yes",
    "ProtectKernelTunables": "yes",
    "RestrictAddressFamilies": "AF_UNIX",
    "RestrictNamespaces": "yes",
    "RestrictRealtime": "yes",
    "RestrictSUIDSGID": "yes",
    "LockPersonality": "yes",
    "MemoryDenyWriteExecute": "yes",
    "SystemCallArchitectures": "native",
    "SystemCallFilter": "@system-service",
    "SystemCallErrorNumber": "EPERM",
    "UMask": "0077",
}
_FILTERED = "~@privileged @resources"  # a second SystemCallFilter: calls of @system-service to remove


def sandbox(threats: str, *, filtered: str = _FILTERED, **allowed: str) -> str:
    """Return the lines of a [Service] section that restrict the service.

    Args:
        threats: who reaches the service, what it reads from others, what it can change; a comment of the unit.
        filtered: system calls to remove from SystemCallFilter, in systemd's form; empty for none.
        allowed: settings in place of the denying ones; an empty text omits the setting.
    """
    settings = {**_DENIED, **allowed}
    lines = textwrap.wrap(threats, 120, initial_indent="# ", subsequent_indent="# ")
    for name, value in settings.items():
        if value or name not in allowed:
            lines.append(f"{name}={value}")
        if name == "SystemCallFilter" and value and filtered:
            lines.append(f"{name}={filtered}")
    return "\n".join(lines)
