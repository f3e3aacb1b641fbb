"""systemd units on a host: started, enabled, and restarted only when what they read has changed.

Standard library only, Python 3.6 or later.
"""

from typing import Any, Dict, List, Optional, Set

from clusterwright.build.agent.host import Json, must

SHOWN = ("LoadState", "ActiveState", "UnitFileState", "NeedDaemonReload")
CAN_BE_ENABLED = ("disabled", "")  # the rest is enabled, static, generated, an alias, or masked on purpose


def show(names: List[str]) -> Dict[str, Json]:
    """State of every unit, asked in one call; systemctl answers in the order asked."""
    if not names:
        return {}
    blocks = must(["systemctl", "show", "--property", ",".join(SHOWN), "--", *names]).strip().split("\n\n")
    states = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]
    return dict(zip(names, states))  # noqa: B905 (strict came with Python 3.10)


def look_unit(unit: Json, state: Dict[str, Any], changed: Set[str]) -> Optional[Json]:
    """Not running, not enabled, or running on what has changed since."""
    inputs = [name for name in unit["restart_on"] if name in changed]
    what = []  # type: List[str]
    if state.get("UnitFileState", "") in CAN_BE_ENABLED:
        what.append("enable")
    if state.get("ActiveState") != "active":
        what.append("start")
    elif inputs:
        what.append(f"{'reload' if unit['reload'] else 'restart'} for {', '.join(inputs)}")
    if not what:
        return None
    cost = "restart" if inputs and "start" not in what and not unit["reload"] else "live"
    return {"what": ", ".join(what), "diff": "", "cost": cost}


def do_unit(unit: Json, what: str) -> None:
    """What was planned. A start is a restart: its package may have started it since, with other files."""
    if "enable" in what:
        must(["systemctl", "enable", "--quiet", "--", unit["name"]])
    if "reload" in what:
        must(["systemctl", "reload-or-restart", "--", unit["name"]])
    elif "start" in what:
        must(["systemctl", "restart", "--", unit["name"]])


def is_loaded(name: str) -> bool:
    """True when systemd knows the unit."""
    return show([name])[name].get("LoadState") == "loaded"


def stop_unit(name: str) -> None:
    """Stopped and not started again."""
    must(["systemctl", "disable", "--now", "--quiet", "--", name])


def daemon_reload() -> None:
    """Unit files are read again."""
    must(["systemctl", "daemon-reload"])
