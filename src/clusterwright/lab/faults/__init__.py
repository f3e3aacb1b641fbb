"""Faults: one file each; its name is the fault's, with - for _. Dropping a file in is all there is to it.

The file has `strike(lab, host, options)`, which makes it so, and `undo`, which takes it back; both are called
with the lab's lock held and return the journal. `OPTIONS` names the options that it takes, `LASTS` says
whether there is anything to undo afterwards. It may have `refuse`, called before anything is noted, which raises
where there is nothing to strike.
"""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.lab import boot, state
from clusterwright.lab.layout import LabHost, Link
from clusterwright.lab.state import Fault, LabState


def kinds() -> dict[str, ModuleType]:
    """Every fault there is, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name.replace("_", "-"): import_module(f"{__name__}.{name}") for name in names}


def fault(name: str, kind: str, host: str, **options: str) -> LabState:
    """The fault is in force on that host of the lab, and in the journal; the same fault twice is one.

    Raises:
        WrightError: no such lab, kind, host or network, or an option that the kind does not take.
    """
    chosen = _chosen(kind, options)
    state.require(name)
    with state.locked(state.folder(name)):
        lab = state.require(name)
        target = lab.layout.host(host)
        links(target, options)
        if hasattr(chosen, "refuse"):
            chosen.refuse(lab, target, options)
        new = Fault(kind, host, dict(options), time.time())
        for old in lab.faults:
            if _same(old, new):
                lab = lab.without_fault(old)
        struck: LabState = chosen.strike(state.write(lab.with_fault(new)), target, options)
        return state.write(struck if chosen.LASTS else struck.without_fault(new))


def undo(name: str, host: str = "all") -> tuple[Fault, ...]:
    """Every fault of that host, or of all hosts, is taken back, the last one first; those that are on answer ssh again.

    Raises:
        WrightError: no such lab or host.
    """
    state.require(name)
    with state.locked(state.folder(name)):
        lab = state.require(name)
        if host != "all":
            lab.layout.host(host)
        chosen = tuple(one for one in reversed(lab.faults) if host in ("all", one.host))
        for one in chosen:
            lab = kinds()[one.kind].undo(lab.without_fault(one), lab.layout.host(one.host), one.options)
            state.write(lab)
        boot.wait_for_ssh(lab, sorted({one.host for one in chosen} - lab.switched_off))
        return chosen


def links(host: LabHost, options: Mapping[str, str]) -> tuple[Link, ...]:
    """The host's links that the option `network` means: that one, or all.

    Raises:
        WrightError: the host is not on that network.
    """
    wanted = options.get("network")
    found = tuple(link for link in host.links if wanted in (None, link.network))
    if not found:
        has = ", ".join(link.network for link in host.links)
        raise WrightError.of(
            "lab-unknown-network", f"{host.name} is not on `{wanted}`", f"name one of: {has}"
        )
    return found


def _same(one: Fault, other: Fault) -> bool:
    return _what(one) == _what(other)


def _what(one: Fault) -> tuple[str | None, ...]:
    """What is broken, however much."""
    return (one.kind, one.host, *(one.options.get(part) for part in ("network", "gpu", "link", "port")))


def _chosen(kind: str, options: Mapping[str, str]) -> ModuleType:
    chosen = kinds().get(kind)
    if chosen is None:
        known = ", ".join(kinds())
        raise WrightError.of(
            "lab-unknown-fault", f"there is no fault `{kind}`", f"name one of: {known}", exit_code=EXIT_USAGE
        )
    if strange := set(options) - set(chosen.OPTIONS):
        takes = ", ".join(f"--{option}" for option in chosen.OPTIONS) or "no options"
        raise WrightError.of(
            "lab-fault-option",
            f"{kind} does not take --{min(strange)}",
            f"it takes {takes}",
            exit_code=EXIT_USAGE,
        )
    return chosen
