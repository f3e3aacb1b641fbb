"""Launchers: how the ranks of a job are started; one file each, named as the job's `launcher`.

Files in the folders of CLUSTERWRIGHT_LAUNCHERS count too. Each has a `LAUNCHER`; its first line is its
description.
"""

from __future__ import annotations

import os

__path__ += filter(None, os.environ.get("CLUSTERWRIGHT_LAUNCHERS", "").split(os.pathsep))
