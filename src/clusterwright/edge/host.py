"""Run commands and programs on a host as the login user, root or another user, and upload files."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from clusterwright.edge.bundler import program_command, program_input
from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import Remote

REFUSED_ROOT, CANNOT_BECOME = 77, 78  # exit codes of `as_user`: sysexits.h EX_NOPERM and the next


def needs_sudo(login: str, *, lab: bool) -> bool:
    """Whether the login user is not root; ssh to a lab always logs in as root."""
    return not lab and login != "root"


def as_root(command: str) -> str:
    """Wrap a shell line in sudo without a password prompt; SSH_CONNECTION stays set for provisioning."""
    return f'sudo -n env SSH_CONNECTION="$SSH_CONNECTION" sh -c {shlex.quote(command)}'


def as_user(command: str, user: str | None) -> str:
    """Wrap a command to run as the user; exits with 77 if it would run as root, 78 if it cannot become the user."""
    inner = f"sh -c {shlex.quote(command)}"
    not_root = (
        f'[ "$(id -u -- {shlex.quote(user)} 2>/dev/null)" != 0 ] || exit {REFUSED_ROOT}; ' if user else ""
    )
    become = f"exec runuser -u {shlex.quote(user)} -- {inner}" if user else f"exit {REFUSED_ROOT}"
    guard = f'[ "$(id -un)" = {shlex.quote(user)} ] || exit {CANNOT_BECOME}; ' if user else ""
    return f'{not_root}if [ "$(id -u)" = 0 ]; then {become}; fi; {guard}exec {inner}'


@dataclass(frozen=True, slots=True)
class Host:
    """A host of the cluster: its name and the connection to it; each call is one ssh."""

    remote: Remote
    name: str

    def run(self, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command as the login user on this host over SSH, at most `timeout_s`, and return its result.

        Code 255 means that the host is unreachable; nothing is raised.
        """
        return self.remote.run(self.name, command, stdin=stdin, timeout_s=timeout_s)

    def run_root(self, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command as root, with sudo where the login user is not root."""
        line = as_root(command) if self.remote.sudo else command
        return self.run(line, stdin=stdin, timeout_s=timeout_s)

    def run_as(
        self, user: str | None, command: str, *, stdin: bytes = b"", timeout_s: float = 60
    ) -> CommandResult:
        """Run a shell command as the user; default: the login user, which must not be root (exit code 77).

        A login user other than root cannot run it as another user (exit code 78).
        """
        return self.run(as_user(command, user), stdin=stdin, timeout_s=timeout_s)

    def run_program(
        self, program: str, *arguments: str, stdin: bytes = b"", root: bool = False, timeout_s: float = 60
    ) -> CommandResult:
        """Run a program of the bundler on the host with Python, with `root` as root; `stdin` is the program's input."""
        run = self.run_root if root else self.run
        return run(program_command(*arguments), stdin=program_input(program) + stdin, timeout_s=timeout_s)

    def upload_file(self, path: str, data: bytes) -> CommandResult:
        """Write a file on the host as root, atomically, with its parent folder; return the command's result."""
        new, folder = shlex.quote(f"{path}.new"), shlex.quote(path.rpartition("/")[0])
        return self.run_root(f"mkdir -p {folder} && cat >{new} && mv {new} {shlex.quote(path)}", stdin=data)


@dataclass(frozen=True, slots=True)
class AsRoot:
    """A Remote that runs every command as root."""

    remote: Remote
    sudo: bool = False

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on the host as root, and return its result; a failure is not raised.

        After `timeout_s` seconds the command is stopped.
        """
        return Host(self.remote, host).run_root(command, stdin=stdin, timeout_s=timeout_s)
