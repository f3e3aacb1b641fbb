"""The systemd unit of a script that runs once at each boot."""

from __future__ import annotations


def oneshot(description: str, script: str, sandbox: str = "", **unit: str) -> str:
    """Return a systemd unit that runs a script at boot; `sandbox` is for [Service], `unit` has settings for [Unit]."""
    lines = [f"Description={description} (clusterwright)", *(f"{key}={text}" for key, text in unit.items())]
    sandbox = f"{sandbox}\n" if sandbox else ""
    return (
        "[Unit]\n"
        + "\n".join(lines)
        + f"""

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh {script}
{sandbox}
[Install]
WantedBy=multi-user.target
"""
    )
