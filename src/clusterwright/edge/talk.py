"""A dialog with a program over its stdin and stdout: it answers in lines, and exits when its stdin is closed."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import IO, Self, cast

from clusterwright.edge.processes import CommandResult

EXIT_TIMEOUT_S = 15


class Talk:
    """A running program and its pipes, as a context manager that closes its stdin at the end.

    The program is in a session of its own, so a Ctrl-C of the terminal does not reach it.
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv, self._began = tuple(argv), time.monotonic()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the talk)
        self._process = subprocess.Popen(
            self._argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._stdin, self._stdout = (
            cast("IO[bytes]", self._process.stdin),
            cast("IO[bytes]", self._process.stdout),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close_stdin()
        try:
            self._process.wait(EXIT_TIMEOUT_S)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._stdout.close()
            self._errors.close()

    def send(self, text: bytes) -> None:
        """Write to the program's stdin; ignored if it has exited, since its result has the reason."""
        try:
            self._stdin.write(text)
            self._stdin.flush()
        except BrokenPipeError:
            return

    def lines(self) -> Iterator[str]:
        """Yield the lines of the program's stdout until it exits."""
        for line in self._stdout:
            yield line.decode(errors="replace")

    def close_stdin(self) -> None:
        """Close the program's stdin, which makes it exit."""
        if not self._stdin.closed:
            try:
                self._stdin.close()
            except BrokenPipeError:
                return

    def result(self) -> CommandResult:
        """Wait until the program exits; return its exit code and stderr, with an empty `out`.

        Raises:
            TimeoutExpired: it does not exit within EXIT_TIMEOUT_S.
        """
        code = self._process.wait(EXIT_TIMEOUT_S)
        self._errors.seek(0)
        err = self._errors.read().decode(errors="replace")
        return CommandResult(self._argv, code, "", err, time.monotonic() - self._began)
