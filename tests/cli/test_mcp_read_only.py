"""No tool of `wright mcp` changes anything: every process of every call is recorded while it runs."""

import asyncio
import hashlib
import json
import os
from pathlib import Path

import pytest

from clusterwright.cli._mcp_tools import TOOLS, input_schema

pytest.importorskip("mcp")

from clusterwright.cli._mcp_server import Scope, run_tool

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN = "count-20261121-120000"
WORK = {"model": "llama3-70b", "gpu": "h100", "gpus": 64, "seq": 8192, "global_batch": 64}
CALLS = {
    "plan_size": {"model": "llama3-8b", "gpu": "h100", "tokens": "1e9", "deadline": "30d"},
    "plan_search": WORK,
    "plan_explain": WORK | {"tp": 8},
    "plan_fabric": {"nodes": 16},
    "plan_cost": {"gpu": "h100", "nodes": 4},
    "validate": {"file": "job.yaml", "cluster": "cluster.yaml"},
    "explain": {"topic": "gres-mismatch"},
    "jobs": {},
    "status": {"job": f"runs/{RUN}"},
    "logs": {"job": f"runs/{RUN}"},
    "why": {"sources": [f"runs/{RUN}"]},
    "top": {},
    "report_job": {"job": f"runs/{RUN}"},
    "report_team": {"name": "vision"},
    "report_cluster": {},
}
ON_CLUSTER = [
    ("status", {"job": "12"}),
    ("logs", {"job": "12"}),
    ("why", {"sources": ["12"]}),
    ("why", {"sources": ["gpu1"]}),
    ("report_job", {"job": "12"}),
]
HOSTILE = (
    "--html=out.html",
    "--csv=out.csv",
    "--out=out",
    "-o",
    "--metrics=out.prom",
    "out.html",
    "$(touch out)",
)

# Audit events of Python (PEP 578) that change a file system, or reach another machine.
RECORDER = """
import os, sys
LOG = os.open({log!r}, os.O_WRONLY | os.O_APPEND)
CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown",
           "os.truncate", "os.utime", "os.setxattr", "shutil.", "sqlite3.connect", "socket.connect", "socket.bind")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def hook(event, arguments):
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES:
        if isinstance(arguments[0], str) and arguments[0] not in ("/dev/null", "/dev/tty"):
            os.write(LOG, ("open %r\\n" % (arguments[0],)).encode())
    elif event == "socket.connect" and arguments[1] in (("127.0.0.1", 9090), ("127.0.0.1", 9093)):
        pass  # Prometheus and Alertmanager of the control host, which are queried there
    elif event.startswith(CHANGES) and not str(arguments[0]).startswith("/dev/null/"):
        os.write(LOG, ("%s %r\\n" % (event, arguments)).encode())
sys.addaudithook(hook)
"""
READING = ("squeue", "sacct", "sinfo", "sshare", "sprio", "sstat", "sdiag")
SHOWING = ("scontrol", "sacctmgr")  # only with `show` or `list`
CHANGING = ("scancel", "sbatch", "srun", "salloc", "scrontab", "strigger")
SSH = '#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done\nshift 2\nexec sh -c "$*"\n'
SLURM = '#!/bin/sh\necho "$(basename "$0")" $(echo "$*") >> {log}\n'


