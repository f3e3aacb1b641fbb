"""`wright validate FILE`."""

from __future__ import annotations

from pathlib import Path


def validate(file: Path, /, *, cluster: Path | None = None, json: bool = False) -> int:
    """Read a cluster or job file and report every error with its location and fix.

    Whether it is a cluster or a job is told by its keys.

    Parameters
    ----------
    file
        The file.
    cluster
        Hold a job against this cluster file too.
    json
        The findings as one JSON document on stdout.
    """
    from clusterwright.cli._show import show_json, show_message
    from clusterwright.config.load import checked
    from clusterwright.errors import EXIT_USAGE, SpecError

    try:
        summary = checked(file, cluster)
    except SpecError as error:
        if not json:
            count = len(error.findings)
            show_message(f"{error}\n\n{file}: {count} {'error' if count == 1 else 'errors'}")
        else:
            show_json({"file": str(file), "findings": error.findings})
        return EXIT_USAGE
    if json:
        show_json({"file": str(file), "findings": []})
    else:
        show_message(summary)
    return 0
