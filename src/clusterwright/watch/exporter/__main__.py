"""`python3 -m clusterwright.watch.exporter`."""

import sys

from clusterwright.watch.exporter.main import main

sys.exit(main(sys.argv[1:]))
