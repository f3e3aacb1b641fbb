"""Prints what an address answers over HTTP, or one line `error: ...` and exit code 1."""

import sys
import urllib.request

try:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(sys.argv[1], timeout=4) as answer:
        sys.stdout.write(answer.read().decode(errors="replace"))
except OSError as why:
    cause = getattr(why, "reason", why)
    sys.stdout.write("error: %s\n" % (getattr(cause, "strerror", None) or cause))
    sys.exit(1)
