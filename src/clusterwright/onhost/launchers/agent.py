"""Our own agent on each host forks the ranks in a moment, from a Python with torch imported."""

from __future__ import annotations

from clusterwright.onhost.adapters.launcher import Launcher

LAUNCHER = Launcher()
