"""The modules that sshd's PAM file asks about an account, and whether sshd asks PAM at all."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

# Debian's packages (Slurm's of before 23.11 have a folder of their own) and rpm packages.
_MODULE = (
    "/lib/security/pam_slurm_adopt.so /lib/*/security/pam_slurm_adopt.so /lib64/security/pam_slurm_adopt.so"
)
_COMMAND = f"""sshd -T -C user=nobody,host=localhost,addr=127.0.0.1 | grep -i '^usepam '
ls {_MODULE} 2>/dev/null | head -n 1
grep -E '^(-?account[[:blank:]]|@include[[:blank:]]+common-account)' /etc/pam.d/sshd
echo END"""


@dataclass(frozen=True, slots=True)
class LoginModules:
    """Whether sshd uses PAM, whether pam_slurm_adopt is installed, and the account lines of sshd's PAM file."""

    uses_pam: bool
    installed: bool
    lines: tuple[str, ...]


@fact("sh", "-c", _COMMAND)
def login_modules(out: str) -> LoginModules:
    """The account lines of /etc/pam.d/sshd, without comments and included files.

    Also whether sshd uses PAM, and whether pam_slurm_adopt is installed.
    """
    rows = [line.strip() for line in out.splitlines()]
    if rows[-1:] != ["END"]:
        raise ValueError(out[:80])
    lines = tuple(
        " ".join(row.split()) for row in rows if row.lstrip("-").startswith(("account", "@include"))
    )
    return LoginModules("usepam yes" in rows, any(row.startswith("/lib") for row in rows), lines)
