"""What starts the ranks: one file each, whose name is the `launcher` of a job; a new file is one more.

Files in the folders of CLUSTERWRIGHT_LAUNCHERS count, too. Each has a `LAUNCHER`, and its first line describes it.
"""

from __future__ import annotations

import os

__path__ += filter(None, os.environ.get("CLUSTERWRIGHT_LAUNCHERS", "").split(os.pathsep))