class Site:
    """A folder of an operator, a cluster whose ssh and Slurm are recorders, and what was recorded."""

    def __init__(self, base):
        self.folder, self.slurm, self.python = base / "site", base / "slurm.log", base / "python.log"
        self.base, programs, hook = base, base / "bin", base / "hook"
        for path in (self.folder / "runs" / RUN / "events", programs, hook, base / "home", base / "tmp"):
            path.mkdir(parents=True)
        self.slurm.touch()
        self.python.touch()
        (self.folder / "cluster.yaml").write_bytes((EXAMPLES / "university/cluster.yaml").read_bytes())
        (self.folder / "job.yaml").write_bytes((EXAMPLES / "university/resnet.yaml").read_bytes())
        run = self.folder / "runs" / RUN
        (run / "job.json").write_text('{"local": true, "name": "count"}')
        (run / "job.out").write_text("torch.cuda.OutOfMemoryError: CUDA out of memory.\n")
        (run / "ended.json").write_text(json.dumps({"outcome": "failed", "code": 1, "reason": "x"}))
        start = {"time": 1, "event": "job_start", "job_id": "7", "hosts": ["a"], "ranks": 2}
        end = {"time": 11, "event": "job_end", "outcome": "failed"}
        (run / "events" / "a.jsonl").write_text(f"{json.dumps(start)}\n{json.dumps(end)}\n")
        (hook / "sitecustomize.py").write_text(RECORDER.format(log=str(self.python)))
        for name in ("ssh", *READING, *SHOWING, *CHANGING):
            text = SSH if name == "ssh" else SLURM.format(log=self.slurm)
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": f"{hook}:{os.environ.get('PYTHONPATH', '')}",
            "HOME": str(base / "home"),
            "TMPDIR": str(base / "tmp"),
        }

    def call(self, name, values):
        """Run one call to its end."""
        tool = next(tool for tool in TOOLS if tool.name == name)
        return asyncio.run(run_tool(tool, values, Scope(self.folder, None)))

    def state(self):
        """Each path below the folder, the home and the temporary folder, with content and mode."""
        paths = [path for part in ("site", "home", "tmp") for path in (self.base / part).rglob("*")]
        return {
            str(path): (
                path.stat().st_mode,
                hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            )
            for path in paths
        }


@pytest.fixture
def site(tmp_path, monkeypatch):
    """The folder, with the environment of the recorders."""
    site = Site(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    for name, value in site.environment.items():
        monkeypatch.setenv(name, value)
    return site


def is_reading(line):
    """Whether a command of Slurm changes nothing."""
    name, *words = line.split()
    if (name, words) == ("srun", ["--mpi=list"]):  # lists plug-ins and starts nothing
        return True
    return name in READING or (name in SHOWING and bool({"show", "list", "ping"} & set(words)))


def test_the_recorder_sees_a_change(site):
    """A file that a command writes, and a program of Slurm, are recorded; else the tests here would prove nothing."""
    from clusterwright.cli._mcp_tools import Tool

    init = Tool("init", hidden=("template",))
    asyncio.run(run_tool(init, {}, Scope(site.base / "tmp", None)))

    assert "cluster.yaml" in site.python.read_text()
    site.call("jobs", {})

    assert "squeue" in site.slurm.read_text()


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_a_call_changes_nothing(site, tool):
    """No process of it opens a file to write, changes a path, connects elsewhere, or does more than query Slurm."""
    before = site.state()
    result = site.call(tool, CALLS[tool])

    assert "exit code 2" not in result.content[0].text, result
    assert site.state() == before
    assert site.python.read_text() == ""
    assert [line for line in site.slurm.read_text().split("\n") if line and not is_reading(line)] == []


@pytest.mark.parametrize(("tool", "values"), ON_CLUSTER, ids=str)
def test_a_call_about_the_cluster_changes_nothing(site, tool, values):
    """The programs on the host are recorded, too."""
    before = site.state()
    site.call(tool, values)

    assert site.state() == before
    assert site.python.read_text() == ""
    assert [line for line in site.slurm.read_text().split("\n") if line and not is_reading(line)] == []


@pytest.mark.parametrize(
    "tool", [tool for tool in TOOLS if tool.name != "plan_search"], ids=lambda tool: tool.name
)
def test_no_value_makes_a_call_write(site, tool):
    """Each text parameter with what would be an option, a path to write or a shell's command."""
    before = site.state()
    for name, schema in input_schema(tool)["properties"].items():
        if schema.get("type") in ("string", "array"):
            value = list(HOSTILE) if schema["type"] == "array" else HOSTILE[len(name) % len(HOSTILE)]
            site.call(tool.name, CALLS[tool.name] | {name: value})

    assert site.state() == before
    assert site.python.read_text() == ""
    assert [line for line in site.slurm.read_text().split("\n") if line and not is_reading(line)] == []
