"""`python3 -m clusterwright.onhost.exporter`: serves what the host measures, or prints it once."""

from __future__ import annotations

import argparse
import sys
import tempfile
from typing import Sequence

from clusterwright.onhost.exporter.keeper import Keeper
from clusterwright.onhost.exporter.settings import FILE, read


def main(arguments: Sequence[str]) -> int:
    """0, or 2 for settings that cannot be read."""
    parser = argparse.ArgumentParser(prog="exporter", description=__doc__)
    parser.add_argument("--settings", default=FILE)
    parser.add_argument("--once", action="store_true", help="print everything once, and serve nobody")
    options = parser.parse_args(arguments)
    try:
        settings = read(options.settings)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{options.settings}: {error}\n")
        return 2
    if not options.once:
        Keeper(settings).serve()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        settings.run = folder
        sys.stdout.write(Keeper(settings).collect_once())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
