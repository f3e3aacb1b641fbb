"""`python3 -m clusterwright.onhost.exporter`: serves the host's metrics, or prints them once."""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from clusterwright.onhost.exporter.keeper import Keeper
from clusterwright.onhost.exporter.settings import FILE, read


def main(arguments: Sequence[str]) -> int:
    """Serve the host's metrics until stopped or, with `--once`, print them; return 0, or 2 if the settings are bad."""
    parser = argparse.ArgumentParser(prog="exporter", description=__doc__)
    parser.add_argument("--settings", default=FILE)
    parser.add_argument("--once", action="store_true", help="print all metrics once and exit")
    options = parser.parse_args(arguments)
    try:
        settings = read(options.settings)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{options.settings}: {error}\n")
        return 2
    if not options.once:
        Keeper(settings).serve()
        return 0
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        settings.run = folder
        sys.stdout.write(Keeper(settings).collect_once())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
