"""The systemd unit of a script that runs once at each boot."""

from __future__ import annotations


def oneshot(description: str, script: str, **unit: str) -> str:
    """Return the unit file; `unit` adds settings to its [Unit] section, such as `After`."""
    lines = [f"Description={description} (clusterwright)", *(f"{key}={text}" for key, text in unit.items())]
    return (
        "[Unit]\n"
        + "\n".join(lines)
        + f"""

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh {script}

[Install]
WantedBy=multi-user.target
"""
    )
