"""Leaves a token of this host in shared folders (`write`), or finds and removes those of all hosts (`read`).

Arguments: write|read, this host's name, folders. `read` is told by JSON on stdin which hosts left one.
"""

import errno
import json
import os
import sys
import uuid

FOLDER = ".wright-check"


def failed(why):
    """The errno's name and the system's words."""
    return "%s: %s" % (errno.errorcode.get(why.errno, why.errno), why.strerror)


def write(path, host):
    """Write and sync a new token; an older one of this host is replaced."""
    token, folder = uuid.uuid4().hex, os.path.join(path, FOLDER)
    try:
        if not os.path.isdir(path):
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        os.makedirs(folder, 0o700, exist_ok=True)
        with open(os.path.join(folder, host), "w") as file:
            file.write(token)
            file.flush()
            os.fsync(file.fileno())
    except OSError as why:
        return {"token": "", "error": failed(why)}
    return {"token": token, "error": ""}


def read(path, hosts):
    """The tokens of these hosts that are here; each is removed, and the folder when it is empty."""
    seen, folder = {}, os.path.join(path, FOLDER)
    for host in hosts:
        try:
            with open(os.path.join(folder, host)) as file:
                seen[host] = file.read(100)
            os.unlink(os.path.join(folder, host))
        except OSError:
            pass  # not seen: that is the finding
    try:
        os.rmdir(folder)
    except OSError:
        pass  # another check is at work, or a host's token is not ours to remove
    return seen


verb, me, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
if verb == "write":
    json.dump({path: write(path, me) for path in paths}, sys.stdout)
else:
    wanted = json.load(sys.stdin)
    json.dump({path: read(path, sorted(wanted)) for path in paths}, sys.stdout)
