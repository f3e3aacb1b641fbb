"""Prints what an address answers over HTTP, or one line `error: ...` and exit code 1; 124 where it timed out.

Over HTTPS it shows the certificate of the host, and believes nobody but the cluster's own authority; the three
files come after the address.
"""

import socket
import ssl
import sys
import urllib.request

try:
    direct = urllib.request.ProxyHandler({})
    opener = urllib.request.build_opener(direct)
    if sys.argv[2:]:
        context = ssl.create_default_context(cafile=sys.argv[2])
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        opener = urllib.request.build_opener(direct, urllib.request.HTTPSHandler(context=context))
    with opener.open(sys.argv[1], timeout=4) as answer:
        sys.stdout.write(answer.read().decode(errors="replace"))
except OSError as why:
    cause = getattr(why, "reason", why)
    if isinstance(cause, socket.timeout):
        sys.stdout.write("error: timed out\n")
        sys.exit(124)
    sys.stdout.write("error: %s\n" % (getattr(cause, "strerror", None) or cause))
    sys.exit(1)
