"""Decodes the credentials of other hosts (JSON on stdin, by host) and prints what munge says of each."""

import json
import re
import sys

from clusterwright.onhost.lib import processes


def words(credential: str) -> str:
    """Munge's verdict on one credential."""
    done = processes.run(["unmunge"], stdin=credential.encode())
    found = re.search(r"STATUS:\s+(.*?)\s*\(\d+\)", done.out)
    return found.group(1) if found else done.err.strip() or done.stopped or "unmunge said nothing"


def main() -> None:
    """Ask of each, print."""
    json.dump({host: words(text) for host, text in json.load(sys.stdin).items()}, sys.stdout)


if __name__ == "__main__":
    main()
