"""Decodes munge credentials of other hosts (JSON on stdin, by host) and prints munge's status for each."""

import json
import re
import sys

from clusterwright.onhost.lib import processes


def munge_status(credential: str) -> str:
    """Decode a credential by unmunge and return the status that it prints."""
    result = processes.run(["unmunge"], stdin=credential.encode())
    match = re.search(r"STATUS:\s+(.*?)\s*\(\d+\)", result.out)
    return match.group(1) if match else result.err.strip() or result.stopped or "no output of unmunge"


def main() -> None:
    """Print munge's status of each host's credential, as JSON by host."""
    json.dump({host: munge_status(text) for host, text in json.load(sys.stdin).items()}, sys.stdout)


if __name__ == "__main__":
    main()
