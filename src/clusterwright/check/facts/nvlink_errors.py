"""How much the error counters of NVLinks grow."""

from __future__ import annotations

import re

from clusterwright.check.fact import fact

_APART_S = 2
_AGAIN = "=again="
# The counters are totals since boot: what counts is how much they grow while we look.
_COMMAND = f"nvidia-smi nvlink -e; sleep {_APART_S}; echo {_AGAIN}; nvidia-smi nvlink -e"
_GPU = re.compile(r"^GPU (\d+): ")
_COUNT = re.compile(r"^\s+Link (\d+): (\w[\w -]*(?:Error|BER|Count)\w*[\w -]*): (\d+)")


@fact("sh", "-c", _COMMAND, limit_s=30, codes=(0, 15))  # 15: a GPU is lost, the others are told
def nvlink_errors(out: str) -> dict[str, int]:
    """By GPU, link and counter: its growth in two seconds, where there is any; blind to links that carry nothing."""
    before, found, now = out.partition(f"{_AGAIN}\n")
    if not found:
        raise ValueError(out)
    first, second = _counters(before), _counters(now)
    return {name: second[name] - first[name] for name in second if second[name] > first.get(name, 0)}


def _counters(out: str) -> dict[str, int]:
    gpu, found = "", {}
    for line in out.splitlines():
        if named := _GPU.match(line):
            gpu = named[1]
        elif count := _COUNT.match(line):
            found[f"GPU {gpu}, link {count[1]}: {count[2]}"] = int(count[3])
    if not gpu:
        raise ValueError(out)
    return found
