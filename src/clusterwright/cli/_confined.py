"""Run a command that reads files of users in one folder only: python -m clusterwright.cli._confined FOLDER WORDS."""

import sys

from clusterwright.cli import main
from clusterwright.onhost.lib.safe_reader import confine

if __name__ == "__main__":
    confine(sys.argv.pop(1))
    main()
