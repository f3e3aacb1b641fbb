"""Growth of NVLink error counters."""

from __future__ import annotations

import re

from clusterwright.check.fact import fact

_INTERVAL_S = 2
_SEPARATOR = "=again="
# The counters are totals since boot, so two readings are compared.
_COMMAND = f"nvidia-smi nvlink -e; sleep {_INTERVAL_S}; echo {_SEPARATOR}; nvidia-smi nvlink -e"
_GPU = re.compile(r"^GPU (\d+): ")
_COUNT = re.compile(r"^\s+Link (\d+): (\w[\w -]*(?:Error|BER|Count)\w*[\w -]*): (\d+)")


@fact("sh", "-c", _COMMAND, limit_s=30, codes=(0, 15))  # 15: a GPU is lost, the others are listed
def nvlink_errors(out: str) -> dict[str, int]:
    """Growth in two seconds by GPU, link and counter, without zeros; idle links produce no errors."""
    previous, separator, now = out.partition(f"{_SEPARATOR}\n")
    if not separator:
        raise ValueError(out)
    baseline, second = _counters(previous), _counters(now)
    return {name: second[name] - baseline[name] for name in second if second[name] > baseline.get(name, 0)}


def _counters(out: str) -> dict[str, int]:
    gpu, counts = "", {}
    for line in out.splitlines():
        if named := _GPU.match(line):
            gpu = named[1]
        elif count := _COUNT.match(line):
            counts[f"GPU {gpu}, link {count[1]}: {count[2]}"] = int(count[3])
    if not gpu:
        raise ValueError(out)
    return counts
