"""Our plan search against Calculon's on the same small problem, one after the other, on one core.

    python -m bench.search_vs_calculon CHECKOUT [--python PYTHON] [--gpus 4] [--batch 4]

CHECKOUT is a checkout of github.com/calculon-ai/calculon; PYTHON an interpreter with its requirements (psutil, pandas).
The problem is its megatron-5B on A100s without second memory and overlap, so that it takes minutes. Each counts its
own plans; Calculon's plans that differ only in what our model decides by itself (which network carries a group, how
tensors are sent) are one plan of ours, so the rates are not comparable, and the time to the answer is printed,
too. `of it` are the CPU seconds of our search without start-up; for Calculon, all CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL, SYSTEM = "megatron-5B", "a100_80g"
OURS = """
import json, sys, time
from clusterwright import catalog
from clusterwright.catalog.records import Architecture
from clusterwright.plan.machines import Wiring, machine
from clusterwright.plan.run import Offload, Training
from clusterwright.plan.search.options import Options
from clusterwright.plan.search.fastest import search
shape, gpus, batch = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
model = Architecture(sys.argv[4], shape["num_blocks"], shape["hidden"], shape["attn_heads"], shape["attn_heads"],
                     shape["attn_size"], shape["feedforward"], 51200, gated=False, tied=True)
on = machine(catalog.gpu("a100-sxm-80gb"), gpus, Wiring(8, 8, "infiniband", 8, 200e9))
began = time.process_time()
said = search(Training(model, shape["seq_size"], batch, "fp16", flash_attention=False), on,
              options=Options(max_tp=gpus, offload=(Offload.NONE,)))
took = time.process_time() - began
cut = said.best.run.layout
print(json.dumps({"plans": said.counts.considered, "decided": said.counts.decided, "best_s": said.best.time.total,
                  "search_s": took, "layout": f"tp {cut.tp} pp {cut.pp} dp {cut.dp} microbatch {cut.micro_batch}"}))
"""


def timed(argv: list[str], folder: Path, extra: dict[str, str]) -> tuple[str, float, float]:
    """Run a program on one core; return output, CPU seconds and wall seconds."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before, began = os.times(), time.perf_counter()
    done = subprocess.run(
        argv, cwd=folder, env=os.environ | one | extra, capture_output=True, text=True, check=False
    )
    after, ended = os.times(), time.perf_counter()
    if done.returncode:
        sys.exit(f"{argv[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return done.stdout + done.stderr, cpu, ended - began


def calculon(checkout: Path, python: str, gpus: int, batch: int) -> dict[str, float | str]:
    """Run Calculon's search over its own space and return its figures."""
    with tempfile.TemporaryDirectory() as folder:
        system, out = Path(folder) / "system.json", Path(folder) / "out.json"
        described = json.loads((checkout / "systems" / f"{SYSTEM}.json").read_text())
        described["mem2"]["GiB"] = 0  # no offload, or the search takes too long
        system.write_text(json.dumps(described))
        question = [f"models/{MODEL}.json", str(gpus), str(batch), "float16", str(system), str(out)]
        limits = ["-c", "1", "--no-tp-overlap", "--no-dp-overlap"]
        argv = [python, "bin/calculon", "llm-optimal-execution", *question, *limits]
        said, cpu, wall = timed(argv, checkout, {"PYTHONPATH": str(checkout)})
        best = json.loads(out.read_text())["0"]
    plans = float(re.search(r"Total executions: (\d+)", said)[1])
    cut = best["execution"]
    layout = f"tp {cut['tensor_par']} pp {cut['pipeline_par']} dp {cut['data_par']} microbatch {cut['microbatch_size']}"
    return {
        "plans": plans,
        "search_s": cpu,
        "cpu_s": cpu,
        "wall_s": wall,
        "best_s": best["stats"]["total_time"],
        "layout": layout,
    }


def ours(checkout: Path, gpus: int, batch: int) -> dict[str, float | str]:
    """Run our search in a fresh process, so with start-up and imports, and return its figures."""
    shape = (checkout / "models" / f"{MODEL}.json").read_text()
    argv = [sys.executable, "-c", OURS, shape, str(gpus), str(batch), MODEL]
    said, cpu, wall = timed(argv, Path.cwd(), {})
    return json.loads(said) | {"cpu_s": cpu, "wall_s": wall}


def main() -> None:
    """Run both and print a table and the ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--batch", type=int, default=4)
    asked = parser.parse_args()
    seen = {
        "ours": ours(asked.checkout, asked.gpus, asked.batch),
        "calculon": calculon(asked.checkout.absolute(), asked.python, asked.gpus, asked.batch),
    }
    print(f"{MODEL} on {asked.gpus} A100, batch {asked.batch}, one core; load {os.getloadavg()[0]:.1f}")
    print(
        f"{'':10}{'plans':>9}{'CPU s':>9}{'of it':>9}{'wall s':>9}{'plans/CPU s':>13}{'best s':>9}  its layout"
    )
    for name, one in seen.items():
        sizes = (one["cpu_s"], one["search_s"], one["wall_s"])
        print(f"{name:10}{one['plans']:9.0f}" + "".join(f"{size:9.2f}" for size in sizes), end="")
        print(f"{one['plans'] / one['search_s']:13.0f}{one['best_s']:9.3f}  {one['layout']}")
    mine, other = seen["ours"], seen["calculon"]
    theirs = other["plans"] / other["search_s"]
    print(f"plans per CPU second, listed: {mine['plans'] / mine['search_s'] / theirs:.0f} to 1")
    decided = mine["decided"]
    print(f"in Calculon's counting ours are {decided} plans: {decided / mine['search_s'] / theirs:.0f} to 1")
    print(f"CPU seconds to the answer, with start-up: 1 to {other['cpu_s'] / mine['cpu_s']:.0f}")


if __name__ == "__main__":
    main()
