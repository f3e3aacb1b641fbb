"""Reset a GPU of a host without jobs through its driver."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.heal.actions.executor import RUN_FOLDER, ActionOrder, Executor, failed
from clusterwright.onhost.lib.journal import log_repair

COST = "drain"
UNDO = ""
# The marker is created before the reset, so that it runs once; a kernel log line closes the GPU's earlier entries.
_RESET = """mkdir {mark} 2>/dev/null || exit 0
timeout 120 nvidia-smi --gpu-reset{which}; code=$?
if [ "$code" = 0 ]; then
  {log}
fi
echo "$code" >{mark}/code
exit "$code"
"""
_ADDRESSES = "$(nvidia-smi --query-gpu=pci.bus_id --format=csv,noheader{which})"
_STATUS_SCRIPT = (
    "if [ -s {mark}/code ]; then cat {mark}/code; elif [ -d {mark} ]; then echo begun; else echo none; fi"
)


def prepare(order: ActionOrder, executor: Executor) -> dict[str, str] | None:
    """Return an empty dict, as no prior state is needed; None if the host has jobs or may get some."""
    return {} if executor.is_empty(order.intent.host) else None


def execute(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> str:
    """Reset the GPU of the finding, or all GPUs of the host if it names none, once for each order.

    Return the error, or an empty text, also if this order began a reset before; `happened` returns how that ended.
    """
    number = order.intent.unit.removeprefix("gpu").strip()
    which = f" -i {number}" if number.isdigit() else ""
    log = log_repair(_ADDRESSES.format(which=which))
    script = _RESET.format(mark=f"{RUN_FOLDER}/{order.id}", which=which, log=log)
    return failed(executor.on(order.intent.host, script, timeout_s=150))


def happened(order: ActionOrder, _prior: Mapping[str, str], executor: Executor) -> bool | None:
    """Return True if the order's reset exited with 0, False if it never began; read from the marker file on the host.

    None if the reset has not ended or failed, or if the host does not respond.
    """
    result = executor.query(order.intent.host, _STATUS_SCRIPT.format(mark=f"{RUN_FOLDER}/{order.id}"))
    status = result.out.strip()
    return {"none": False, "0": True}.get(status) if result.ok else None
