"""`wright cancel JOB`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from clusterwright.cli._live_names import RUNS


def cancel(job: Annotated[str, RUNS], /, *, cluster: Path | None = None) -> int:
    """Cancel a run and its successor jobs; the ranks save a checkpoint first.

    Parameters
    ----------
    job
        Name of a run, job id, `last`, or the folder of a run on this machine.
    cluster
        Cluster file, or ssh://HOST; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml, else Slurm on this machine.
    """
    from clusterwright.cli._connection import find_run
    from clusterwright.cli._run_output import run_jobs_command
    from clusterwright.cli._show import show_message
    from clusterwright.errors import WrightError
    from clusterwright.i18n import _
    from clusterwright.launch.local import is_alive
    from clusterwright.onhost.lib.as_owner import as_owner
    from clusterwright.onhost.lib.files import append
    from clusterwright.onhost.lib.run_outcome import decide
    from clusterwright.onhost.runs.run_state import read_evidence

    run = find_run(job, cluster, cancels=True)
    if run.cluster is None:
        folder = Path(run.runs) / run.name
        state = decide(read_evidence(str(folder)))
        if state.has_ended and not is_alive(folder):
            show_message(
                _("{run} has ended ({state}): there is nothing to cancel", run=run.name, state=state.state)
            )
            return 0
        try:
            as_owner(folder, lambda: append(folder / "cancelled", b""))
        except OSError as error:
            fix = _("remove the link or pipe in its place; the folder of a run belongs to its user")
            message = f"{error.strerror or error}: {folder / 'cancelled'}"
            raise WrightError.from_code("not-writable", message, fix) from error
        show_message(_("{run}: the ranks are requested to save and exit", run=run.name))
        return 0
    return run_jobs_command(run.cluster, "cancel", run.runs, run.name, wraps=True)
