"""`wright validate FILE`."""

from __future__ import annotations

from pathlib import Path

from clusterwright.i18n import _n


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
    from clusterwright.cli._show import show_error, show_json, show_message
    from clusterwright.config.load import checked
    from clusterwright.errors import EXIT_USAGE, SpecError

    try:
        summary = checked(file, cluster)
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
    return 0
