"""Frameworks: one file each, named as the job's `framework`.

Files in the folders of CLUSTERWRIGHT_FRAMEWORKS count too. Each has an `ADAPTER`.
"""

from __future__ import annotations

import os

__path__ += filter(None, os.environ.get("CLUSTERWRIGHT_FRAMEWORKS", "").split(os.pathsep))
