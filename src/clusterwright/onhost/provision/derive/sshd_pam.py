"""Derives /etc/pam.d/sshd: with `jobs-only`, sshd admits users to this host by pam_slurm_adopt, into their job.

Standard library only, Python 3.6 or later. The host's own lines stay; a line that changes is retained as a comment, so
that `free` restores the file. Sources: https://slurm.schedmd.com/pam_slurm_adopt.html, pam.conf(5).
"""

import os
import re
from typing import List, Optional

from clusterwright.onhost.provision.host import Json, LocalHost, read

FOLDER = "/etc/pam.d"
HEADER = "# made by clusterwright"
BEGIN, END, WAS = "# clusterwright: begin\n", "# clusterwright: end\n", "# clusterwright: was "
SYSTEMD = re.compile(r"-?session\s.*\bpam_systemd\.so\b")
INCLUDE = re.compile(r"(?:@include|(?P<type>-?\w+)\s+include)\s+(?P<file>\S+)")
ADOPT = """# These accounts log in without a job; all others need one on this host, and run in its control group.
account [success=1 default=ignore] pam_succeed_if.so quiet user in {users}
account required pam_slurm_adopt.so action_no_jobs=deny action_generic_failure=deny action_adopt_failure=deny
account required pam_permit.so
"""
# pam_systemd would move the login out of the job's control group.
NOT_ADOPTED = "session [success=ignore default=1] pam_succeed_if.so quiet user in {users}\n"


def text(host: LocalHost, params: Json, _notes: List[str]) -> Optional[str]:
    """Return the new text of /etc/pam.d/sshd; None with `free` on a host whose file is the distribution's.

    Raises:
        ValueError: the host has no PAM configuration of sshd.
    """
    present = (read(host.resolve_path(FOLDER + "/sshd")) or b"").decode()
    own_lines = restore(present)
    if not any(line.strip() and not line.startswith("#") for line in own_lines):
        raise ValueError("the host has no PAM configuration of sshd")
    if params["login"] == "free":
        return "".join(own_lines) if present.startswith(HEADER) else None
    return limit(host, own_lines, ":".join(params["users"]))


def restore(present: str) -> List[str]:
    """Return the host's own lines: without those that an apply added, and with those that it turned into comments."""
    lines, is_ours = [], False
    for line in present.splitlines(keepends=True):
        is_ours = (is_ours or line == BEGIN) and line != END
        if not is_ours and line != END and not line.startswith(HEADER):
            lines.append(line[len(WAS) :] if line.startswith(WAS) else line)
    return lines


def limit(host: LocalHost, lines: List[str], users: str) -> str:
    """Return the file's text with which only `users` (NAME:NAME) log in without a job on the host."""
    last_account = max(
        (i for i, line in enumerate(lines) if of_type(host, line, "account")), default=len(lines) - 1
    )
    parts = []
    for index, line in enumerate(lines):
        ours = substack(host, line) + sessions(host, line, users)
        parts.append(block(ours, WAS + line) if ours else line)
        parts += [block(ADOPT.format(users=users))] if index == last_account else []
    return "".join(parts)


def block(ours: str, was: str = "") -> str:
    """Return our lines between marks; `was` is the host's line that they replace, as a comment."""
    return was + BEGIN + ours + END


def substack(host: LocalHost, line: str) -> str:
    """Return a line that includes the same account stack as `substack`; "" if the line includes none.

    As an `include`, one of its modules may end the whole stack before pam_slurm_adopt.
    """
    file = included(line, "account")
    return f"account substack {file}\n" if file and of_type(host, line, "account") else ""


def sessions(host: LocalHost, line: str, users: str) -> str:
    """Return the lines that replace a session line with pam_systemd, so that it applies to `users` only.

    "" if neither the line nor the file that it includes has pam_systemd.
    """
    file = included(line, "session")
    lines = stack(host, file, "session") if file else [line]
    if not any(map(SYSTEMD.match, lines)):
        return ""
    return "".join(NOT_ADOPTED.format(users=users) * bool(SYSTEMD.match(line)) + line for line in lines)


def of_type(host: LocalHost, line: str, kind: str) -> bool:
    """Return True if the PAM line has modules of this type (account, session), itself or in a file it includes."""
    file = included(line, kind)
    return bool(stack(host, file, kind)) if file else bool(re.match(rf"-?{kind}\s", line))


def included(line: str, kind: str) -> str:
    """Return the name of the file whose modules of this type the line includes, or an empty string."""
    match = INCLUDE.match(line)
    return match.group("file") if match and match.group("type") in (None, kind) else ""


def stack(host: LocalHost, file: str, kind: str) -> List[str]:
    """Return the lines of one type in a PAM file, with those of the files that it includes."""
    lines = []
    content = read(host.resolve_path(os.path.join(FOLDER, file))) or b""
    for line in content.decode().replace("\\\n", " ").splitlines():
        below = included(line, kind)
        lines += stack(host, below, kind) if below else [line + "\n"] * of_type(host, line, kind)
    return lines
