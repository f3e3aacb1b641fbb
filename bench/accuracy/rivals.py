"""Published accuracy of other planners on the same rows."""

from __future__ import annotations

# Calculon at commit caa4b11, its own validation (`calculon llm-validation`): model, recomputation -> seconds.
CALCULON = {
    ("GPT-22B", "full"): 1.40,
    ("GPT-22B", "selective"): 1.14,
    ("GPT-175B", "full"): 18.03,
    ("GPT-175B", "selective"): 13.64,
    ("GPT-530B", "full"): 49.89,
    ("GPT-530B", "selective"): 34.47,
    ("GPT-1T", "full"): 90.08,
    ("GPT-1T", "selective"): 66.04,
}
# The same commit on 137 A100 rows of five sources, with shapes, plans and network as input: mean and P90 of |error|.
CALCULON_A100 = (0.212, 0.323)
CALCULON_OOM = "0 of 6"  # runs that ran out of memory and that Calculon predicts not to fit
# SimuMax 1.2 on its own 43 cases, all on 8 B200 with a measured table per operation: mean of |error|.
SIMUMAX_TIME, SIMUMAX_MEMORY = 0.0562, 0.0046
