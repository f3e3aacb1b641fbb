"""Source texts of our own modules, for what is sent to hosts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
AGENT = (
    "host", "disk", "drift", "undo", "files", "packages", "system", "units", "hardware", "accounts", "sacctmgr",
    "account_changes", "reservations", "records", "plan", "rollback", "troubles",
    "agent",
)  # fmt: skip  # each imports only those before it
JOB_SIDE = ("train/agent", "train/runtime", "train/recipes")


@cache
def agent_sources() -> list[tuple[str, str]]:
    """Name and text of the modules of the agent on the host, in the order in which they import each other."""
    folder = PACKAGE / "build" / "agent"
    names = [("clusterwright.build.agent", folder / "__init__.py")]
    names += [(f"clusterwright.build.agent.{name}", folder / f"{name}.py") for name in AGENT]
    return [(name, path.read_text()) for name, path in names]


def payload() -> dict[str, str]:
    """What jobs import, as `{path below the library folder: text}`."""
    paths = [PACKAGE / "__init__.py", PACKAGE / "train" / "__init__.py"]
    for folder in JOB_SIDE:
        paths += sorted((PACKAGE / folder).rglob("*.py"))
    return {str(path.relative_to(PACKAGE.parent)): path.read_text() for path in paths}
