"""CPU time of the loop of `wright heal` per minute of a large cluster.

python -m bench.heal [--hosts 1000] [--verdicts 200] [--minutes 10]

Each tick parses scontrol's output for all hosts (8 GPUs each) and failing verdicts on changing hosts, decides by rules
and writes a real journal on this disk; two ticks per minute (`heal.poll_interval: 30s`). The checks themselves are not
included. Actions return at once.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.config.load import load_cluster
from clusterwright.edge.processes import CommandResult
from clusterwright.heal.actions import Executor
from clusterwright.heal.journal import Journal
from clusterwright.heal.loop.action_runner import ActionRunner
from clusterwright.heal.loop.gather import Gatherer
from clusterwright.heal.loop.loop import Loop
from clusterwright.heal.moment import Moment
from clusterwright.heal.policy import policy_of
from clusterwright.heal.rule import rules

LOOKS_A_MINUTE = 2
FAILS = ("gpus_answer", "munge_on_host", "mounted", "interfaces", "kernel_faults", "gpu_ecc", "services")
FILE = """name: big
networks: {{management: {{subnet: 10.64.0.0/16, rate: 25Gbit/s}}}}
nodes:
  control:
    role: control
    hosts: control
    addresses: {{management: 10.64.0.10}}
    cpus: {{cores_per_socket: 32}}
    memory: 256GiB
  h100:
    role: compute
    hosts: "n[1-{hosts}]"
    addresses: {{management: 10.64.1.1}}
    cpus: {{sockets: 2, cores_per_socket: 48}}
    memory: 2TiB
    gpus: {{model: h100-sxm, count: 8}}
partitions: {{train: {{nodes: [h100], default: true}}}}
heal: {{mode: act, allow: [restart-service, drain, reset-gpu, reboot, requeue]}}
"""
NODE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=48 CPUAlloc=96 CPUEfctv=96 CPUTot=96 CPULoad=12.31 AvailableFeatures="
    "(null) ActiveFeatures=(null) Gres=gpu:h100:8(S:0-1) NodeAddr={name} NodeHostName={name} Version=22.05.8 OS=Linux "
    "6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC RealMemory=2063000 AllocMem=1024000 FreeMem=881233 Sockets=2 Boards=1 "
    "State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=train "
    "BootTime=2026-11-01T08:00:00 SlurmdStartTime=2026-11-01T08:01:00 LastBusyTime=2026-11-23T01:00:00 "
    "CfgTRES=cpu=96,mem=2063000M,billing=96,gres/gpu=8 AllocTRES=cpu=96,mem=1000G,gres/gpu=8 CapWatts=n/a "
    "CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s{reason}\n"
)


class Recorded:
    """A Remote that returns recorded output of Slurm and stores drained nodes."""

    def __init__(self, hosts: int) -> None:
        self.drained: dict[str, str] = {}
        self.sudo = False
        self._names = [f"n{number}" for number in range(1, hosts + 1)]
        self._jobs = "".join(f"{number}|RUNNING||n{number}\n" for number in range(1, hosts + 1, 4))

    def run(self, host: str, command: str, *, stdin: bytes = b"", timeout_s: float = 60) -> CommandResult:  # noqa: ARG002 (the protocol's signature)
        """Return the recorded output of a command, without delay."""
        if "squeue --noheader" in command:
            return self._done("".join(map(self._node, self._names)) + "@@\n" + self._jobs)
        if "State=DRAIN" in command:
            name = command.partition("NodeName=")[2].split(" ")[0]
            self.drained[name] = "wright: heal " + command.partition("wright: heal ")[2].split("'")[0]
        elif "State=RESUME" in command:
            self.drained.pop(command.partition("NodeName=")[2].split(" ")[0].strip("'\""), None)
        elif "scontrol show job" in command:
            return self._done("JobId=1 JobName=j Requeue=0 Restarts=0 BatchFlag=1 JobState=RUNNING \n")
        elif "scontrol show node -o" in command:
            return self._done(self._node(command.rpartition("-o ")[2].strip("'\" ")))
        return self._done("")

    def _node(self, name: str) -> str:
        reason = self.drained.get(name, "")
        told = f" Reason={reason} [root@2026-11-23T03:00:00]" if reason else ""
        return NODE.format(name=name, state="IDLE+DRAIN" if reason else "MIXED", reason=told)

    @staticmethod
    def _done(text: str) -> CommandResult:
        return CommandResult(("recorded",), 0, text, "", 0.0)


class Minutes:
    """A simulated clock, and the failed checks of each minute."""

    def __init__(self, hosts: int, verdicts: int) -> None:
        self.now_s, self._hosts, self._count, self._chance = (
            1e5,
            hosts,
            verdicts // LOOKS_A_MINUTE,
            random.Random(1),
        )

    def moment(self) -> Moment:
        """Return the simulated time."""
        return Moment("one", self.now_s)

    def check(self, _hosts: tuple[str, ...]) -> list[Verdict]:
        """Return half of a minute's verdicts; most are on hosts that were faulty before, as in practice."""
        some = self._chance.sample(range(1, self._hosts + 1), min(self._hosts, self._count * 2))
        return [
            Verdict(f"n{number}", self._chance.choice(FAILS), Status.FAIL, "recorded")
            for number in some[: self._count]
        ]


def main() -> None:
    """Measure and print the result."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--hosts", type=int, default=1000)
    asked.add_argument("--verdicts", type=int, default=200)
    asked.add_argument("--minutes", type=int, default=10)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cluster.yaml")
        file.write_text(FILE.format(hosts=given.hosts))
        _measure(load_cluster(file), Path(folder), given)


def _measure(cluster: Cluster, folder: Path, given: argparse.Namespace) -> None:
    minutes, remote = Minutes(given.hosts, given.verdicts), Recorded(given.hosts)
    policy, journal = replace(policy_of(cluster), settle_s=0.0), Journal(folder / "intents.sqlite")
    deeds = ActionRunner(
        journal, Executor(cluster, remote), policy, minutes.moment, lambda: 0.0, lambda _text: None
    )
    gatherer = Gatherer(cluster, remote, minutes.check, lambda _job: ())
    loop = Loop(journal, gatherer, deeds, policy, rules(), 300.0, lambda _text: None)
    loop.tick()  # warm-up: imports and first reads
    costs = []
    for _ in range(given.minutes):
        before = time.process_time()
        for _ in range(LOOKS_A_MINUTE):
            minutes.now_s += 60 / LOOKS_A_MINUTE
            loop.tick()
        costs.append(time.process_time() - before)
    worst, mean = max(costs), sum(costs) / len(costs)
    percent, most = 100 * mean / 60, 100 * worst / 60
    print(
        f"{given.hosts} hosts, {given.verdicts} verdicts per minute, {given.minutes} minutes: {mean:.2f} s of CPU time"
        f" per minute = {percent:.2f} % of a core (worst minute {most:.2f} %);"
        f" actions: {len(journal.entries())}, notifications: {len(journal.notifications())};"
        f" load {os.getloadavg()[0]:.0f}"
    )


if __name__ == "__main__":
    main()
