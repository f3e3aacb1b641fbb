"""`python3 -m clusterwright.onhost.notify SETTINGS`."""

from __future__ import annotations

import sys

from clusterwright.onhost.notify.server import main

sys.exit(main(sys.argv[1]))
