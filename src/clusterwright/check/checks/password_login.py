"""Passwords open nothing that the file keeps shut."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.sshd_settings import sshd_settings
from clusterwright.check.verdict import Verdict

_KEYS = ("passwordauthentication", "kbdinteractiveauthentication")


def _is_old(want: Want) -> str:
    """OpenSSH 8.0 has our settings on its command line, which `sshd -T` does not see."""
    return "" if want.cluster.platform.has_sshd_folder else "this sshd has its settings from its unit"


@check(
    sshd_settings,
    unless=_is_old,
    mend="`grep -ri authentication /etc/ssh/sshd_config*` on the host: a file read before 00-clusterwright.conf wins",
)
def password_login(want: Want, have: dict[str, str]) -> Verdict:
    """Sshd takes passwords only where the file allows them."""
    allowed = want.cluster.security.password_login
    open_ = [key for key in _KEYS if have.get(key, "no") == "yes"]
    wanted = f"passwords {'allowed' if allowed else 'refused'} (security.password_login)"
    saw = f"{', '.join(open_)} yes" if open_ else "passwords refused"
    return expect(allowed or not open_, saw=saw, want=wanted)
