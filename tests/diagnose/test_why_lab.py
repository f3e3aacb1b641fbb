"""`wright why` on a real cluster: jobs that wait for each reason, jobs that died, hosts that are out."""

import shlex
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.job import Job
from clusterwright.diagnose.gather.queue import gather_facts
from clusterwright.diagnose.pending import explain
from clusterwright.diagnose.subjects import ended_job, host
from clusterwright.errors import WrightError
from clusterwright.i18n import in_language
from clusterwright.launch.events import RemoteReader
from clusterwright.launch.events import wait as wait_for
from clusterwright.launch.submission import submit

NOTHING = {"before": [], "meanwhile": [], "undo": [], "by": "user"}
WAITS = [
    SimpleNamespace(**NOTHING | one)
    for one in YAML(typ="safe").load(Path(__file__).with_name("waits.yaml").read_text())
]

pytestmark = [pytest.mark.lab, pytest.mark.core, pytest.mark.timeout(600)]

CHANGES = {
    "hosts: gpu-node[1-4]": "hosts: gpu-node[1-2]",
    "  node_timeout: 15s": (
        "  node_timeout: 15s\n  kill_wait: 2s\n  options:\n    Licenses: matlab:2\n    SchedulerParameters: "
        "sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1"
    ),
    "  train: {nodes: [a100], default: true, max_time: 1d}": (
        "  train: {nodes: [a100], default: true, max_time: 1d}\n  quick: {nodes: [a100], max_time: 30m, max_nodes: 1}"
    ),
}
PROLOG = "P=$(scontrol show config | awk '/^Prolog /{print $3}')"
# What cannot be said in a table: slurmd's prolog fails once it is told to.
SPECIAL = {
    "@bad-prolog": ("gpu-node1", f"{PROLOG}; cp -a $P $P.kept; echo 'exit 1' > $P"),
    "@good-prolog": ("gpu-node1", f"{PROLOG}; mv $P.kept $P"),
}


class Site:
    """The lab, and its users' jobs."""

    def __init__(self, stands):
        self.stands, self.name = stands, stands.cluster.name

    def root(self, command, host="control"):
        """A command of root's."""
        return self.stands.sh(host, command).strip()

    def submit(self, user, options, script="sleep 300"):
        """The id of a job."""
        inner = f"cd /tmp && sbatch --parsable -o /dev/null {options} --wrap {shlex.quote(script)}"
        return self.root(f"runuser -u {user} -- sh -c {shlex.quote(inner)}").split(";")[0]

    def until(self, what, holds, limit_s=30):
        """What is said in the end; `holds` must be true of it in time."""
        end = time.monotonic() + limit_s
        while not holds(said := what()):
            assert time.monotonic() < end, said
            time.sleep(0.15)
        return said

    def state(self, job):
        """State and reason of a job; of an array, one line a task."""
        return self.root(f"squeue -h -r -t all -j {job} -o '%T %r'")

    def clear(self):
        """No job is left, and each host takes some."""
        self.root("for user in alice bob; do scancel -f --user=$user; done; true")
        self.until(lambda: self.root("squeue -h"), lambda said: not said)

    def do(self, text, **names):
        """A command of root's, a job of somebody's that runs, or one of what is special."""
        if text in SPECIAL:
            host, command = SPECIAL[text]
            return self.root(command, host)
        who, colon, options = text.partition(": ")
        if not colon or not who.startswith(("alice", "bob")):
            return self.root(text.format(**names))
        user, _, script = who.rstrip("+").partition("/")
        job = self.submit(user, options, script or "sleep 300")
        wanted = "PENDING" if who.endswith("+") else "COMPLETED" if script else "RUNNING"
        self.until(lambda: self.state(job), lambda said: said.startswith(wanted))
        return job


@pytest.fixture(scope="module")
def lab_site(tmp_path_factory, example_lab):
    """Two compute hosts with accounting, limits enforced, licenses, and a scheduler that looks every second."""
    with example_lab(tmp_path_factory.mktemp("why"), "why-tests", "10.245", CHANGES) as stands:
        yield Site(stands)


@pytest.fixture
def site(lab_site):
    """No job of another test's."""
    lab_site.clear()
    yield lab_site
    lab.undo(lab_site.name, "all")


