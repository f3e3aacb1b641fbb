"""Decodes the credentials of other hosts (JSON on stdin, by host) and prints what munge says of each."""

import json
import re
import subprocess
import sys


def words(credential: str) -> str:
    """Munge's verdict on one credential."""
    done = subprocess.run(
        ["unmunge"],
        input=credential.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        check=False,
    )
    found = re.search(r"STATUS:\s+(.*?)\s*\(\d+\)", done.stdout.decode(errors="replace"))
    return found.group(1) if found else done.stderr.decode(errors="replace").strip() or "unmunge said nothing"


json.dump({host: words(text) for host, text in json.load(sys.stdin).items()}, sys.stdout)
