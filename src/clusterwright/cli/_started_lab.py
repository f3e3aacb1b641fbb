"""Whether the lab of a cluster file is started, for commands that would show the same ssh error for each host."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._show import cluster_option
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.cluster import Cluster


def require_lab(cluster: Cluster) -> None:
    """Raise WrightError if the cluster is a lab that is not started: its ssh_config exists while it does."""
    from clusterwright.errors import WrightError

    if cluster.lab is None or not cluster.ssh_config:
        return
    try:
        Path(cluster.ssh_config).stat()
    except FileNotFoundError:
        named = next((value for option, value in pairwise(sys.argv) if option == "--cluster"), "")
        command = f"wright lab up {cluster_option(Path(named))}" if named else "wright lab up"
        message = _("lab `{name}` is not started", name=cluster.name)
        fix = _("start the lab with `{command}`", command=command)
        raise WrightError.from_code("lab-unknown", message, fix) from None
    except OSError:
        return  # ssh names the reason
