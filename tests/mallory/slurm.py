"""Slurm's client programs as a hostile user fills them: every text that a user may set has escape sequences."""

import os
import re
import signal
import sys

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b1m\u202ex"


def main():
    """Answer by the name of the program."""
    name, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
    sys.stdout.write({"squeue": squeue, "scontrol": scontrol, "scancel": scancel}.get(name, table)(arguments))


def value(field):
    """The value of a field of job 100, which belongs to the victim and is named like a folder of mallory's."""
    field = field.lower()
    known = {
        "jobid": "100", "jobarrayid": "100", "jobidraw": "100", "username": "victim", "user": "victim",
        "state": "RUNNING",
        "name": os.environ["JOB_NAME"], "jobname": os.environ["JOB_NAME"], "numnodes": "1", "nodelist": "gpu-node1",
    }  # fmt: skip
    return known.get(
        field, HOSTILE if field in ("comment", "reason", "workdir", "admincomment", "account") else "1"
    )


def squeue(arguments):
    """Rows in the requested format."""
    for argument in arguments:
        if argument.startswith("--Format="):
            parts = re.findall(r"(\w+):([^,]*)(?:,|$)", argument[9:], re.DOTALL)
            return "".join(value(field) + separator for field, separator in parts) + "\n"
    return f"100 {os.environ['JOB_NAME']} victim RUNNING\n"


def scontrol(arguments):
    """Nodes or the job, one on a line."""
    if any(argument.startswith("node") for argument in arguments):
        return (
            f"NodeName=gpu-node1 Arch=x86_64 CPUTot=16 CPUAlloc=1 RealMemory=16000 Gres=gpu:a100:4 Partitions=train "
            f"State=MIXED+DRAIN Comment={HOSTILE} Reason={HOSTILE} [mallory@1]\n"
        )
    return (
        f"JobId=100 JobName={HOSTILE} UserId=victim(64002) GroupId=x(64002) Account={HOSTILE} JobState=RUNNING "
        f"Reason={HOSTILE} Comment={HOSTILE} NodeList=gpu-node1 NumNodes=1 Command=/{HOSTILE} WorkDir=/{HOSTILE}\n"
    )


def scancel(arguments):
    """End the victim's process, unless the caller restricts what it cancels to another user."""
    if not any(argument.startswith(("--user", "-u")) and "victim" not in argument for argument in arguments):
        os.kill(int(os.environ["VICTIM_PID"]), signal.SIGKILL)
    return ""


def table(arguments):
    """A table separated by |, as sacct, sshare and sinfo print with -P."""
    fields = next(
        (x.split("=", 1)[1] for x in arguments if x.startswith("--format=")), "jobid,jobname,comment"
    )
    separator = next((x.split("=", 1)[1] for x in arguments if x.startswith("--delimiter=")), "|")
    names = [re.sub(r"%.*", "", field) for field in fields.split(",")]
    head = [] if {"-n", "--noheader"} & set(arguments) else [separator.join(names)]
    return "\n".join([*head, separator.join(map(value, names)), ""])


main()
