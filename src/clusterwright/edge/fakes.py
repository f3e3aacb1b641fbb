"""Fakes of the edge, for tests of this and of other projects."""

from __future__ import annotations

from collections.abc import Callable

from clusterwright.edge.processes import CommandResult
from clusterwright.edge.ssh import SSH_FAILED


class FakeClock:
    """A Clock for tests whose time advances only by `sleep`, which does not wait."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._now = now

    def now(self) -> float:
        """Return the seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """Return the fake time in seconds, which `now` also returns."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Advance this test double's clock by so many seconds, without waiting."""
        self._now += seconds


class FakeRemote:
    """A Remote whose output is a function of host, command and stdin; it records calls, and hosts in `down` fail."""

    def __init__(
        self,
        answer: Callable[[str, str, bytes], str],
        *,
        down: frozenset[str] = frozenset(),
        sudo: bool = False,
    ) -> None:
        self.calls: list[tuple[str, str]] = []
        self.sudo = sudo
        self._answer, self._down = answer, down

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:  # noqa: ARG002 (the protocol's signature)
        """Record the call; return the output of the fake's function with code 0, or code 255 if the host is down."""
        self.calls.append((host, command))
        if host in self._down:
            return CommandResult(
                (host, command), SSH_FAILED, "", f"ssh: connect to host {host}: timed out", 0.0
            )
        return CommandResult((host, command), 0, self._answer(host, command, stdin), "", 0.0)


def program_stdin(stdin: bytes) -> bytes:
    """Return the input of a program that was sent to a host: the part of stdin after its modules."""
    length, _, tail = stdin.partition(b"\n")
    return tail[int(length) :]
