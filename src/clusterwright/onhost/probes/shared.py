"""Leaves a file with a token in shared folders (`write`), or finds and removes those of all hosts (`read`).

Arguments: write|read, this host's name, folders. `read` is told by JSON on stdin which hosts left one.
Where root may not write to a folder (root_squash), its `runs`, which is open to all, is tried. Anyone may
have put a symbolic link where our file goes: none is followed.
"""

import errno
import json
import os
import sys
import uuid
from typing import Dict, Iterable, List

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def places(path: str, host: str) -> List[str]:
    """Where the token of a host may be."""
    return [os.path.join(folder, ".wright-check-" + host) for folder in (path, os.path.join(path, "runs"))]


def write_token(location: str, token: str) -> None:
    """A new file with the token, synced."""
    handle = os.open(location, NEW, 0o644)
    try:
        os.write(handle, token.encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def consume_token(location: str) -> str:
    """The token in a file, which is removed; empty when there is none."""
    try:
        handle = os.open(location, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        token = os.read(handle, 100).decode(errors="replace")
    except OSError:
        token = ""
    finally:
        os.close(handle)
    return token if remove(location) else ""


def remove(location: str) -> bool:
    """True when the file is gone."""
    try:
        os.unlink(location)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def write(path: str, host: str) -> Dict[str, str]:
    """The token left in the first place that can be written, or the first error; older ones are removed."""
    token, error = uuid.uuid4().hex, ""
    for location in places(path, host):
        remove(location)
    for location in places(path, host):
        try:
            write_token(location, token)
        except OSError as why:
            error = error or "%s: %s" % (errno.errorcode.get(why.errno or 0, why.errno), why.strerror)
            continue
        return {"token": token, "error": ""}
    return {"token": "", "error": error}


def read(path: str, hosts: Iterable[str]) -> Dict[str, str]:
    """By host: the token that is here."""
    tokens = {host: "".join(consume_token(location) for location in places(path, host)) for host in hosts}
    return {host: token for host, token in tokens.items() if token}


verb, me, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
if verb == "write":
    json.dump({path: write(path, me) for path in paths}, sys.stdout)
else:
    host_names = sorted(json.load(sys.stdin))
    json.dump({path: read(path, host_names) for path in paths}, sys.stdout)
