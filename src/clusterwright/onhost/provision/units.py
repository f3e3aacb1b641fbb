"""systemd units on a host: enabled, started, and restarted only if their inputs changed.

Standard library only, Python 3.6 or later.
"""

import time
from typing import Any, Dict, List, Optional, Sequence, Set

from clusterwright.onhost.lib.journal import of_unit
from clusterwright.onhost.provision.change import Verb, new_change
from clusterwright.onhost.provision.host import ChangeError, Json, must, run
from clusterwright.onhost.provision.timings import step

PROPERTIES = ("LoadState", "ActiveState", "UnitFileState", "NeedDaemonReload")
SETTLE_S = 0.7  # slurmd with an unknown parameter exited after 0.05 to 0.3 s (2 busy cores)
CAN_BE_ENABLED = ("disabled", "")  # others are enabled, static, generated, an alias, or masked on purpose


def show(names: List[str]) -> Dict[str, Json]:
    """Return systemd's properties of each unit by name; {} without names.

    They are from one call, in which systemctl prints the units in the order requested.
    """
    if not names:
        return {}
    blocks = (
        must(["systemctl", "show", "--property", ",".join(PROPERTIES), "--", *names]).strip().split("\n\n")
    )
    states = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in blocks]
    return dict(zip(names, states))


def replaced(unit: Json, states: Dict[str, Json]) -> List[str]:
    """Return the names of units that this one replaces and that are still active or enabled."""
    return [
        name
        for name in unit.get("replaces", ())
        if states[name].get("LoadState") == "loaded"
        and (states[name].get("ActiveState") == "active" or states[name].get("UnitFileState") == "enabled")
    ]


def plan_unit(
    unit: Json, state: Dict[str, Any], changed: Set[str], gentle: Set[str], replaced_units: Sequence[str] = ()
) -> Optional[Json]:
    """Return the change of a unit that is not active or enabled, has a changed input or units to replace; else None.

    `changed` are the ids of changed resources, `gentle` those for which a reload is enough, `replaced_units` the units
    that this one replaces and that still run.
    """
    inputs = [name for name in unit["restart_on"] if name in changed]
    reload = unit["reload"] or (bool(inputs) and gentle.issuperset(inputs))
    verbs = [Verb.ENABLE] if state.get("UnitFileState", "") in CAN_BE_ENABLED else []
    if state.get("ActiveState") != "active":
        verbs.append(Verb.START)
    elif inputs:
        verbs.append(Verb.RELOAD if reload else Verb.RESTART)
    verbs += [Verb.REPLACE] if replaced_units else []
    if not verbs:
        return None
    gentle_reload = Verb.RELOAD in verbs and not unit["reload"]
    cost = "restart" if Verb.RESTART in verbs else "reconfigure" if gentle_reload else "live"
    return unit_change(verbs, inputs, replaced_units, cost)


def unit_change(
    verbs: Sequence[Verb], inputs: Sequence[str], replaced_units: Sequence[str], cost: str
) -> Json:
    """Return a unit's change, with its changed inputs and the units that it replaces."""
    reasons = {
        Verb.RELOAD: "reload for " + ", ".join(inputs),
        Verb.RESTART: "restart for " + ", ".join(inputs),
        Verb.REPLACE: "in place of " + " ".join(replaced_units),
    }
    description = ", ".join(reasons.get(verb, verb.value) for verb in verbs)
    return dict(
        new_change(description, *verbs, cost=cost), inputs=list(inputs), replaces=list(replaced_units)
    )


def do_units(
    changes: List[Json],
    *,
    reload_unit_files: bool,
    new_files: bool = True,
    independent: Sequence[str] = (),
    wait_s: float = SETTLE_S,
) -> Optional[ChangeError]:
    """Make the planned changes of units in one call per verb; stop replaced units last.

    A daemon-reload runs every generator and costs a busy host seconds, so it runs only if systemd needs it; a unit that
    is not loaded is read when it starts. Units are restarted rather than started: their package may have started them
    with other files. The failure of an `independent` unit is returned, any other is raised.
    """
    verbs = {change["id"].partition(":")[2]: set(change["verbs"]) for change in changes}
    enabled = [name for name, does in verbs.items() if Verb.ENABLE in does]
    started = [name for name, does in verbs.items() if does & {Verb.START, Verb.RESTART}]
    reloaded = [name for name, does in verbs.items() if Verb.RELOAD in does]
    if enabled:
        with step("enable units"):
            must(["systemctl", "enable", "--quiet", "--no-reload", "--", *enabled])
    states = show(list(verbs) if new_files and not reload_unit_files else [])
    if reload_unit_files or any(state.get("NeedDaemonReload") == "yes" for state in states.values()):
        with step("daemon-reload"):
            must(["systemctl", "daemon-reload"])
    with step("start units"):
        outputs = [run_systemctl("restart", started), run_systemctl("reload-or-restart", reloaded)]
    trouble = expect_running(started + reloaded, "".join(outputs), independent, wait_s)
    for change in changes:
        for replaced_name in change["replaces"]:
            stop_unit(replaced_name)
    return trouble


def run_systemctl(verb: str, names: List[str]) -> str:
    """Run systemctl with the verb on all units and return its output if it failed, else "".

    A unit that fails does not stop the others.
    """
    result = run(["systemctl", verb, "--", *names]) if names else None
    return result.out if result is not None and result.code != 0 else ""


def expect_running(
    names: List[str], output: str = "", independent: Sequence[str] = (), wait_s: float = SETTLE_S
) -> Optional[ChangeError]:
    """Check after `wait_s` that all units are active: a daemon with bad files exits right after its start.

    Return the error of an inactive `independent` unit; raise that of any other, or systemctl's `output`.
    """
    if names:
        with step("wait for units to settle"):
            time.sleep(wait_s)
    trouble = None
    with step("verify that units run"):
        states = show(names)
    for name, state in states.items():
        if state.get("ActiveState") != "active":
            log = run(of_unit(name, "--lines=8", "--output=cat")).out
            message = f"{name} is {state.get('ActiveState')} after its start; the end of its log:\n{log}"
            if name not in independent:
                raise ChangeError(message)
            trouble = trouble or ChangeError(message, "host")
    if output and trouble is None:
        raise ChangeError(output.strip())
    return trouble


def is_loaded(name: str) -> bool:
    """Return True if systemd has the unit loaded."""
    return show([name])[name].get("LoadState") == "loaded"


def stop_unit(name: str, verbs: Sequence[Verb] = (Verb.STOP, Verb.DISABLE)) -> None:
    """Stop the systemd unit, disable it, or both, by `verbs`; raise ChangeError if that fails."""
    if Verb.DISABLE not in verbs:
        must(["systemctl", "stop", "--", name])
    else:
        now = ["--now"] if Verb.STOP in verbs else []
        must(["systemctl", "disable", *now, "--quiet", "--", name])
