"""Run commands on hosts with the system's ssh, including its configuration, agent, jump hosts and certificates."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from clusterwright.edge.processes import CommandResult, run
from clusterwright.i18n import _
from clusterwright.onhost.lib.processes import TIMED_OUT

SSH_FAILED = 255  # ssh(1): "255 if an error occurred"; otherwise the exit code of the remote command
CONTROL_S = 5.0  # for the answer of a shared connection

# What ssh prints if its new shared connection (ControlMaster) is lost; after a request the command may have started.
_NO_MASTER, _REQUESTED = "Failed to connect to new control master", "mux_client_request_session"

# What OpenSSH prints about host keys. The names and paths go into a command to copy, so no others match.
_KEY_REFUSED = "Host key verification failed."
_CHANGED = re.compile(
    r"^Host key for ([\w.:\[\]-]+) has changed and you have requested strict checking", re.MULTILINE
)
_OFFENDING = re.compile(r"^Offending \S+ key in ([\w./-]+):(\d+)", re.MULTILINE)
# And about the configuration of a lab (lab/state.py), which exists while the lab does.
_NO_LAB = re.compile(
    r"^Can't open user config file \S*/labs/([a-z0-9-]+)/ssh_config: No such file", re.MULTILINE
)

T = TypeVar("T")


class Remote(Protocol):
    """A connection to hosts: `Ssh`, or `FakeRemote` in tests; `Host` (edge/host.py) uses it."""

    @property
    def sudo(self) -> bool:
        """Whether the login user is not root and needs sudo."""
        ...

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on the host as the login user, at most `timeout_s`, and return its result.

        Code 255 means that the host is unreachable; nothing is raised.
        """
        ...


class Connection(Remote, Protocol):
    """A connection by one local command for each call, whose pipes the caller can hold: `Ssh` or `LocalMachine`."""

    def argv(self, host: str, command: str) -> tuple[str, ...]:
        """Return the local command line that runs a shell command on the host."""
        ...


@dataclass(frozen=True, slots=True)
class Ssh:
    """One ssh per call, with host key checks and without prompts (BatchMode).

    The user's ssh configuration may share connections between calls (ControlMaster); a lost one is replaced.
    """

    user: str | None = None
    port: int | None = None
    config: Path | None = None
    sudo: bool = False
    connect_timeout_s: int = 5

    def argv(self, host: str, command: str) -> tuple[str, ...]:
        """Return the ssh command line that runs a shell command on the host."""
        return (*self._options(), "--", host, command)

    def _options(self, *more: str) -> tuple[str, ...]:
        options: Sequence[str] = ("-o", "BatchMode=yes", "-o", f"ConnectTimeout={self.connect_timeout_s}")
        config = ("-F", str(self.config)) if self.config else ()
        user = ("-l", self.user) if self.user else ()
        port = ("-p", str(self.port)) if self.port else ()
        return ("ssh", *config, *options, *user, *port, *more)

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on the host; code 255 means that the host is unreachable.

        If the shared connection is lost, run it over a new one; after a timeout, close a dead shared connection.
        """
        result = run(self.argv(host, command), stdin=stdin, timeout_s=timeout_s)
        is_lost = result.err.rstrip().endswith(_NO_MASTER) and _REQUESTED not in result.err
        if result.code == SSH_FAILED and is_lost:
            alone = (*self._options("-o", "ControlPath=none"), "--", host, command)
            return run(alone, stdin=stdin, timeout_s=timeout_s)
        if result.code == TIMED_OUT:
            self._stop_dead_master(host)
        return result

    def _stop_dead_master(self, host: str) -> None:
        """Let later commands open a new connection if the shared one is dead, as after a power cut of the host.

        A connection without packets notices nothing for minutes; its sessions are not ended.
        """
        if not run((*self._options("-O", "check"), "--", host), timeout_s=CONTROL_S).ok:
            return  # no connection is shared
        if not run(self.argv(host, "true"), timeout_s=CONTROL_S).ok:
            run((*self._options("-O", "stop"), "--", host), timeout_s=CONTROL_S)


@dataclass(frozen=True, slots=True)
class LocalMachine:
    """A connection to this machine only: every command runs in a local shell, whatever host is named.

    As over SSH it starts in the user's home: the current folder may be another user's.
    """

    sudo: bool = False

    def argv(self, host: str, command: str) -> tuple[str, ...]:  # noqa: ARG002 (the protocol's signature)
        """Return the local command line that runs a shell command in the user's home folder; `host` is ignored."""
        return ("sh", "-c", f"cd 2>/dev/null || cd /; {command}")

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on this machine, in the user's home folder, whatever `host` names; return its result."""
        return run(self.argv(host, command), stdin=stdin, timeout_s=timeout_s)


