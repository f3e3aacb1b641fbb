"""Starts the host's own slurmctld or slurmd on new files, in a scratch folder and a network namespace, and ends it.

Standard library only, Python 3.6 or later; sent alone, as text: python3 -I -c TEXT DAEMON FOLDER HOST. Exit code 0
if the daemon started, or if no trial was possible (stdout has the reason); else 1 with the daemon's errors.

It cannot verify accounts, limits and qualities of service, which would need the real slurmdbd; nor that hosts
respond; nor munge's key. The running daemons are not affected: the trial has its own ports, state, spool and pid.
"""

import ctypes
import fcntl
import os
import re
import shutil
import socket
import struct
import sys
import time
from typing import List, Optional

from clusterwright.onhost.lib import processes

# All of it took 0.25 s with 22.05, and 0.6 to 1.2 s with 22.05 to 26.05 on 2 cores with 30 processes waiting.
LIMIT_S = 6.0
UP = re.compile(r"Running as primary controller|slurmd started on")
ERROR_LINE = re.compile(r"(error|fatal): ", re.IGNORECASE)
# Printed at every start in a scratch folder, and harmless.
USUAL = re.compile(
    r"could not open|state (save )?file|may be lost|mpi|pmix|No such file.*state|Unable to (register|resolve)"
)
# A Slurm built without them needs the real munge, so there is no trial.
NO_PLUGIN = re.compile(r"(auth|cred)[/_]none")

NEW_NETWORK = 0x40000000  # CLONE_NEWNET
SET_FLAGS, SET_ADDRESS, INTERFACE_UP = 0x8914, 0x8916, 1  # SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP
TRIAL_ADDRESS = (
    "192.0.2.1"  # RFC 5737: assigned to nobody. With a loopback alone, libc resolves no name (AI_ADDRCONFIG)
)

# Parameters that need the real slurmdbd, or would act on real hosts.
DROPPED = re.compile(
    r"(AccountingStorage|AccountingStore|JobAcctGather|Priority|Preempt|Suspend|Resume|AuthInfo|AuthAlt|HealthCheck"
    r"|SlurmctldHost|Slurm(ctld|d)(LogFile|PidFile|Port)|SlurmdSpoolDir|StateSaveLocation|SlurmUser|SlurmdUser"
    r"|AuthType|CredType|JobCompLoc|Slurm(ctld|d)SyslogDebug|MailProg)\w*\s*=",
    re.IGNORECASE,
)
OF_A_NODE = re.compile(r"NodeName=(?!DEFAULT)(\S+)", re.IGNORECASE)
DROPPED_NODE_OPTIONS = re.compile(
    r" (NodeAddr|MemSpecLimit|CoreSpecCount)=\S+", re.IGNORECASE
)  # limits are set at once
BLOCK = 250  # addresses of 127.0.N.1 to 250
OF_A_PARTITION = re.compile(
    r"\s(QoS|AllowQos|DenyQos|AllowAccounts|DenyAccounts|TRESBillingWeights)=\S+", re.IGNORECASE
)


