"""`wright mcp`: serve the read-only commands to an assistant."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _


def mcp(*, cluster: Path | None = None, folder: Path | None = None) -> int:
    """Serve the read-only commands to an assistant, over the Model Context Protocol on stdin and stdout.

    No tool changes a file or the cluster. Tools read files in one folder only, and no other cluster than this one.

    Parameters
    ----------
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else cluster.yaml in the folder of --folder.
    folder
        Folder that tools read files from; default: that of --cluster, else the current folder.
    """
    from clusterwright.cli._show import show_note

    if find_spec("mcp") is None:
        raise WrightError.from_code(
            "mcp-needs-extra",
            _("wright mcp requires the package mcp, which is not installed"),
            _('run pip install "clusterwright[mcp]"'),
            exit_code=EXIT_USAGE,
        )
    from clusterwright.cli._mcp_server import Scope, serve

    scope = Scope(_folder(cluster, folder), cluster and cluster.resolve())
    if sys.stdin.isatty():
        show_note(_("an assistant starts this command and writes to its stdin; Ctrl-D ends it"))
    asyncio.run(serve(scope))
    return 0


def _folder(cluster: Path | None, folder: Path | None) -> Path:
    """Return the absolute folder of the files that tools may read.

    Raises:
        WrightError: there is no such folder or cluster file.
    """
    for path, exists in ((cluster, Path.is_file), (folder, Path.is_dir)):
        if path and not exists(path):
            raise WrightError.from_code(
                "file-unreadable",
                _("{file}: does not exist", file=path),
                _("choose a cluster file with --cluster, and a folder with --folder"),
                exit_code=EXIT_USAGE,
            )
    return (folder or (cluster.parent if cluster else Path())).resolve()
