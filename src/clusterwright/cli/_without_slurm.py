"""Runs without Slurm, on this machine or on the hosts of a hostfile: resume an ended one, follow it, cancel it."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._connection import LOCAL_RUNS, local_run
from clusterwright.cli._run_output import follow
from clusterwright.cli._show import show_error, show_message, show_notes, show_run
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.launch.run import RunFolder


def folder_without_slurm(
    reference: str, cluster: Path | None, out: Path, *, is_requested: bool
) -> Path | None:
    """Return the folder of the runs if the run is one without Slurm, or requested as such; None for a run of Slurm.

    A folder `out` other than ./runs counts as a request; with `cluster`, no run on this machine is searched for.
    """
    from clusterwright.launch.ended_run import is_without_slurm

    if is_requested or out != LOCAL_RUNS:
        return out.absolute()
    run = None if cluster else local_run(reference, None)
    return run.parent if run and is_without_slurm(run) else None


def resume_run(reference: str, folder: Path, hostfile: Path | None, *, live: bool) -> int:
    """Start an ended run without Slurm again and follow it; return the exit code.

    On this machine, or on the hosts of the hostfile, else those that it had.

    Raises:
        WrightError: the run is not found, or is one of this machine and there is a hostfile.
    """
    from clusterwright.launch.ended_run import find_ended, resume_local
    from clusterwright.launch.hosts.choose import hosts_of
    from clusterwright.launch.hosts.start import resume_on_hosts

    run = find_ended(folder, reference)
    if not run.record.local:
        hosts = hosts_of(hostfile) if hostfile else ()
        return follow_hosts(resume_on_hosts(run, hosts), folder, hostfile, live=live)
    if hostfile:
        message = _("{run} is a run of one machine, without hosts", run=run.folder.name)
        fix = _("remove --hostfile: wright train --resume {run}", run=run.folder.name)
        raise WrightError.from_code("train-words", message, fix, exit_code=EXIT_USAGE)
    return follow_local(resume_local(run), folder)


def follow_local(run: RunFolder, folder: Path) -> int:
    """Follow the logs of a local run, write its curves at the end, and return its exit code.

    Ctrl-C or SIGTERM saves and ends the run, a second Ctrl-C leaves it.
    """
    from clusterwright.launch.local import interrupt
    from clusterwright.onhost.supervisor.folder import set_umask

    set_umask(run.folder)
    show_notes(run.warnings)
    show_run(run.name if folder == LOCAL_RUNS.absolute() else run.folder, run.job_id)

    def on_interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupt(run)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_interrupt)
    code = follow(None, str(folder), run.name, live=True, ignore_interrupts=True)
    _draw(folder / run.name)
    return code


def follow_hosts(run: RunFolder, folder: Path, hostfile: Path | None, *, live: bool) -> int:
    """Follow the logs of a run on hosts if `live`, and return its exit code; else return 0 at once.

    Inside an allocation always follow, and cancel the run when the allocation ends.
    """
    from clusterwright.launch.hosts.choose import AUTO
    from clusterwright.launch.hosts.start import hold_lease
    from clusterwright.onhost.supervisor.folder import set_umask

    set_umask(run.folder)
    show_notes(run.warnings)
    show_run(run.name if folder == LOCAL_RUNS.absolute() else run.folder, run.job_id)
    if str(hostfile) != AUTO:
        return follow(None, str(folder), run.name, live=True) if live else 0

    def on_signal(*_: object) -> None:
        (Path(run.folder) / "cancelled").touch()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    with hold_lease(Path(run.folder)):
        return follow(None, str(folder), run.name, live=True, ignore_interrupts=True)


def _draw(run: Path) -> None:
    """Write the curves of the run as curves.html into its folder, and print the path; a failure is only printed."""
    from clusterwright.cli.curves import curve_points, write_curves

    try:
        path = write_curves(curve_points(str(run), None), run / "curves.html")
        show_message(_("curves: {file}", file=path))
    except (OSError, WrightError) as error:
        show_error(_("cannot write the curves: {error}", error=error))
