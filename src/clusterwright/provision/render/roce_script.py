"""The self-contained script that configures RoCE on each adapter and reports what an adapter does not support."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from clusterwright.config.networks import Roce

_BODY = """
# Each step is tried on each adapter. Failures are logged (`journalctl -u clusterwright-roce`), and the other steps
# continue.

try() { # WHAT COMMAND...: done, or named
  what=$1
  shift
  said=$("$@" 2>&1 </dev/null) || echo "$device ($link): $what: not set: $(echo "$said" | tail -n 1)"
}

put() { # VALUE FILE
  [ -e "$2" ] || { echo "no $2 (the driver does not have it)"; return 1; }
  [ "$(cat "$2" 2>/dev/null)" = "$1" ] || echo "$1" >"$2"
}

cma() { # the tree that rdma_cm makes for a device once its folder is made (configfs)
  if [ ! -d /sys/kernel/config/rdma_cm ]; then
    modprobe rdma_cm
    mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
  fi
  [ -d "/sys/kernel/config/rdma_cm/$device" ] || mkdir "/sys/kernel/config/rdma_cm/$device"
}

marked_by_dscp() { # packets get their priority by their DSCP, as on the switches
  if command -v mlnx_qos >/dev/null && mlnx_qos -i "$link" --trust dscp; then
    mlnx_qos -i "$link" --dscp2prio set,"$dscp","$priority"
  else
    dcb app replace dev "$link" dscp-prio "$dscp:$priority"
  fi
}

paused() { # one priority alone waits; the others are dropped as ever
  if command -v mlnx_qos >/dev/null && mlnx_qos -i "$link" --pfc "$pauses"; then return 0; fi
  dcb pfc set dev "$link" prio-pfc all:off "$priority:on"
}

mtu_set() {
  [ "$(cat "/sys/class/net/$link/mtu")" = "$mtu" ] || ip link set dev "$link" mtu "$mtu"
}

while read -r network device port link mtu; do
  case " $networks " in *" $network "*) ;; *) continue ;; esac
  if [ ! -d "/sys/class/net/$link" ]; then
    echo "$device: no interface $link; nothing is set"
    continue
  fi
  try "MTU $mtu" mtu_set
  try "DSCP $dscp as priority $priority" marked_by_dscp
  try "PFC of priority $priority" paused
  try "RoCE v2 for connections" cma
  if [ -d "/sys/kernel/config/rdma_cm/$device" ]; then
    try "RoCE v2 for connections" put "RoCE v2" "/sys/kernel/config/rdma_cm/$device/ports/$port/default_roce_mode"
    try "type of service $tos" put "$tos" "/sys/kernel/config/rdma_cm/$device/ports/$port/default_roce_tos"
  fi
@ECN@done <@PORTS@
exit 0
"""
# Folders of NVIDIA's drivers (MLNX_OFED, DOCA). In-kernel drivers leave this to the firmware, where DCQCN is on for
# all priorities by default; some have the DSCP of notifications in debugfs.
_ECN = """  if [ -d "/sys/class/net/$link/ecn" ]; then
    try "ECN, receiving" put @ON@ "/sys/class/net/$link/ecn/roce_np/enable/$priority"
    try "ECN, sending" put @ON@ "/sys/class/net/$link/ecn/roce_rp/enable/$priority"
    try "DSCP $cnp_dscp of notifications" put "$cnp_dscp" "/sys/class/net/$link/ecn/roce_np/cnp_dscp"
  else
    echo "$device ($link): ECN: left as the firmware has it: the driver has no /sys/class/net/$link/ecn"
  fi
"""


def roce_script(roce: Roce, networks: Sequence[str], header: str, ports: PurePosixPath) -> str:
    """Return the script that configures RoCE on the ports of `networks`; `ports` is the file that lists them."""
    pauses = ",".join("1" if priority == roce.priority else "0" for priority in range(8))
    replacements = {"@PORTS@": str(ports), "@ECN@": _ECN}
    text = _BODY
    for placeholder, value in replacements.items():
        text = text.replace(placeholder, value)
    text = text.replace("@ON@", "1" if roce.ecn else "0")
    return f"""{header}# shellcheck disable=SC2317 # functions are called by `try`
# RoCE v2 as in rdma.roce; the switches need the same settings.
networks="{" ".join(networks)}"
priority={roce.priority}
pauses={pauses}
dscp={roce.dscp}
cnp_dscp={roce.cnp_dscp}
tos={roce.dscp * 4 + (2 if roce.ecn else 0)}
{text}"""
