"""Build the library and nvidia-smi from their sources, with this machine's compiler.

The library uses only functions that glibc has had since 2.33, so it runs on every `os` of a lab's hosts.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from clusterwright.lab.compiling import compiled

SONAME = "libnvidia-ml.so.1"
FLAGS = (
    "-std=c11",
    "-D_POSIX_C_SOURCE=200809L",
    "-O1",
    "-Wall",
    "-Wextra",
    "-fPIC",
    "-shared",
    "-pthread",
    f"-Wl,-soname,{SONAME}",
)
_FOLDER = Path(__file__).parent


def build(folder: Path, *more_flags: str) -> str:
    """Compile libnvidia-ml.so.1 into the folder; return "" on success, else the error."""
    sources = sorted(map(str, (_FOLDER / "nvml").glob("*.c")))
    exports = f"-Wl,--version-script={_FOLDER / 'nvml' / 'exports'}"
    return compiled(*FLAGS, *more_flags, exports, "-o", str(folder / SONAME), *sources)


def nvidia_smi() -> bytes:
    """Return the content of a simulated nvidia-smi: a zip file that the host's Python runs.

    It is isolated from other installed packages.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in ("clusterwright", "clusterwright/lab", "clusterwright/lab/gpus"):
            archive.writestr(f"{package}/__init__.py", "")
        for source in sorted((_FOLDER / "smi").glob("*.py")):
            archive.write(source, f"clusterwright/lab/gpus/smi/{source.name}")
        archive.writestr("__main__.py", _MAIN)
    return b"#!/usr/bin/python3 -IS\n" + packed.getvalue()


_MAIN = """import signal
import sys
from clusterwright.lab.gpus.smi.main import main
signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` is no error
sys.exit(main(sys.argv[1:]))
"""
