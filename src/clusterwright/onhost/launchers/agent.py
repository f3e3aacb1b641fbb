"""Clusterwright's own agent on each host forks the ranks from a Python with torch imported."""

from __future__ import annotations

from clusterwright.onhost.adapters.launcher import Launcher

LAUNCHER = Launcher()
