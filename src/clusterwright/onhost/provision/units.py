"""systemd units on a host: started, enabled, and restarted only when what they read has changed.

Standard library only, Python 3.6 or later.
"""

import time
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from clusterwright.onhost.provision.host import ChangeError, Json, must, run

SHOWN = ("LoadState", "ActiveState", "UnitFileState", "NeedDaemonReload")
SETTLE_S = 0.7  # slurmd with a key that it does not know was gone after 0.05 to 0.3 s (2 busy cores)
IN_PLACE_OF = "in place of "
CAN_BE_ENABLED = ("disabled", "")  # the rest is enabled, static, generated, an alias, or masked on purpose


def show(names: List[str]) -> Dict[str, Json]:
    """State of every unit, asked in one call; systemctl answers in the order asked."""
    if not names:
        return {}
    blocks = must(["systemctl", "show", "--property", ",".join(SHOWN), "--", *names]).strip().split("\n\n")
    states = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]
    return dict(zip(names, states))


def replaced(unit: Json, states: Dict[str, Json]) -> List[str]:
    """What still stands in the place of the unit."""
    return [
        name
        for name in unit.get("replaces", ())
        if states[name].get("LoadState") == "loaded"
        and (states[name].get("ActiveState") == "active" or states[name].get("UnitFileState") == "enabled")
    ]


def look_unit(
    unit: Json, state: Dict[str, Any], changed: Set[str], gentle: Set[str], others: Sequence[str] = ()
) -> Optional[Json]:
    """Not running, not enabled, running on what has changed since, or not alone.

    `gentle` are changes that a reload covers, `others` units that it replaces and that are still there.
    """
    inputs = [name for name in unit["restart_on"] if name in changed]
    reload = unit["reload"] or (bool(inputs) and gentle.issuperset(inputs))
    what = []  # type: List[str]
    if state.get("UnitFileState", "") in CAN_BE_ENABLED:
        what.append("enable")
    if state.get("ActiveState") != "active":
        what.append("start")
    elif inputs:
        what.append(f"{'reload' if reload else 'restart'} for {', '.join(inputs)}")
    if others:
        what.append(IN_PLACE_OF + " ".join(others))
    if not what:
        return None
    running = inputs and "start" not in what
    cost = (
        "restart" if running and not reload else "reconfigure" if running and not unit["reload"] else "live"
    )
    return {"what": ", ".join(what), "diff": "", "cost": cost}


def do_units(
    changes: List[Tuple[str, str]],
    *,
    read_again: bool,
    new_files: bool = True,
    alone: Sequence[str] = (),
    wait_s: float = SETTLE_S,
) -> Optional[ChangeError]:
    """Name and what was planned, in one call each for all of them; what they replace goes last.

    systemd reads its files again only where it must: that runs every generator, and costs a busy host seconds;
    a unit that is not loaded is read when it is started. A start is a restart: the unit's package may have
    started it since, with other files. The trouble of a unit that stands `alone` is given back, another's raised.
    """
    verbs = [(name, {part.partition(" ")[0] for part in what.split(", ")}) for name, what in changes]
    enabled = [name for name, words in verbs if "enable" in words]
    started = [name for name, words in verbs if words & {"start", "restart"}]
    reloaded = [name for name, words in verbs if "reload" in words]
    if enabled:
        must(["systemctl", "enable", "--quiet", "--no-reload", "--", *enabled])
    states = show([name for name, _what in changes] if new_files and not read_again else [])
    if read_again or any(state.get("NeedDaemonReload") == "yes" for state in states.values()):
        must(["systemctl", "daemon-reload"])
    said = [ask_for("restart", started), ask_for("reload-or-restart", reloaded)]
    trouble = expect_running(started + reloaded, "".join(said), alone, wait_s)
    for _name, what in changes:
        for other in what.partition(IN_PLACE_OF)[2].split():
            stop_unit(other)
    return trouble


def ask_for(verb: str, names: List[str]) -> str:
    """What systemctl said where it failed; one unit that fails does not keep it from the others."""
    done = run(["systemctl", verb, "--", *names]) if names else None
    return str(done.stdout) if done is not None and done.returncode != 0 else ""


def expect_running(
    names: List[str], said: str = "", alone: Sequence[str] = (), wait_s: float = SETTLE_S
) -> Optional[ChangeError]:
    """A daemon that dies of what it read does so at once, when systemd has already called it started."""
    if names:
        time.sleep(wait_s)
    trouble = None
    for name, state in show(names).items():
        if state.get("ActiveState") != "active":
            log = run(["journalctl", "--no-pager", "--lines", "8", "--output", "cat", "--unit", name]).stdout
            words = f"{name} is {state.get('ActiveState')} after its start; its last words:\n{log}"
            if name not in alone:
                raise ChangeError(words)
            trouble = trouble or ChangeError(words, "host")
    if said and trouble is None:
        raise ChangeError(said.strip())
    return trouble


def is_loaded(name: str) -> bool:
    """True when systemd knows the unit."""
    return show([name])[name].get("LoadState") == "loaded"


def stop_unit(name: str, what: str = "stop, disable") -> None:
    """Stopped, not started again, or both."""
    if what == "stop":
        must(["systemctl", "stop", "--", name])
    else:
        now = ["--now"] if "stop" in what else []
        must(["systemctl", "disable", *now, "--quiet", "--", name])
