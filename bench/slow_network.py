"""Cost of a slow network for a training on four hosts, and what each kind of gradient compression saves.

    python -m bench.slow_network [--compute 4] [--ways plain,power,...]   (root; ten minutes)
    python -m bench.slow_network --losses [--steps 600]                   (ten minutes more)

Speed: four ranks, each in its own network namespace, on links shaped (tbf) so that the gradients of 25 M parameters
take as long at line rate as a step computes. Computation is a sleep (slow_network_rank.py), as the four ranks share
the CPUs; weak-scaling efficiency is the step of one rank alone over that of four. Goal: 0.95.
Losses: the recipe gpt, four ranks on loopback, the same samples in the same steps; validation loss at the end over
that of uncompressed DistributedDataParallel. Goal: within 1 %.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HOSTS, NET, NAME = 4, "10.247.0", "cw-slow"
GOAL, CLOSE = 0.95, 1.01
SKIPPED = 2
BURST, QUEUE = 256 * 1024, "50ms"
RANK = Path(__file__).parent / "loops" / "slow_network_rank.py"
GRADIENT, OUTER = "CLUSTERWRIGHT_GRADIENT_", "CLUSTERWRIGHT_OUTER"
WAYS: dict[str, tuple[dict[str, str], int]] = {  # variables of ranks, and number of measured steps
    "plain": ({}, 5),
    "bf16": ({f"{GRADIENT}COMPRESS": "bf16"}, 5),
    "int8": ({f"{GRADIENT}COMPRESS": "int8"}, 8),
    "int8, buckets of 4 MiB": ({f"{GRADIENT}COMPRESS": "int8", f"{GRADIENT}BUCKET_MIB": "4"}, 8),
    "power": ({f"{GRADIENT}COMPRESS": "power", f"{GRADIENT}RANK": "8"}, 8),
    "outer, every 50": ({OUTER: '{"every": 50, "warm_up": 200}'}, 50),
    "outer, every 50 in 8 bits": ({OUTER: '{"every": 50, "warm_up": 200, "bits": 8}'}, 50),
    "outer, every 10 in 8 bits": (
        {OUTER: '{"every": 10, "warm_up": 100, "bits": 8, "lr": 1, "momentum": 0}'}, 10,
    ),
}  # fmt: skip
# Differences between the tables: warm-up is part of a training, but not of the timed steps.
TIMED = {
    "power": {f"{GRADIENT}WARM_UP": "1"},
    "outer, every 50": {OUTER: '{"every": 50}'},
    "outer, every 50 in 8 bits": {OUTER: '{"every": 50, "bits": 8}'},
    "outer, every 10 in 8 bits": {OUTER: '{"every": 10, "bits": 8}'},
}


def main() -> None:
    """Print the table of speeds, or of losses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compute", type=float, default=4.0, help="seconds of computation per step")
    parser.add_argument("--ways", default=";".join(WAYS), help="names, separated by ;")
    parser.add_argument("--losses", action="store_true")
    parser.add_argument("--steps", type=int, default=600, help="steps of the trainings with --losses")
    given = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the network is removed
    ways = [each.strip() for each in given.ways.split(";")]
    if given.losses:
        losses(ways, given.steps)
    else:
        speeds(ways, given.compute)


def speeds(ways: list[str], compute_s: float) -> None:
    """Print the speed with each kind of compression, on a network that is removed at the end."""
    bytes_per_s = 4 * 8 * 12 * 512**2 / compute_s
    print(f"{HOSTS} hosts, {bytes_per_s * 8 / 1e6:.0f} Mbit/s, {compute_s:g} s of computation per step")
    try:
        create_network(bytes_per_s)
        alone = statistics.fmean(measured({}, 4, compute_s, ranks=1)[0])
        print(f"one rank alone: {alone:.2f} s per step")
        for way in ways:
            told, steps = WAYS[way]
            seconds, sent = measured({**told, **TIMED.get(way, {})}, steps, compute_s, ranks=HOSTS)
            step = statistics.fmean(seconds)
            share = alone / step
            print(
                f"{way:<26} {step:6.2f} s per step ({min(seconds):.2f} to {max(seconds):.2f}, {steps} steps),"
                f" {statistics.fmean(sent) / 1e6:6.1f} MB sent per step, efficiency {share:.2f}"
                f" {'met' if share >= GOAL else ''}",
                flush=True,
            )
    finally:
        remove_network()


