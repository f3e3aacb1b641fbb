"""The systemd unit of a script that runs once at each boot."""

from __future__ import annotations


def oneshot(description: str, script: str, sandbox: str = "", **unit: str) -> str:
    """Return the unit file; `sandbox` adds lines to its [Service] section, `unit` settings to its [Unit] section."""
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
