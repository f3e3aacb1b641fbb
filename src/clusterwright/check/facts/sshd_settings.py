"""The effective settings of sshd."""

from __future__ import annotations

from clusterwright.check.fact import fact


@fact("sshd", "-T", "-C", "user=nobody,host=localhost,addr=127.0.0.1", permission="root")
def sshd_settings(out: str) -> dict[str, str]:
    """Every effective sshd setting by lower-case name; the last value of a repeated one."""
    settings = dict(line.split(maxsplit=1) for line in out.splitlines() if " " in line.strip())
    if "passwordauthentication" not in settings:
        raise ValueError(out[:80])
    return settings
