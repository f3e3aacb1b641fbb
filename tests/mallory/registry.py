"""One entry for each command: how it meets a hostile user, or why it reads nothing that a user writes."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Attack:
    """Command lines to run against each hostile run, with {run}, {folder} and {out}; `once`: against all at once."""

    lines: tuple[str, ...] = ()
    once: tuple[str, ...] = ()


@dataclass(frozen=True)
class Nothing:
    """The command reads nothing that a user of the cluster writes, for this reason."""

    reason: str = field(default="")


OWN_FILES = Nothing("reads the operator's own files and the catalog")
HOSTS = Nothing(
    "changes hosts through the agent, which reads root's own files; tried on labs in tests/provision"
)
LAB = Nothing("virtual hosts of the operator on this machine")
BENCH = Nothing("its job runs as the operator, in a folder of the operator's")

REGISTRY = {
    "add-hosts": HOSTS,
    "adopt": Nothing(
        "reads root's own files of Slurm and the kernel's tables, and writes a file of the operator"
    ),
    "apply": HOSTS,
    "bench burn-in": BENCH,
    "bench collectives": BENCH,
    "bench compare": BENCH,
    "bench gpu": BENCH,
    "bench list": BENCH,
    "bench loader": BENCH,
    "bench memory": BENCH,
    "bench network": BENCH,
    "bench rdma": BENCH,
    "bench storage": BENCH,
    "bench training": BENCH,
    "bios apply": HOSTS,
    "bios show": HOSTS,
    "bundle": OWN_FILES,
    "cancel": Attack(lines=("cancel {run}", "cancel {folder}")),
    "check": Nothing(
        "its facts are root's files, the kernel and Slurm's own records; tried on labs in tests/check"
    ),
    "checkpoints convert": Attack(lines=("checkpoints convert {folder} {out}/model --to torch",)),
    "checkpoints list": Attack(
        lines=("checkpoints list {folder}", "checkpoints list {run} --cluster {file}")
    ),
    "checkpoints verify": Attack(lines=("checkpoints verify {folder}", "checkpoints verify {folder} --all")),
    "curves": Attack(lines=("curves {folder} --html {out}/curves.html", "curves {run} --json")),
    "completion": Nothing("prints the names of commands and options"),
    "demo": LAB,
    "dev": Nothing("starts a job of its user"),
    "dev list": Attack(once=("dev list",)),
    "dev stop": Nothing("cancels a job of its user by id"),
    "diff": HOSTS,
    "explain": OWN_FILES,
    "export": OWN_FILES,
    "guide": Nothing("runs commands of this list in the folder of its user"),
    "heal": Nothing("its findings are tried in tests/heal; folders of runs are read as by `jobs`"),
    "heal approve": Nothing("reads root's own database"),
    "heal log": Nothing("reads root's own database"),
    "heal undo": Nothing("reads root's own database"),
    "heal watch": Nothing("reads the journal of root's service"),
    "image build": OWN_FILES,
    "init": OWN_FILES,
    "jobs": Attack(once=("jobs", "jobs --json")),
    "kubernetes": OWN_FILES,
    "lab campaign": LAB,
    "lab down": LAB,
    "lab fault": LAB,
    "lab shell": LAB,
    "lab status": LAB,
    "lab up": LAB,
    "lint": OWN_FILES,
    "logs": Attack(lines=("logs {folder}", "logs {run}", "logs {run} --json")),
    "mcp": Nothing("runs commands of this list; its output is tried in tests/cli/test_mcp.py"),
    "plan catalog": OWN_FILES,
    "plan claims": OWN_FILES,
    "plan cost": OWN_FILES,
    "plan expect": OWN_FILES,
    "plan explain": OWN_FILES,
    "plan fabric": OWN_FILES,
    "plan gradients": OWN_FILES,
    "plan power": OWN_FILES,
    "plan predict": OWN_FILES,
    "plan search": OWN_FILES,
    "plan size": OWN_FILES,
    "plan storage": OWN_FILES,
    "plugins": OWN_FILES,
    "remove-hosts": HOSTS,
    "render": OWN_FILES,
    "report cluster": Attack(
        once=("report cluster", "report cluster --csv {out}/month.csv --html {out}/month.html")
    ),
    "report job": Attack(
        lines=("report job {folder}", "report job {run} --csv {out}/job.csv --html {out}/job.html")
    ),
    "report team": Attack(once=("report team vision",)),
    "rollback": HOSTS,
    "schema": OWN_FILES,
    "simulate": Nothing("reads accounting records; names of jobs are tried in tests/cli/test_simulate.py"),
    "state recover": Nothing("reads the key and receipts of root from the hosts"),
    "status": Attack(
        lines=("status {folder}", "status {run}", "status {run} --json", "status {run} --metrics")
    ),
    "top": Attack(once=("top --batch", "top --json")),
    "train": Nothing("submits a job of its user; its logs are read as by `logs`"),
    "tune network": BENCH,
    "tune training": BENCH,
    "upgrade": HOSTS,
    "validate": OWN_FILES,
    "web": Nothing("the same snapshot as `top`; its pages are tried in tests/monitor/web"),
    "why": Attack(lines=("why {folder}", "why {run}"), once=("why 100", "why gpu-node1")),
}