@pytest.fixture
def wait(site, request):
    """One way to wait, brought about, and taken back in the end."""
    one = request.param
    first = ""
    try:
        for text in one.before:
            first = site.do(text, first=first) or first
        job = site.submit("bob", one.job.format(first=first) + (" --hold" if one.meanwhile else ""))
        if "@requeue" in one.meanwhile:
            site.root(f"scontrol release {job}")
            site.until(lambda: site.state(job), lambda said: said.startswith("RUNNING"))
            site.root(f"scontrol requeue {job}")
        elif one.meanwhile:
            for text in one.meanwhile:
                site.do(text, job=job)
            if not any("{job}" in text for text in one.meanwhile):
                site.root(f"scontrol release {job}")
        yield one, job
    finally:
        site.clear()
        for text in one.undo:
            site.do(text)


def running(said, at_least):
    """So many tasks run."""
    return said.count("RUNNING") + said.count("COMPLETED") >= at_least


@pytest.mark.parametrize("wait", WAITS, ids=lambda one: f"{one.id}-{one.reason}", indirect=True)
def test_why_it_waits_is_explained_and_the_change_starts_it(site, wait):
    """The reason in plain words, and one command that is run as it is printed; then the job runs."""
    one, job = wait

    def explained():
        return explain(gather_facts(site.stands.remote, "control", job))

    said = site.until(explained, lambda said: said.reason.startswith(one.reason) and said.id == one.id)
    assert said.change is not None
    assert (one.change in said.change.command, said.change.by) == (True, one.by), said.change
    user = "bob" if said.change.by == "user" else "root"
    site.root(f"runuser -u {user} -- sh -c {shlex.quote(said.change.command)}")
    site.until(lambda: site.state(job), lambda now: running(now, 1 + ("array" in one.id)))


def program(site, text):
    """A Python program on the folder that all hosts see."""
    site.root(
        f"mkdir -p /shared/why && cat > /shared/why/train.py <<'END'\n{text}\nEND\nchmod -R a+rwX /shared/why"
    )
    return "python3 /shared/why/train.py"


def batch(
    site, options, script, ends=("FAILED", "OUT_OF_MEMORY", "NODE_FAIL", "CANCELLED", "TIMEOUT"), limit_s=60
):
    """Bob's job when it is over."""
    inner = f"cd /shared/why && sbatch --parsable {options} --wrap {shlex.quote(script)}"
    job = site.root(f"runuser -u bob -- sh -c {shlex.quote(inner)}")
    site.until(lambda: site.state(job), lambda said: said.startswith(ends), limit_s)
    return job


def first(site, job):
    """The likeliest diagnosis of a job, as `wright why JOB` says it."""
    return ended_job(job, site.stands.cluster, site.stands.remote)[0]


RAISES = """
import atexit, os, time
atexit.register(time.sleep, 1)  # srun drops what a task has said in its last moment, once it kills a step
time.sleep(0.5)
if os.environ["SLURM_PROCID"] == "1":
    {"loss": 1.0}["los"]
time.sleep(60)
"""


def test_an_exception_of_one_rank_is_the_cause(site):
    """Two ranks: one raises, the other is killed by srun."""
    script = f"srun --label --kill-on-bad-exit=1 {program(site, RAISES)}"
    said = first(site, batch(site, "-N2 --ntasks-per-node=1", script))

    assert said.kind == "user-code", said
    assert "KeyError: 'los'" in said.evidence[0].text
    assert "slurm-" in said.evidence[0].source


def submitted(site, text, **recovery):
    """A run of two hosts with one rank each, as `wright train` submits it."""
    program(site, text)
    known = "scontrol show assoc_mgr users=bob flags=users"  # slurmctld hears of users some seconds after it began
    site.until(lambda: site.root(known), lambda said: "UserName=bob" in said, 60)
    plain = {"name": "why", "command": ["/shared/why/train.py"], "nodes": 2, "time": "10m", "user": "bob"}
    wish = Job.model_validate({**plain, "recovery": recovery}, strict=False)
    return submit(wish, site.stands.cluster, site.stands.remote)


DIES = """
import os, time
time.sleep(1)
if os.environ["RANK"] == "1":
    open("/shared/why/shard-00007.bin")
time.sleep(600)
"""


