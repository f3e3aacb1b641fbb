"""Run a module of this library as `python -m` does, but import nothing from the current folder.

`python .../onhost/lib/run_module.py MODULE ARGUMENTS`. The current folder can belong to another user, whose files would
come before the standard library. Python before 3.11 has no option for that, and -I would also ignore PYTHONPATH.

Standard library only, Python 3.6 or later.
"""

import sys

# Before other imports: Python has put the folder of this file first, which has a numbers.py.
if __name__ == "__main__":
    sys.path[0] = __file__.rsplit("/", 4)[0]

FILE = "clusterwright/onhost/lib/run_module.py"  # in the folder of a library


def module_arguments(module: str, *arguments: str) -> "list[str]":
    """Return the arguments of a Python that runs the module."""
    return [__file__, module, *arguments]


if __name__ == "__main__":
    import runpy

    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