def main() -> int:
    """Start the daemon on the files of the folder (argv: DAEMON FOLDER HOST), stop it, and return a trial's exit code.

    Untried (0) if the daemon is not installed, or the host allows no network namespace; slurmd only prints its GRES
    with cgroup v2.
    """
    daemon, folder, host = sys.argv[1:4]
    program = shutil.which(daemon, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if program is None:
        return untried(f"{daemon} is not installed on this host")
    if daemon == "slurmd" and os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        argv = [
            program,
            "-G",
            "-N",
            host,
        ]  # with cgroup v2 a started slurmd creates a scope in systemd
    else:
        argv = [program, "-D", "-N", host] if daemon == "slurmd" else [program, "-D", "-c"]
    if not enter_network_namespace():
        return untried("this host does not allow a new network namespace")
    rewrite(folder)
    return watch([*argv, "-f", os.path.join(folder, "slurm.conf")], folder)


def untried(reason: str) -> int:
    """Print why a trial start of a daemon was not possible; return exit code 0, as its files are not rejected."""
    sys.stdout.write(f"no trial: {reason}\n")
    return 0


def enter_network_namespace() -> bool:
    """Move to a network namespace that has only a loopback: no port conflicts, no traffic to other hosts.

    Return False if the host does not allow it.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_NETWORK) != 0:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14s", b"lo", INTERFACE_UP, b""))
        address = struct.pack("HH4s8s", socket.AF_INET, 0, socket.inet_aton(TRIAL_ADDRESS), b"")
        fcntl.ioctl(any_socket, SET_ADDRESS, struct.pack("16s16s", b"lo:1", address))
    return True


def rewrite(folder: str) -> None:
    """Change slurm.conf in the folder for a trial: scratch paths, no munge, loopback addresses, no need of slurmdbd."""
    path = os.path.join(folder, "slurm.conf")
    with open(path) as file:
        lines = [localize_line(line) for line in file.read().splitlines() if not DROPPED.match(line)]
    for name in ("state", "spool"):
        os.mkdir(os.path.join(folder, name), 0o700)
    lines += [
        f"SlurmctldHost={short_hostname()}(127.0.0.1)",
        "SlurmUser=root",
        "AuthType=auth/none",
        "CredType=cred/none",
        "PriorityType=priority/basic",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd.pid",
        f"SlurmctldLogFile={folder}/log",
        f"SlurmdLogFile={folder}/log",
        f"JobCompLoc={folder}/jobcomp",
        "MailProg=/bin/true",
    ]
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def localize_line(line: str) -> str:
    """Return a line of slurm.conf for the trial: nodes get loopback addresses and lose reserved cores and memory.

    Partitions lose their QOS, accounts and billing weights, which need slurmdbd.
    """
    node = OF_A_NODE.match(line)
    if node:
        return DROPPED_NODE_OPTIONS.sub("", line) + " NodeAddr=" + addresses(count_of(node.group(1)))
    return OF_A_PARTITION.sub("", line)


def count_of(hostlist: str) -> int:
    """Return the number of hosts in a Slurm hostlist: `a[1-3,7],b` is 5."""
    total = 0
    for part in re.findall(r"(?:[^,\[]|\[[^]]*\])+", hostlist):
        product = 1
        for inner in re.findall(r"\[([^]]*)\]", part):
            ranges = [bounds.split("-") for bounds in inner.split(",")]
            product *= sum(int(bounds[-1]) - int(bounds[0]) + 1 for bounds in ranges)
        total += product
    return total


def addresses(count: int) -> str:
    """Return `count` loopback addresses as a hostlist, so that no name is resolved.

    Some builds of Slurm require an address of its own for each node.
    """
    blocks = [(number, min(BLOCK, count - number * BLOCK)) for number in range(-(-count // BLOCK))]
    return ",".join(f"127.0.{number}.[1-{size}]" for number, size in blocks)


def short_hostname() -> str:
    """Return the host name up to its first dot, as slurmctld uses it."""
    return socket.gethostname().split(".")[0]


def watch(argv: List[str], folder: str) -> int:
    """Start a daemon as a trial until it is up, ends or reaches LIMIT_S; kill it, and return the trial's exit code.

    0 if it came up, or with -G exited with code 0; else that of `refused`. `folder` gets its output.
    """
    with open(os.path.join(folder, "said"), "wb") as output_file:
        process = processes.start(argv, stdout=output_file, stderr=output_file, start_new_session=True)
    limit = time.monotonic() + LIMIT_S
    try:
        while time.monotonic() < limit:
            code = process.poll()
            if UP.search(read_output(folder)):
                return 0
            if code is not None:
                return (
                    0 if code == 0 and "-G" in argv else refused(folder, f"{argv[0]} exited with code {code}")
                )
            time.sleep(0.02)
        return refused(folder, f"{argv[0]} was not up after {LIMIT_S:g} s")
    finally:
        # SIGKILL: on SIGTERM slurmd would clean up control groups of the real one.
        processes.kill_group(process)


def read_output(folder: str) -> str:
    """Return what the daemon has printed and logged so far."""
    texts = []  # type: List[str]
    for name in ("said", "log"):
        text = read(os.path.join(folder, name))
        if text:
            texts.append(text)
    return "\n".join(texts)


def read(path: str) -> Optional[str]:
    """Return a file's text, or None if it cannot be read."""
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return None


def refused(folder: str, reason: str) -> int:
    """Print the errors of a daemon that a trial started, then the reason, and return exit code 1.

    Errors are deduplicated and without those that every trial prints. If this Slurm cannot run without munge, there was
    no trial: print that and return 0.
    """
    output_lines = [
        re.sub(r"^(\[[^]]*\]|slurm\w*:) *", "", line) for line in read_output(folder).splitlines()
    ]
    bad = list(
        dict.fromkeys(line for line in output_lines if ERROR_LINE.search(line) and not USUAL.search(line))
    )
    if any(NO_PLUGIN.search(line) for line in bad):
        return untried("this Slurm has no auth/none plugin")
    sys.stdout.write("\n".join([*(bad or output_lines)[-12:], reason]) + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
