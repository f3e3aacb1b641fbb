"""`wright validate FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.i18n import _, _n

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster


def validate(file: Path, /, *, cluster: Path | None = None, json: bool = False) -> int:
    """Validate a cluster or job file: report every error with its location and fix.

    The keys of the file tell whether it is a cluster or a job file.

    Parameters
    ----------
    file
        Cluster or job file.
    cluster
        Also check a job file against this cluster file.
    json
        Print the findings as one JSON document on stdout.
    """
    from clusterwright.cli._show import show_error, show_json, show_message, show_note
    from clusterwright.config.load import checked
    from clusterwright.errors import EXIT_USAGE, SpecError

    try:
        summary, spec = checked(file, cluster)
    except SpecError as error:
        if not json:
            count = _n("{file}: {count} error", "{file}: {count} errors", len(error.findings), file=file)
            show_error(f"{error}\n\n{count}")
        else:
            show_json({"file": str(file), "findings": error.findings})
        return EXIT_USAGE
    if json:
        show_json({"file": str(file), "findings": []})
    else:
        show_message(summary)
        for note in _unknown_gpus(spec) if spec else ():
            show_note(note)
    return 0


def _unknown_gpus(spec: Cluster) -> list[str]:
    """Return a note for each GPU model that the catalog lacks: a new GPU is valid, and so is a typing error."""
    from clusterwright.catalog.gpus import gpus
    from clusterwright.errors import WrightError
    from clusterwright.plan.machines import gpu_like

    notes = []
    for name, group in spec.nodes.items():
        try:
            if group.gpus and not spec.lab:
                gpu_like(group.gpus, gpus().values())
        except WrightError as error:
            message, fix = error.findings[0].message, error.findings[0].fix
            notes.append(_("nodes.{group}.gpus: {message}; {fix}", group=name, message=message, fix=fix))
    return notes
