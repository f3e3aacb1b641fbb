"""The output of a run: its logs, status and cancellation, read on the control host or on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from clusterwright.cli._started_lab import require_lab
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster


def follow(
    cluster: Cluster | None,
    runs: str,
    run_name: str,
    *,
    live: bool,
    ignore_interrupts: bool = False,
    json: bool = False,
) -> int:
    """Print a run's logs, once or `live`, read on the control host or (None) on this machine; return its exit code.

    On a terminal, a status line below the logs shows the progress. `ignore_interrupts` leaves Ctrl-C to the caller.
    """
    from clusterwright.launch.follow.screen import able
    from clusterwright.launch.listing import run_jobs_argv

    if cluster:
        require_lab(cluster)
    how = ("live" if live else "once", *(["json"] if json else []))
    if json or not live or not able(sys.stdout):
        return run_jobs_command(cluster, "logs", runs, run_name, *how, ignore_interrupts=ignore_interrupts)
    argv = run_jobs_argv(cluster, "logs", runs, run_name, "live", "json")
    on_error = _stderr_without(_no_run_line(runs, run_name))
    code = _on_screen(argv, on_error, ignore_interrupts=ignore_interrupts)
    return _exit_code(code, cluster, runs, run_name)


def run_jobs_command(
    cluster: Cluster | None,
    command: str,
    runs: str,
    *more: str,
    ignore_interrupts: bool = False,
    wraps: bool = False,
) -> int:
    """Run a command of run_jobs.py on the control host, or on this machine without a cluster; return its exit code.

    With `wraps`, its lines are wrapped to the width of a terminal.
    """
    from clusterwright.edge.bundler import RUNS, program_input
    from clusterwright.edge.processes import lines
    from clusterwright.launch.listing import run_jobs_argv

    if cluster:
        require_lab(cluster)
    code = lines(
        run_jobs_argv(cluster, command, runs, *more),
        _writer_to(sys.stdout, wraps=wraps),
        stdin=program_input(RUNS),
        ignore_interrupts=ignore_interrupts,
        on_error=_stderr_without(_no_run_line(runs, more[0])),
    )
    return _exit_code(code, cluster, runs, more[0])


def _no_run_line(runs: str, reference: str) -> str:
    from clusterwright.onhost.runs.run_jobs import no_run as line

    return line(runs, reference)


def _stderr_without(omitted: str) -> Callable[[bytes], None]:
    """Return a function that writes a line to stderr, unless it equals `omitted`, which an error replaces."""
    write = _writer_to(sys.stderr, wraps=True)
    return lambda line: None if line.decode(errors="replace").rstrip() == omitted else write(line)


def _writer_to(stream: TextIO, *, wraps: bool) -> Callable[[bytes], None]:
    from clusterwright.cli._wrapping import wrap_for_terminal
    from clusterwright.edge.processes import writer_to

    return writer_to(stream, (lambda text: wrap_for_terminal(text, stream)) if wraps else str)


def _exit_code(code: int, cluster: Cluster | None, runs: str, reference: str) -> int:
    """Return the exit code of `wright` for that of run_jobs.py.

    Raises:
        WrightError: there is no such run, or the host that stores it does not respond.
    """
    from clusterwright.edge.ssh import SSH_FAILED
    from clusterwright.errors import EXIT_FAILED, WrightError
    from clusterwright.launch.listing import no_run
    from clusterwright.onhost.runs.run_jobs import NO_RUN, UNREADABLE

    if code == NO_RUN:
        raise no_run(reference, cluster, runs)
    if cluster and code == SSH_FAILED:
        host = cluster.control.name
        raise WrightError.from_code(
            "unreachable",
            _("{host}, which stores the runs, is unreachable", host=host),
            _("try `ssh {host}`; the command changed nothing on the host", host=host),
        )
    return EXIT_FAILED if code == UNREADABLE else code


def _on_screen(argv: tuple[str, ...], on_error: Callable[[bytes], None], *, ignore_interrupts: bool) -> int:
    from clusterwright.edge.bundler import RUNS, program_input
    from clusterwright.edge.processes import lines
    from clusterwright.launch.follow.screen import Screen
    from clusterwright.onhost.lib.clean_text import unfiltered

    ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
    screen = Screen(unfiltered(sys.stdout), ascii_only=ascii_only)
    try:
        return lines(
            argv,
            screen.line,
            stdin=program_input(RUNS),
            ignore_interrupts=ignore_interrupts,
            on_error=on_error,
        )
    finally:
        screen.close()
