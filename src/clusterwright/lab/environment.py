"""Find the Python with torch for the hosts, and the folders to bind into them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _

LINK = "opt/clusterwright/env"  # software.python's default is /opt/clusterwright/env/bin/python

_PROBE = """
import importlib.util, json, os, sys
print(json.dumps({"prefix": sys.prefix, "base": sys.base_prefix, "real": os.path.realpath(sys.executable),
                  "torch": importlib.util.find_spec("torch") is not None}))
"""


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """A virtual environment, its base interpreter, and whether torch is installed."""

    prefix: str
    base: str
    real: str
    torch: bool

    def binds(self) -> tuple[str, ...]:
        """Return the environment's folders that hosts must have at the same paths.

        That is because libpython is found by an absolute RPATH.
        """
        roots = [self.prefix, *([] if self.base in ("/usr", self.prefix) else [self.base])]
        if self.base != "/usr" and not Path(self.real).is_relative_to(self.base):
            roots.append(str(Path(self.real).parent.parent))
        return tuple(dict.fromkeys(roots))


def probe_environment(folder: str) -> PythonEnvironment:
    """Return the properties of the Python environment in that folder.

    Raises:
        WrightError: It has no working Python.
    """
    result = (
        run((f"{folder}/bin/python", "-I", "-c", _PROBE)) if Path(folder, "bin/python").exists() else None
    )
    if result is None or not result.ok:
        error = result.last_lines() if result else _("the environment has no bin/python")
        raise WrightError.from_code(
            "lab-environment",
            _("lab.environment {folder} cannot be used: {error}", folder=folder, error=error),
            _("name the folder of a Python virtual environment"),
        )
    return PythonEnvironment(**json.loads(result.out))


def find(named: str | None, log: Callable[[str], None]) -> PythonEnvironment | None:
    """Return the Python environment `named` by the cluster file; without one, the running one if it has torch.

    Else None. Logs a note if the environment has no torch.
    """
    environment = probe_environment(named or sys.prefix)
    if not environment.torch:
        log(
            _(
                "note: {prefix} has no torch, so trainings will not run on this lab; `pip install "
                "torch` there or set lab.environment to another folder, then recreate the lab",
                prefix=environment.prefix,
            )
        )
        return environment if named else None
    return environment


def link_environment(root: Path, environment: PythonEnvironment) -> None:
    """Link the environment at the path that jobs use inside a host, and make its parent folders readable."""
    for bound in environment.binds():
        for folder in reversed(Path(bound).parents[:-1]):
            inside = root / folder.relative_to("/")
            inside.mkdir(exist_ok=True, mode=0o755)
            inside.chmod(inside.stat().st_mode | 0o111)
    link = root / LINK
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(environment.prefix)
