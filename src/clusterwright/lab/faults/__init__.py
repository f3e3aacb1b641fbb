"""Faults: one file each; its name is the fault's, with - for _. Adding a file adds a fault.

The file has `inject(lab, host, options)`, which injects it, and `undo`, which reverts it; both are called
with the lab's lock held and return the journal. `OPTIONS` names the fault's options, `LASTS` is
False if there is nothing to undo. It may have `refuse`, called before the fault is recorded, which raises
if the fault cannot be injected. A gradual fault has `step(lab, host, options, minutes)`, which a process
calls every few seconds after the injection, with the lock held, until it returns False or the fault is undone.
"""

from __future__ import annotations

import pkgutil
import time
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType

from clusterwright import plugins
from clusterwright.errors import EXIT_USAGE, WrightError, unknown_name_fix
from clusterwright.i18n import _
from clusterwright.lab import boot, gradual, state
from clusterwright.lab.layout import LabHost, Link
from clusterwright.lab.state import Fault, LabState


def kinds() -> dict[str, ModuleType]:
    """Return the module of every fault by name, also of plug-ins.

    Raises:
        WrightError: `plugin-broken`, `plugin-clash`.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    modules = {name: import_module(f"{__name__}.{name}") for name in names}
    plugin_modules = plugins.modules("faults", modules, _lacks)
    modules |= {name: module for name, (_plugin, module) in plugin_modules.items()}
    return {name.replace("_", "-"): module for name, module in modules.items()}


def _lacks(_name: str, module: ModuleType) -> str:
    missing = [part for part in ("inject", "undo", "OPTIONS", "LASTS") if not hasattr(module, part)]
    return _("the module lacks {parts}", parts=", ".join(missing)) if missing else ""


def fault(name: str, kind: str, host: str, **options: str) -> LabState:
    """Inject the fault on that host of the lab; return the lab's state with it. Repeating a fault replaces it.

    In names of options _ stands for a hyphen. A fault that does not last is not recorded.

    Raises:
        WrightError: There is no such lab, kind, host or network, or the kind lacks the option.
    """
    options = {option.replace("_", "-"): text for option, text in options.items()}
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
            if _is_same_fault(old, new):
                lab = lab.without_fault(old)
        changed_lab: LabState = chosen.inject(state.write(lab.with_fault(new)), target, options)
        if hasattr(chosen, "step"):
            gradual.start(changed_lab, new)
        return state.write(changed_lab if chosen.LASTS else changed_lab.without_fault(new))


def undo(name: str, host: str = "all") -> tuple[Fault, ...]:
    """Undo and return every fault of that host, or of all hosts, the last first.

    Waits until powered-on hosts respond to SSH.

    Raises:
        WrightError: There is no such lab or host.
    """
    state.require(name)
    with state.locked(state.folder(name)):
        lab = state.require(name)
        if host != "all":
            lab.layout.host(host)
        chosen = tuple(
            active_fault for active_fault in reversed(lab.faults) if host in ("all", active_fault.host)
        )
        for active_fault in chosen:
            lab = kinds()[active_fault.kind].undo(
                lab.without_fault(active_fault), lab.layout.host(active_fault.host), active_fault.options
            )
            state.write(lab)
        boot.wait_for_ssh(lab, sorted({active_fault.host for active_fault in chosen} - lab.switched_off))
        return chosen


def links(host: LabHost, options: Mapping[str, str]) -> tuple[Link, ...]:
    """Return the host's links on the network of the option `network`; all links without the option.

    Raises:
        WrightError: The host is not on that network.
    """
    network = options.get("network")
    matches = tuple(link for link in host.links if network in (None, link.network))
    if not matches:
        raise WrightError.from_code(
            "lab-unknown-network",
            _("{host} has no address on network `{network}`", host=host.name, network=network),
            unknown_name_fix(str(network), [link.network for link in host.links]),
            exit_code=EXIT_USAGE,
        )
    return matches


def _is_same_fault(old: Fault, new: Fault) -> bool:
    return _fault_key(old) == _fault_key(new)


def _fault_key(active_fault: Fault) -> tuple[str | None, ...]:
    """Return what makes two active faults the same: kind, host and target (network, GPU, link, port), not strength."""
    return (
        active_fault.kind,
        active_fault.host,
        *(active_fault.options.get(part) for part in ("network", "gpu", "link", "port")),
    )


def _chosen(kind: str, options: Mapping[str, str]) -> ModuleType:
    chosen = kinds().get(kind)
    if chosen is None:
        raise WrightError.from_code(
            "lab-unknown-fault",
            _("`{kind}` is not a fault", kind=kind),
            unknown_name_fix(kind, kinds(), _("name one of these faults: {names}", names=", ".join(kinds()))),
            exit_code=EXIT_USAGE,
        )
    if strange := set(options) - set(chosen.OPTIONS):
        takes = ", ".join(f"--{option}" for option in chosen.OPTIONS) or _("none")
        raise WrightError.from_code(
            "lab-fault-option",
            _("the fault {kind} has no option --{strange}", kind=kind, strange=min(strange)),
            _("options of this fault: {takes}", takes=takes),
            exit_code=EXIT_USAGE,
        )
    return chosen
