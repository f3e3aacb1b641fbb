"""What a program is written with: one file each, whose name is the `framework` of a job; a new file is one more.

Files in the folders of CLUSTERWRIGHT_FRAMEWORKS count, too. Each has an `ADAPTER`.
"""

from __future__ import annotations

import os

__path__ += filter(None, os.environ.get("CLUSTERWRIGHT_FRAMEWORKS", "").split(os.pathsep))
