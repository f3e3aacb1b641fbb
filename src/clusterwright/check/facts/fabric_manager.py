"""NVSwitches and their nvidia-fabricmanager."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact

_COMMAND = (
    "for file in /dev/nvidia-nvswitch[0-9]*; do [ -e $file ] && echo switch=$file; done;"
    "nv-fabricmanager --version 2>/dev/null | sed -n 's/.*ersion is : */version=/p';"
    "systemctl show --property=LoadState,ActiveState nvidia-fabricmanager.service"
)


@dataclass(frozen=True, slots=True)
class FabricManager:
    """The number of NVSwitches; state and version of nvidia-fabricmanager (version empty if unknown)."""

    switches: int
    state: str
    version: str


@fact("sh", "-c", _COMMAND)
def fabric_manager(out: str) -> FabricManager:
    """The host's NVSwitches and nvidia-fabricmanager; switches that another host manages (NVL72) are not counted.

    The state is `not installed` without the service.
    """
    rows = [line.partition("=") for line in out.splitlines() if "=" in line]
    values = {key: value.strip() for key, _, value in rows}
    state = values["ActiveState"] if values["LoadState"] == "loaded" else "not installed"
    return FabricManager(sum(key == "switch" for key, _, _ in rows), state, values.get("version", ""))
