"""`wright validate FILE...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.i18n import _, _n

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster
    from clusterwright.errors import Finding


def validate(file: Path, /, *more: Path, cluster: Path | None = None, json: bool = False) -> int:
    """Validate cluster and job files: report every error with its location and fix.

    The keys of a file tell whether it is a cluster or a job file.

    Parameters
    ----------
    file
        Cluster or job file.
    more
        More cluster or job files.
    cluster
        Also check job files against this cluster file.
    json
        Print the findings as one JSON document on stdout; of several files, a list.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.errors import EXIT_OK, EXIT_USAGE

    files = (file, *more)
    findings = {path: _findings(path, cluster, quiet=json) for path in files}
    if json:
        documents = [
            {"file": str(path), "findings": file_findings} for path, file_findings in findings.items()
        ]
        show_json(documents if more else documents[0])
    return EXIT_USAGE if any(findings.values()) else EXIT_OK


def _findings(file: Path, cluster: Path | None, *, quiet: bool) -> Sequence[Finding]:
    """Return the findings about a file, empty if it is valid; print them, or its summary, unless quiet."""
    from clusterwright.cli._show import show_error, show_message, show_note
    from clusterwright.config.load import checked
    from clusterwright.errors import SpecError

    try:
        summary, spec = checked(file, cluster)
    except SpecError as error:
        if not quiet:
            name = _file_of(error.findings, file)
            count = _n("{file}: {count} error", "{file}: {count} errors", len(error.findings), file=name)
            show_error(f"{error}\n\n{count}")
        return error.findings
    if not quiet:
        show_message(summary)
        for note in _unknown_gpus(spec) if spec else ():
            show_note(note)
    return ()


def _file_of(findings: Sequence[Finding], file: Path) -> str:
    """Return the file that the findings are about, which may be the cluster file beside the validated `file`."""
    names = {place.file for finding in findings for place in finding.places}
    return names.pop() if len(names) == 1 else str(file)


def _unknown_gpus(spec: Cluster) -> list[str]:
    """Return a note for each GPU model that the catalog lacks: a new GPU is valid, and so is a typing error."""
    from clusterwright.catalog.gpus import gpus
    from clusterwright.errors import WrightError
    from clusterwright.plan.machines import gpu_like

    notes = []
    for name, group in spec.nodes.items():
        try:
            if group.gpus:
                gpu_like(group.gpus, gpus().values())
        except WrightError as error:
            message, fix = error.findings[0].message, error.findings[0].fix
            notes.append(_("nodes.{group}.gpus: {message}; {fix}", group=name, message=message, fix=fix))
    return notes
