"""One host: commands there as the login user, as root or as another user, files put there, and programs of ours."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from clusterwright.edge.bundler import program_command, program_input
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import Remote

REFUSED_ROOT, CANNOT_BECOME = 77, 78  # sysexits.h EX_NOPERM and the next; what `as_user` leaves with


def needs_sudo(login: str, *, lab: bool) -> bool:
    """True where the login user is not root; the ssh of a lab always logs in as root."""
    return not lab and login != "root"


def as_root(command: str) -> str:
    """The shell line by sudo, which never asks; provisioning reads from where ssh came."""
    return f'sudo -n env SSH_CONNECTION="$SSH_CONNECTION" sh -c {shlex.quote(command)}'


def as_user(command: str, user: str | None) -> str:
    """A shell line that runs the command as the user, or leaves with 77 (it would be root) or 78 (cannot become)."""
    inner = f"sh -c {shlex.quote(command)}"
    become = f"exec runuser -u {shlex.quote(user)} -- {inner}" if user else f"exit {REFUSED_ROOT}"
    guard = f'[ "$(id -un)" = {shlex.quote(user)} ] || exit {CANNOT_BECOME}; ' if user else ""
    return f'if [ "$(id -u)" = 0 ]; then {become}; fi; {guard}exec {inner}'


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the cluster, by its name and the connection to it; each call is one ssh."""

    remote: Remote
    name: str

    def run(self, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """A shell command as the login user; code 255 means that the host was not reached."""
        return self.remote.run(self.name, command, stdin=stdin, timeout_s=timeout_s)

    def run_root(self, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """A shell command as root: by sudo where the login user is not root."""
        line = as_root(command) if self.remote.sudo else command
        return self.run(line, stdin=stdin, timeout_s=timeout_s)

    def run_as(
        self, user: str | None, command: str, *, stdin: bytes = b"", timeout_s: float = 60
    ) -> CommandResult:
        """A shell command as the user (default: the login user), never as root."""
        return self.run(as_user(command, user), stdin=stdin, timeout_s=timeout_s)

    def run_program(
        self, program: str, *arguments: str, stdin: bytes = b"", root: bool = False, timeout_s: float = 60
    ) -> CommandResult:
        """One of the bundler's programs, which reads `stdin`."""
        run = self.run_root if root else self.run
        return run(program_command(*arguments), stdin=program_input(program) + stdin, timeout_s=timeout_s)

    def upload_file(self, path: str, data: bytes) -> CommandResult:
        """A file of root's with this content, whole or not at all; its folder is created."""
        new, folder = shlex.quote(f"{path}.new"), shlex.quote(path.rpartition("/")[0])
        return self.run_root(f"mkdir -p {folder} && cat >{new} && mv {new} {shlex.quote(path)}", stdin=data)


@dataclass(frozen=True, slots=True)
class AsRoot:
    """A connection on which every command is root's, for those who take a connection."""

    remote: Remote
    sudo: bool = False

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on the host as root."""
        return Host(self.remote, host).run_root(command, stdin=stdin, timeout_s=timeout_s)
