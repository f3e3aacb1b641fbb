"""Forks of a test."""

import os
import traceback


def forked(work):
    """Return the process id of a fork that does the work and ends, never to go on with the tests of its parent.

    It exits with 0, or with 1 and a traceback on stderr.
    """
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)
