"""Prints the HTTP response of an address, or one line `error: ...` with exit code 1, 124 for a timeout.

For HTTPS it presents the host's certificate and trusts the cluster's CA only; the three files (CA, certificate, key)
follow the address.
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
except OSError as reason:
    cause = getattr(reason, "reason", reason)
    if isinstance(cause, socket.timeout):
        sys.stdout.write("error: timed out\n")
        sys.exit(124)
    sys.stdout.write("error: %s\n" % (getattr(cause, "strerror", None) or cause))
    sys.exit(1)