@dataclass(frozen=True, slots=True)
class FromHost:
    """The connection from the host `name` to all hosts: commands on itself run in a local shell.

    `is_sandboxed`: the caller is a unit with a sandbox; the shell runs outside it, in a transient unit.
    """

    name: str
    remote: Remote
    is_sandboxed: bool = False

    @property
    def sudo(self) -> bool:
        """Whether the login user on the other hosts is not root and needs sudo."""
        return self.remote.sudo

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on the host, in a local shell if it is this host.

        Of a unit with a sandbox (`is_sandboxed`), the local shell runs outside it, in a transient unit.
        """
        if host != self.name:
            return self.remote.run(host, command, stdin=stdin, timeout_s=timeout_s)
        argv = _transient_unit(command, timeout_s) if self.is_sandboxed else ("sh", "-c", command)
        return run(argv, stdin=stdin, timeout_s=timeout_s)


def _transient_unit(command: str, timeout_s: float) -> tuple[str, ...]:
    """Return the systemd-run command that runs a shell command in a transient unit, killed 5 s after the timeout."""
    limit = f"--property=RuntimeMaxSec={timeout_s + 5:.0f}"
    escaped = command.replace("$", "$$")  # systemd expands variables in a unit's command line
    return ("systemd-run", "--quiet", "--pipe", "--wait", "--collect", limit, "--", "sh", "-c", escaped)


@dataclass(frozen=True, slots=True)
class SshProblem:
    """Why ssh failed: the code of the error, its message and its fix."""

    code: str
    message: str
    fix: str

    def __str__(self) -> str:
        """Return the message and the fix in one line."""
        return f"{self.message}; {self.fix}"


def ssh_problem(result: CommandResult, host: str) -> SshProblem | None:
    """Return why ssh failed if it is the host's key or a lab that is not started; None if ssh failed otherwise."""
    if lab := _NO_LAB.search(result.err):
        message = _("lab `{name}` is not started", name=lab[1])
        return SshProblem("lab-unknown", message, _("start the lab with `wright lab up`"))
    changed, offending = _CHANGED.search(result.err), _OFFENDING.search(result.err)
    if changed and offending:
        name, (file, line) = changed[1], offending.groups()
        message = _(
            "the SSH host key of {host} differs from the one in {file}, line {line}",
            host=host,
            file=file,
            line=line,
        )
        command = f"ssh-keygen -f {shlex.quote(file)} -R {shlex.quote(name)}"
        fix = _(
            "compare its new key with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the host's console;"
            " if the host was reinstalled, run `{command}` and `ssh {host}`; otherwise another machine answers"
            " at its address",
            command=command,
            host=host,
        )
        return SshProblem("host-key-changed", message, fix)
    if _KEY_REFUSED in result.err:
        message = _("no SSH host key of {host} is known on this machine", host=host)
        fix = _(
            "run `ssh {host}` once, and accept the key if it is the one that `ssh-keygen -lf"
            " /etc/ssh/ssh_host_ed25519_key.pub` prints on the host's console",
            host=host,
        )
        return SshProblem("host-key-unknown", message, fix)
    return None


def fan_out(hosts: Iterable[str], work: Callable[[str], T], *, at_once: int = 32) -> dict[str, T]:
    """Call `work` for every host in parallel, at most `at_once` at a time; results in the order of the hosts.

    If a call raises, so does this, after the running calls; pending ones are canceled.
    """
    names = list(hosts)
    with ThreadPoolExecutor(max_workers=max(1, min(at_once, len(names)))) as pool:
        try:
            contexts = [
                copy_context() for _name in names
            ]  # threads start with the default language otherwise
            results = pool.map(lambda context, name: context.run(work, name), contexts, names)
            return dict(zip(names, results, strict=True))
        except BaseException:  # also an interrupt: running calls finish, pending ones are canceled
            pool.shutdown(wait=False, cancel_futures=True)
            raise
