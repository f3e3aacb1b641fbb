"""Seconds and memory of `wright validate` and `wright render` for 4,096 GPU hosts; goals 5 s and 500 MB.

    python -m bench.scale [RUNS]

The file has four node groups and partitions and ten teams of ten. If slurmctld is installed, it is started on the
rendered files of 1,024 hosts, which do not exist, and `sinfo` must answer within a second.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WRIGHT = Path(sys.executable).with_name("wright")
GOAL_S, GOAL_MB, GOAL_SINFO_S = 5.0, 500, 1.0
GROUPS, TEAMS, MEMBERS = 4, 10, 10
CONTROL_PORT = 16817  # not that of a running Slurm
DEBIAN_12 = "22.05"  # release of this machine's slurmctld, as in the tests


def cluster_file(path: Path, hosts: int) -> Path:
    """Write a large cluster file: node groups on their own switches, teams with shares and limits."""
    each = hosts // GROUPS
    lines = [
        "name: scale",
        "os: debian-12",
        f'software: {{slurm: "{DEBIAN_12}"}}',
        "networks:",
        "  management: {subnet: 10.64.0.0/16, rate: 10Gbit/s}",
        "  compute: {kind: infiniband, subnet: 10.65.0.0/16, rate: 400Gbit/s, rails: 8, mtu: 4092}",
        "nodes:",
        "  control:",
        "    role: control",
        "    hosts: control",
        "    addresses: {management: 10.64.0.10}",
        "    cpus: {sockets: 2, cores_per_socket: 32}",
        "    memory: 256GiB",
    ]
    for group in range(GROUPS):
        first = group * each + 1
        lines += [
            f"  g{group}:",
            "    role: compute",
            f"    hosts: gpu[{first:04d}-{first + each - 1:04d}]",
            f"    addresses: {{management: 10.64.{1 + group * 16}.0, compute: 10.65.{1 + group * 16}.0}}",
            "    cpus: {sockets: 2, cores_per_socket: 56, threads_per_core: 2}",
            "    memory: 2TiB",
            "    memory_reserved: 64GiB",
            "    gpus: {model: h100, count: 8, memory: 80GiB, nvlink: true}",
            f"    switch: su{group}",
        ]
    lines += ["storage:", "  shared: {kind: nfs, path: /shared, server: filer, size: 1PB}", "partitions:"]
    names = [f"g{group}" for group in range(GROUPS)]
    lines.append(f"  train: {{nodes: [{', '.join(names)}], default: true, headroom_percent: 30}}")
    lines += [f"  p{group}: {{nodes: [g{group}], max_time: 12h, priority: 10}}" for group in range(1, GROUPS)]
    lines += [
        "teams:",
        *(f"  team{team}: {{gid: {5000 + team}, shares: {team + 1}}}" for team in range(TEAMS)),
    ]
    lines.append("users:")
    lines += [
        f"  u{team}x{member}: {{uid: {6000 + team * MEMBERS + member}, team: team{team}}}"
        for team in range(TEAMS)
        for member in range(MEMBERS)
    ]
    path.write_text("\n".join([*lines, ""]))
    return path


def measure(*argv: str | Path) -> tuple[float, float, float]:
    """Run a command; return its seconds, peak MB and CPU seconds."""
    started = time.monotonic()
    process = subprocess.Popen(list(argv), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words = process.stderr.read() if process.stderr else b""
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{argv} ended with {process.returncode}:\n{words.decode()[-2000:]}")
    return time.monotonic() - started, usage.ru_maxrss / 1000, usage.ru_utime + usage.ru_stime


def slurmctld(folder: Path) -> float:
    """Start slurmctld in a temporary folder; return the seconds of a `sinfo` that lists 1,024 hosts."""
    file = cluster_file(folder / "thousand.yaml", 1024)
    subprocess.run(
        [WRIGHT, "render", "--cluster", file, "--out", folder / "thousand"],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    conf = folder / "conf"
    for place in ("all", "roles/control", "hosts/control"):
        if (part := folder / "thousand" / place / "etc" / "slurm").is_dir():
            shutil.copytree(part, conf, dirs_exist_ok=True)
    text = (conf / "slurm.conf").read_text()
    changes = {
        "SlurmctldHost": f"{os.uname().nodename}(127.0.0.1)", "SlurmUser": "root", "AuthType": "auth/none",
        "CredType": "cred/none", "SlurmctldPort": str(CONTROL_PORT), "StateSaveLocation": f"{folder}/state",
        "SlurmctldPidFile": f"{folder}/pid", "SlurmctldLogFile": f"{folder}/log",
        "JobCompLoc": f"{folder}/jobcomp", "AccountingStorageType": "accounting_storage/none",
        "MailProg": "/bin/true",
        "PrologFlags": None, "AuthInfo": None,
    }  # fmt: skip
    refused = ("AccountingStorage", "Priority", "Preempt", "JobAcctGather")  # these need slurmdbd
    lines = [
        line
        for line in text.splitlines()
        if line.partition("=")[0] not in changes and not line.startswith(refused)
    ]
    dbd = ("QoS=", "AllowQos=", "TRESBillingWeights=")
    lines = [" ".join(word for word in line.split(" ") if not word.startswith(dbd)) for line in lines]
    lines += [f"{key}={value}" for key, value in changes.items() if value]
    (conf / "slurm.conf").write_text("\n".join([*lines, ""]))
    (folder / "state").mkdir()
    environment = os.environ | {"SLURM_CONF": str(conf / "slurm.conf")}
    daemon = subprocess.Popen(
        ["slurmctld", "-D", "-f", conf / "slurm.conf"], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        for _ in range(300):
            if daemon.poll() is not None:
                sys.exit(f"slurmctld ended:\n{(folder / 'log').read_text()[-2000:]}")
            if (
                subprocess.run(
                    ["scontrol", "ping"], env=environment, capture_output=True, check=False
                ).returncode
                == 0
            ):
                break
            time.sleep(0.1)
        started = time.monotonic()
        listed = subprocess.run(
            ["sinfo", "-N", "-h"], env=environment, capture_output=True, text=True, check=True
        )
        seconds = time.monotonic() - started
    finally:
        daemon.terminate()
        daemon.wait(timeout=30)
    if len({line.split()[0] for line in listed.stdout.splitlines()}) != 1024:
        sys.exit(f"sinfo lists other hosts:\n{listed.stdout[:500]}")
    return seconds


def main() -> None:
    """Print medians and whether the goals are met."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = cluster_file(folder / "cluster.yaml", 4096)
        print(f"4096 hosts, {GROUPS} partitions, {TEAMS} teams; {runs} runs, load {os.getloadavg()[0]:.1f}")
        for verb, *rest in (("validate", file), ("render", "--cluster", file, "--out", folder / "out")):
            rows = [measure(WRIGHT, verb, *rest) for _ in range(runs)]
            seconds, most = statistics.median(row[0] for row in rows), max(row[1] for row in rows)
            cpu = statistics.median(row[2] for row in rows)
            quick, small = (
                "met" if fits else "MISSED" for fits in (seconds <= GOAL_S, most <= GOAL_MB)
            )  # fmt: skip
            print(
                f"{verb:<9} {seconds:6.2f} s ({GOAL_S}: {quick}; CPU {cpu:.2f})  {most:6.0f} MB ({GOAL_MB}: {small})"
            )
        if shutil.which("slurmctld"):
            seconds = statistics.median(slurmctld(Path(tempfile.mkdtemp(dir=folder))) for _ in range(runs))
            word = "met" if seconds <= GOAL_SINFO_S else "MISSED"
            print(f"sinfo of 1024 hosts by the real slurmctld {seconds:.2f} s ({GOAL_SINFO_S}: {word})")


if __name__ == "__main__":
    main()
