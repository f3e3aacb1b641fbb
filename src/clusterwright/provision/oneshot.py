"""A script of ours that runs once at each boot, as a unit of systemd's; pure."""

from __future__ import annotations


def oneshot(description: str, script: str, **unit: str) -> str:
    """The unit file; `unit` are further lines of its first section, such as `After`."""
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
