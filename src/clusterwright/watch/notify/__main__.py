"""`python3 -m clusterwright.watch.notify SETTINGS`."""

from __future__ import annotations

import sys

from clusterwright.watch.notify.server import main

sys.exit(main(sys.argv[1]))