def test_a_training_that_dies_is_judged(site):
    """`wright train` on two hosts: the rank that died first, by its own words, and not those that were ended then."""
    run = submitted(site, DIES, restarts=0)
    there = RemoteReader(site.stands.remote, site.stands.cluster.control.name)
    try:
        end = wait_for(run, there, limit_s=300)
    except WrightError:
        pytest.fail(
            site.root(f"tail -n 30 {run.folder}/slurm-*.out {run.folder}/logs/agents.log; squeue; sinfo")
        )
    said = ended_job(Path(run.folder).name, site.stands.cluster, site.stands.remote)

    assert end.outcome == "failed"
    assert (said[0].kind, said[0].mode) == ("user-code", "user-code/file-not-found"), said
    assert "/shared/why/shard-00007.bin" in said[0].evidence[0].text
    assert said[0].subject.get("host") == "gpu-node2", said[0]


STANDS = """
import os, sys, time
sys.path.insert(0, "/shared/why/torch")

def load():
    time.sleep(600)

if os.environ["RANK"] == "1":
    load()
from distributed import distributed_c10d
distributed_c10d.barrier()
"""


def test_a_training_that_stands_still_is_asked_while_it_runs(site):
    """The rank that others wait for is named, with its own line."""
    program(site, "")
    site.root("mkdir -p /shared/why/torch/distributed && touch /shared/why/torch/distributed/__init__.py")
    waits = "import time\n\n\ndef barrier():\n    time.sleep(600)\n"
    site.root(f"printf %s {shlex.quote(waits)} > /shared/why/torch/distributed/distributed_c10d.py")
    run = submitted(site, STANDS, hang="never")
    name = Path(run.folder).name

    def asked():
        found = ended_job(name, site.stands.cluster, site.stands.remote)
        return next((one for one in found if one.mode == "user-code/rank-behind"), None)

    said = site.until(asked, lambda one: one is not None, 120)

    assert said.subject["host"] == "gpu-node2", said
    assert "train.py:6 (load)" in said.evidence[0].text


def test_a_step_over_its_memory_is_host_oom(site):
    """The kernel kills it, for its cgroup's limit."""
    command = program(site, "import time\nheld = bytearray(400 << 20)\ntime.sleep(30)")
    said = first(site, batch(site, "-N1 --mem=100M", f"srun {command}"))

    assert said.kind == "host-oom"


def test_a_host_that_dies_is_the_cause(site):
    """Power is cut under a job of two hosts; the host is then asked about as well."""
    program(site, "")
    job = site.do("bob: -N2 --no-requeue -t 60")
    lab.fault(site.name, "kill-host", "gpu-node2")
    site.until(lambda: site.state(job), lambda said: said.startswith(("NODE_FAIL", "FAILED")), 90)
    said = first(site, job)
    node = host("gpu-node2", site.stands.cluster, site.stands.remote)[0]
    lab.undo(site.name, "all")
    site.stands.rest()

    assert (said.kind, node.kind) == ("node-lost", "node-lost")
    assert "gpu-node2" in str(said)
    assert (node.exclude, node.subject) == ("gpu-node2", {"host": "gpu-node2"})


def test_a_lost_gpu_is_why_its_host_is_drained(site):
    """The health program drains the host; `wright why HOST` says the GPU, with the kernel's line."""
    lab.fault(site.name, "gpu-lost", "gpu-node1", gpu="1")
    site.root("/etc/slurm/clusterwright/health; true", "gpu-node1")
    site.until(lambda: site.root("sinfo -hN -n gpu-node1 -o %T"), lambda said: "drain" in said)
    said = host("gpu-node1", site.stands.cluster, site.stands.remote)[0]
    lab.undo(site.name, "all")
    site.root("scontrol update nodename=gpu-node1 state=resume")

    assert (said.kind, said.mode, said.exclude) == ("gpu-hardware", "node/health", "gpu-node1")
    assert any("79" in line.text for line in said.evidence[1:]), said.evidence


def test_a_person_who_drained_a_host_is_named(site):
    """Nothing is wrong with it, as far as anybody but the person knows."""
    site.root("scontrol update nodename=gpu-node2 state=drain reason='new fans on Monday'")
    drained = host("gpu-node2", site.stands.cluster, site.stands.remote)[0]
    site.root("scontrol update nodename=gpu-node2 state=resume")
    site.until(lambda: site.root("sinfo -hN -n gpu-node2 -o %T"), lambda said: said.split()[0] == "idle")
    with in_language("zh"):
        back = host("gpu-node2", site.stands.cluster, site.stands.remote)[0]

    assert (drained.kind, drained.mode) == ("other", "node/person")
    assert "new fans on Monday" in drained.cause
    assert "state=resume" in drained.fix
    assert (back.mode, back.role) == ("node/in-service", "benign")
