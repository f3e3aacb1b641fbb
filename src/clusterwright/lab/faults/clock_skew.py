"""Clock skew of a host, ten minutes ahead by default; undo corrects it, and so does a boot, as chronyd would.

A virtual host uses the machine's clock, which cannot be set for it alone. Instead a preloaded library gives another
time to every program that starts from now on; running ones keep the machine's. (libfaketime breaks waiting:
under 0.9.10 `time.sleep` of Python 3.11 fails.)
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.lab.compiling import PACKAGES, compiled
from clusterwright.lab.inside import first_of, must
from clusterwright.lab.laying import write_files
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState
from clusterwright.units import parse_duration

OPTIONS = ("by",)
LASTS = True
_DEFAULT = "10m"  # twice what munge tolerates
_FOLDER = "run/lab-clock"  # /run is empty after a boot, and then the library is not loaded
_SOURCE = Path(__file__).with_suffix(".c")
_FLAGS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-fPIC", "-shared", "-pthread")
_RESTART_SERVICES = "systemctl try-restart chrony munge slurmdbd slurmctld slurmd"
_INJECT = f"ln -sfn /{_FOLDER}/preload /etc/ld.so.preload && {_RESTART_SERVICES}"
_UNDO = f"rm -f /etc/ld.so.preload; [ ! -e /{_FOLDER} ] || {{ rm -r /{_FOLDER}; {_RESTART_SERVICES}; }}"


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if the option of the skew is no duration, or the library cannot be compiled."""
    _library(_by_s(options))


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Skew the clock that the time service, munge and Slurm's services see, by a preloaded library; restart them.

    Return the lab's state.
    """
    files = {"skew.so": _library(_by_s(options)), "preload": f"/{_FOLDER}/skew.so\n".encode()}
    write_files(Path(f"/proc/{first_of(lab, host)}/root/{_FOLDER}"), files)
    must(lab, host, "sh", "-c", _INJECT)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Remove the library that skews the clock of services, and restart these; return the lab's state.

    A host that has booted since is already correct.
    """
    must(lab, host, "sh", "-c", _UNDO)
    return lab


def _by_s(options: Mapping[str, str]) -> int:
    text = options.get("by", _DEFAULT)
    try:
        return parse_duration(text.removeprefix("-")) * (-1 if text.startswith("-") else 1)
    except ValueError as error:
        fix = _("e.g. --by 10m, or --by=-90s for a clock that is behind")
        raise WrightError.from_code(
            "lab-fault-option", f"--by: {error}", fix, exit_code=EXIT_USAGE
        ) from error


@cache
def _library(by_s: int) -> bytes:
    """Return the content of the compiled library that skews clocks by so many seconds; compiled once per skew."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "skew.so"
        if reason := compiled(*_FLAGS, f"-DSKEW_S=({by_s})", "-o", str(library), str(_SOURCE)):
            raise WrightError.from_code(
                "lab-missing-program", reason, _("apt-get install {packages}", packages=PACKAGES)
            )
        return library.read_bytes()
