"""Settings of a compute host in /sys, and swap off, by a oneshot unit at every boot."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.oneshot import oneshot
from clusterwright.provision.resources import File, Resource, RoleContext, Unit
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("base",)

SCRIPT = "/etc/clusterwright/tuning.sh"
NAME = "clusterwright-tuning.service"
_THREATS = "Reached by: nobody. Reads: its script, which root alone can write. Changes: /sys and swap."
_SANDBOX = sandbox(
    _THREATS,
    filtered="~@resources",
    SystemCallFilter="@system-service @swap",
    CapabilityBoundingSet="CAP_SYS_ADMIN",
    ProtectKernelTunables="",
    PrivateNetwork="yes",
)
UNIT = oneshot(
    "Settings of a compute host", SCRIPT, _SANDBOX, After="systemd-modules-load.service swap.target"
)
HEAD = """# Lines without a matching device do nothing: a virtual machine, a container.

set_all() { # VALUE FILES...
  value=$1
  shift
  for file; do
    if [ -w "$file" ]; then echo "$value" >"$file"; fi
  done
}

# Transparent huge pages only on request: `always` lets a fork of a data loader hold more memory than it touches
# (kernel: admin-guide/mm/transhuge), and AMD's guide for language models uses madvise (ZenDNN user guide).
set_all madvise /sys/kernel/mm/transparent_hugepage/enabled
"""
GOVERNOR = """
# Governors that raise clocks only under load delay the CPU's part of every step.
set_all performance /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor
"""
NO_SWAP = """
# A rank that is swapped out delays all others. swap.target is masked for the next boot.
if [ "$(wc -l </proc/swaps)" -gt 1 ]; then swapoff -a; fi
"""


@alike
def tuning(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the script and the unit that runs it at boot and after changes, for compute hosts; nothing for others.

    Unless `system.swap` is on, an empty swap.target masks swap. `reload`: there is no daemon to restart; the script
    runs again.
    """
    if host.group.role != "compute":
        return ()
    system = cluster.system
    text = HEAD + (GOVERNOR if system.governor == "performance" else "") + ("" if system.swap else NO_SWAP)
    script = File(path=SCRIPT, content=f"{context.header()}{text}\nexit 0\n", validate=("sh", "-n", "{}"))
    unit = File(path=f"/etc/systemd/system/{NAME}", content=context.header() + UNIT)
    mask = () if system.swap else (File(path="/etc/systemd/system/swap.target", content=""),)
    return (script, unit, *mask, Unit(name=NAME, restart_on=(script.id, unit.id), reload=True))