def create_network(bytes_per_s: float) -> None:
    """Create a switch and four hosts as network namespaces, with links shaped in both directions."""
    shape = f"tbf rate {bytes_per_s * 8:.0f}bit burst {BURST} latency {QUEUE}"
    ip("netns", "add", NAME)
    ip("-n", NAME, "link", "add", "switch", "type", "bridge", "forward_delay", "0")
    ip("-n", NAME, "link", "set", "switch", "up")
    for number in range(1, HOSTS + 1):
        host = f"{NAME}-{number}"
        ip("netns", "add", host)
        ip("-n", NAME, "link", "add", f"p{number}", "type", "veth", "peer", "name", "eth0", "netns", host)
        ip("-n", NAME, "link", "set", f"p{number}", "master", "switch", "up")
        ip("-n", host, "addr", "add", f"{NET}.{number}/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            ip("-n", host, "link", "set", link, "up")
        for space, link in ((NAME, f"p{number}"), (host, "eth0")):
            command = ["tc", "-n", space, "qdisc", "replace", "dev", link, "root", *shape.split()]
            subprocess.run(command, check=True)


def remove_network() -> None:
    """Remove the namespaces of the switch and the hosts."""
    for name in (NAME, *(f"{NAME}-{number}" for number in range(1, HOSTS + 1))):
        subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def ip(*words: str) -> None:
    """Run the iproute2 command `ip` with these words."""
    subprocess.run(["ip", *words], check=True)


def measured(
    told: dict[str, str], steps: int, compute_s: float, *, ranks: int
) -> tuple[list[float], list[int]]:
    """Return the seconds of each step, and the bytes that rank 0 sent in it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        own = {
            "SLOW_COMPUTE": str(compute_s), "SLOW_STEPS": str(SKIPPED + steps + 1), "SLOW_OUT": str(out),
            "SLOW_FOLDER": folder, "GLOO_SOCKET_IFNAME": "eth0", "MASTER_ADDR": f"{NET}.1",
        }  # fmt: skip
        commands = [
            ["ip", "netns", "exec", f"{NAME}-{rank + 1}", sys.executable, str(RANK)] for rank in range(ranks)
        ]
        run_ranks(commands, {**own, **told}, 29861)
        found = json.loads(out.read_text())
    return found["seconds"][SKIPPED:-1], found["sent"][SKIPPED:-1]  # the last step always synchronizes


def losses(ways: list[str], steps: int) -> None:
    """Print the loss with each kind of compression."""
    plain = 0.0
    for way in ways:
        value = held_out(WAYS[way][0], steps)
        plain = plain or value
        close = "met" if value <= CLOSE * plain else ""
        print(f"{way:<26} loss {value:.4f}, {value / plain:.4f} of plain {close}", flush=True)


def held_out(told: dict[str, str], steps: int) -> float:
    """Return the validation loss after `steps` steps of the recipe gpt."""
    with tempfile.TemporaryDirectory() as folder:
        said = {
            "steps": steps, "evaluate-every": steps, "evaluate-samples": 1024, "width": 64, "layers": 2,
            "dropout": 0, "folder": folder,
        }  # fmt: skip
        arguments = [f"--{name}={value}" for name, value in said.items()]
        command = [sys.executable, "-m", "clusterwright.runtime.recipes.gpt", *arguments]
        own = {"GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"}
        run_ranks([command] * HOSTS, {**own, **told}, 29862)
        lines = (Path(folder) / "events" / "rank-00000.jsonl").read_text().splitlines()
    return [float(each["value"]) for each in map(json.loads, lines) if each["event"] == "measure"][-1]


def run_ranks(commands: list[list[str]], told: dict[str, str], port: int) -> None:
    """Run all ranks to their end, with one thread each."""
    common = {**os.environ, **told, "MASTER_PORT": str(port), "WORLD_SIZE": str(len(commands))}
    common |= {
        "OMP_NUM_THREADS": "1",
        "TORCH_CPP_LOG_LEVEL": "ERROR",
        "CLUSTERWRIGHT_CHECKPOINT_EVERY": "seconds:99999",
    }
    ranks = [
        subprocess.Popen(command, env={**common, "RANK": str(rank), "LOCAL_RANK": "0"})
        for rank, command in enumerate(commands)
    ]
    try:
        codes = [rank.wait(900) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    if any(codes):
        sys.exit(f"ranks ended with {codes}")


if __name__ == "__main__":
    main()
