"""Writes a token file into shared folders (`write`), or reads and removes those of all hosts (`read`).

Arguments: write|read, this host's name, folders; for `read`, stdin has the hosts that wrote one, as JSON.
If root may not write to a folder (root_squash), its subfolder `runs`, which all users can write to, is used. Users may
have placed a symbolic link at our file's path: none is followed.
"""

import errno
import json
import os
import sys
import uuid
from typing import Dict, Iterable, List

NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def places(path: str, host: str) -> List[str]:
    """Return the two paths at which a host's token may be: in the folder, or in its subfolder `runs`."""
    return [os.path.join(folder, ".wright-check-" + host) for folder in (path, os.path.join(path, "runs"))]


def write_token(location: str, token: str) -> None:
    """Create a file with the token, and sync it to the server."""
    handle = os.open(location, NEW, 0o644)
    try:
        os.write(handle, token.encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def consume_token(location: str) -> str:
    """Read a token from its file and remove the file; return "" if there is none."""
    try:
        handle = os.open(location, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        token = os.read(handle, 100).decode(errors="replace")
    except OSError:
        token = ""  # nosec B105 # none yet
    finally:
        os.close(handle)
    return token if remove(location) else ""


def remove(location: str) -> bool:
    """Remove the file; return True if it does not exist any more, False if it cannot be removed."""
    try:
        os.unlink(location)
    except OSError as error:
        return error.errno == errno.ENOENT
    return True


def write(path: str, host: str) -> Dict[str, str]:
    """Write a new token of this host to the first writable path of a folder, after removing older ones.

    Return the token, or the first error.
    """
    token, error = uuid.uuid4().hex, ""
    for location in places(path, host):
        remove(location)
    for location in places(path, host):
        try:
            write_token(location, token)
        except OSError as reason:
            error = error or "%s: %s" % (
                errno.errorcode.get(reason.errno or 0, reason.errno),
                reason.strerror,
            )
            continue
        return {"token": token, "error": ""}
    return {"token": "", "error": error}  # nosec B105 # none yet


def read(path: str, hosts: Iterable[str]) -> Dict[str, str]:
    """Read and remove the token files that these hosts wrote into a shared folder; return the tokens by host.

    A host without a token is left out.
    """
    tokens = {host: "".join(consume_token(location) for location in places(path, host)) for host in hosts}
    return {host: token for host, token in tokens.items() if token}


verb, me, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
if verb == "write":
    json.dump({path: write(path, me) for path in paths}, sys.stdout)
else:
    host_names = sorted(json.load(sys.stdin))
    json.dump({path: read(path, host_names) for path in paths}, sys.stdout)
