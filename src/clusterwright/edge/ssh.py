"""Commands on hosts, over the system's ssh: its config, agent, jump hosts and certificates work as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from clusterwright.edge.processes import CommandResult, run

SSH_FAILED = 255  # ssh(1): "255 if an error occurred"; the remote command's own code otherwise

T = TypeVar("T")


class Remote(Protocol):
    """How hosts are reached; `Ssh` for real, `FakeRemote` in tests. `Host` (edge/host.py) stands on it."""

    @property
    def sudo(self) -> bool:
        """True where the login user is not root and becomes root by sudo."""
        ...

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on the host; code 255 means that the host was not reached."""
        ...


@dataclass(frozen=True, slots=True)
class Ssh:
    """One ssh per call. Host keys are checked and nothing is ever asked of the terminal."""

    user: str | None = None
    port: int | None = None
    config: Path | None = None
    sudo: bool = False
    connect_timeout_s: int = 5

    def argv(self, host: str, command: str) -> tuple[str, ...]:
        """The command line, for running and for showing."""
        options: Sequence[str] = ("-o", "BatchMode=yes", "-o", f"ConnectTimeout={self.connect_timeout_s}")
        config = ("-F", str(self.config)) if self.config else ()
        user = ("-l", self.user) if self.user else ()
        port = ("-p", str(self.port)) if self.port else ()
        return ("ssh", *config, *options, *user, *port, "--", host, command)

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on the host; code 255 means that the host was not reached."""
        return run(self.argv(host, command), stdin=stdin, timeout_s=timeout_s)


@dataclass(frozen=True, slots=True)
class FromHost:
    """The connection from one of the hosts, `name`, to all of them: commands there itself need no ssh."""

    name: str
    remote: Remote

    @property
    def sudo(self) -> bool:
        """As of the connection to the others."""
        return self.remote.sudo

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:
        """Run a shell command on the host; in a local shell where it is this one."""
        if host == self.name:
            return run(("sh", "-c", command), stdin=stdin, timeout_s=timeout_s)
        return self.remote.run(host, command, stdin=stdin, timeout_s=timeout_s)


def fan_out(hosts: Iterable[str], work: Callable[[str], T], *, at_once: int = 32) -> dict[str, T]:
    """The work done on every host, some at once; in the order of the hosts."""
    names = list(hosts)
    with ThreadPoolExecutor(max_workers=max(1, min(at_once, len(names)))) as pool:
        try:
            contexts = [copy_context() for _name in names]  # else threads have the default language
            results = pool.map(lambda context, name: context.run(work, name), contexts, names)
            return dict(zip(names, results, strict=True))
        except BaseException:  # an interrupt too: what was begun is finished, and nothing else is begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
