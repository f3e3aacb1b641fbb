"""`wright diff CLUSTER [NEW]`."""

from __future__ import annotations

from pathlib import Path


def diff(cluster: Path, new: Path | None = None, /, *, exit_code: bool = False, json: bool = False) -> int:
    """Show where the hosts are not as the file says, and why; or what differs between two files.

    Parameters
    ----------
    cluster
        The cluster file.
    new
        Another one: then no host is asked, and the two are compared field by field.
    exit_code
        Exit with 3 when there is a difference.
    json
        One JSON document on stdout.
    """
    from clusterwright.cli import _diff
    from clusterwright.errors import EXIT_CHANGES_PENDING, EXIT_DONE, EXIT_FAILED

    if new is not None:
        differs, all_seen = _diff.two_files(cluster, new, json=json), True
    else:
        differs, all_seen = _diff.hosts(cluster, json=json)
    if not all_seen:
        return EXIT_FAILED
    return EXIT_CHANGES_PENDING if exit_code and differs else EXIT_DONE
