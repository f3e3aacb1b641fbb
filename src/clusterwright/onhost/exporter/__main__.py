"""`python3 -m clusterwright.onhost.exporter`."""

import sys

from clusterwright.onhost.exporter.main import main

sys.exit(main(sys.argv[1:]))
