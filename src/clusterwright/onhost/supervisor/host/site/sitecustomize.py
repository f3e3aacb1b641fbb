"""Imported by Python when it starts: watches the process group form (forming.py), and imports the file that it hides.

The hidden `sitecustomize` is the one that Python would have imported without this folder in PYTHONPATH.
"""

import importlib
import os
import sys


def _import_hidden() -> None:
    """Import the sitecustomize of the rest of sys.path, if there is one."""
    ours = os.path.dirname(os.path.abspath(__file__))
    module = sys.modules.pop(__name__, None)
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != ours]
    try:
        importlib.import_module(__name__)  # another file of this name
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        if module is not None:
            sys.modules.setdefault(__name__, module)


def _install() -> None:
    try:
        from clusterwright.onhost.supervisor.host import forming
    except ImportError:
        return
    forming.install()


if __name__ == "sitecustomize":  # not where its package is imported
    _install()
    _import_hidden()
