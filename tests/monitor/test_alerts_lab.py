"""Monitoring as `apply` makes it: faults are planted on a lab, and what receivers get is read, with its time.

And dashboards: each of their questions is asked of that Prometheus while jobs run and a training tells of itself.
"""

import json
import shlex
import time
from itertools import pairwise
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.job import Job
from clusterwright.launch.submission import submit

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
TELLING = Path(__file__).with_name("telling.py")
NAME, NET, PORT = "alerts", "10.219", 18202
ADDRESS = f"{NET}.0.254"  # this machine's, on the network of management
SECTION = """monitoring:
  prometheus: true
  receivers:
    program: {{kind: webhook, url: "http://{address}:{port}/hook"}}
    room: {{kind: wecom, secret_file: {secret}, severity: critical}}
  notify: [program, room]
"""
# A run's folder as the runtime leaves it: a step each half second, then none, while its supervisor goes on.
RUN = """
import json, os, sys, time
folder, steps = sys.argv[1], int(sys.argv[2])
os.makedirs(folder + "/events")
open(folder + "/job.json", "w").write(json.dumps({"submitted": time.time(), "job": {"name": "made"}}))
end = time.time() + 600
for step in range(1, 1200):
    open(folder + "/pulse", "w").close()
    if step <= steps:
        with open(folder + "/events/rank0.jsonl", "a") as file:
            told = {"event": "step", "time": time.time(), "step": step, "seconds": 0.5, "loss": 2.0}
            file.write(json.dumps(told) + "\\n")
    time.sleep(0.5)
"""


@pytest.fixture(scope="module")
def stands(example_lab, tmp_path_factory, receiving):
    """One control host and two with four GPUs each, with Prometheus and a receiver on this machine."""
    folder = tmp_path_factory.mktemp("lab")
    secret = folder / "room"
    secret.write_text(f"http://{ADDRESS}:{PORT}/room\n")
    secret.chmod(0o600)
    section = SECTION.format(address=ADDRESS, port=PORT, secret=secret)
    changes = {
        "gpu-node[1-4]": "gpu-node[1-2]",
        "# monitoring: {node_exporter: true, prometheus: true, retention: 30d}\n": section,
    }
    with example_lab(folder, NAME, NET, changes) as site, receiving.http_receiver(ADDRESS, PORT) as inbox:
        ask(site, "count(up{job='alive'} == 1) == 3")
        yield site, inbox


def ask(site, query, limit_s=120):
    """The first answer of Prometheus that is not empty."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        done = site.remote.run("control", f"promtool query instant http://127.0.0.1:9090 {json.dumps(query)}")
        if done.ok and done.out.strip():
            return done.out
        time.sleep(1)
    raise AssertionError(f"{query}: nothing in {limit_s} s")


def pages(inbox, since, path="/hook"):
    """Alerts that began to fire and were told since then: (name, node, when)."""
    return [
        (one["labels"]["alertname"], one["labels"].get("node", ""), got["at"])
        for got in list(inbox.got)
        if got["path"] == path and got["at"] > since and got["taken"]
        for one in got["body"]["alerts"]
        if one["status"] == "firing"
    ]


def first(inbox, name, since, limit_s=90):
    """When it was told first."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if found := [at for alert, _node, at in pages(inbox, since) if alert == name]:
            return min(found)
        time.sleep(0.2)
    raise AssertionError(f"{name} was not told in {limit_s} s; {pages(inbox, since)}")


@pytest.mark.parametrize(
    ("kind", "host", "options", "alert"),
    [
        ("kill-host", "gpu-node2", {}, "NodeDown"),
        ("gpu-hot", "gpu-node1", {"gpu": "1"}, "GpuTooHot"),
        ("gpu-lost", "gpu-node1", {"gpu": "2"}, "GpuXidFatal"),
        ("fill-disk", "gpu-node1", {}, "DiskFull"),
        ("link-down", "gpu-node1", {"network": "compute"}, "LinkDown"),
    ],
)
def test_a_fault_is_told(stands, record_property, kind, host, options, alert):
    """To both receivers, by the name of the host."""
    inbox = stands[1]
    since = time.time()
    lab.fault(NAME, kind, host, **options)
    planted = time.time()
    try:
        seconds = first(inbox, alert, since) - planted
        room = inbox.until(
            lambda one: one["path"] == "/room" and one["at"] > since and host in str(one["body"]), 30
        )
    finally:
        lab.undo(NAME, "all")
    record_property("seconds", round(seconds, 1))

    assert seconds < 90  # docs/log.md has the figures of a quiet machine: under 30 s
    assert room, "the room was not told"
    assert {node for name, node, _at in pages(inbox, since) if name == alert} == {host}


@pytest.fixture(scope="module", autouse=True)
def stalled(stands):
    """When a run's steps stop, though its supervisor goes on; it stalls while other tests plant their faults."""
    site, _inbox = stands
    site.remote.run("control", "cat >/root/made.py", stdin=RUN.encode())
    site.sh("control", "systemd-run -q --unit made-run python3 /root/made.py /shared/runs/made-1 40")
    yield time.time() + 20  # 40 steps of half a second
    site.sh("control", "systemctl stop made-run; rm -rf /shared/runs/made-1")


def test_a_training_that_stalls_is_told(stands, stalled, record_property):
    """Its supervisor is alive and its steps have stopped; the folder is written as the runtime would."""
    seconds = first(stands[1], "JobStalled", stalled, 150) - stalled
    record_property("seconds", round(seconds, 1))

    assert 10 < seconds < 100


@pytest.mark.long
def test_a_thousand_repeats_of_one_fault_make_one_page(stands):
    """A driver that says the same XID over and over; whatever is told later adds something that was not told."""
    _site, inbox = stands
    since = time.time()
    try:
        lab.fault(
            NAME, "gpu-slow", "gpu-node2", gpu="1"
        )  # with its undo the driver says that the GPU was reset
        for _ in range(1000):
            lab.fault(NAME, "gpu-xid", "gpu-node2", gpu="1", xid="62")
        first(inbox, "GpuXidFatal", since)
        time.sleep(20)  # one more round of what is added to an incident
        told = [
            page["body"]["alerts"]
            for page in list(inbox.got)
            if page["path"] == "/hook" and page["at"] > since
        ]
    finally:
        lab.undo(NAME, "all")
    of_host = [[name_of(alert) for alert in alerts if alert["status"] == "firing"] for alerts in told]
    pages_of_it = [names for names in of_host if "GpuXidFatal gpu-node2 1" in names]

    assert pages_of_it[0].count("GpuXidFatal gpu-node2 1") == 1
    assert all(set(new) - set(old) for old, new in pairwise(pages_of_it))


def name_of(alert):
    """What it is, on which host and GPU."""
    return " ".join(alert["labels"].get(name, "") for name in ("alertname", "node", "gpu"))


def test_what_begins_while_a_receiver_is_away_is_told_when_it_is_back(stands):
    """It refuses whatever comes, as a program that is being restarted does."""
    _site, inbox = stands
    since, inbox.status = time.time(), 503
    try:
        lab.fault(NAME, "gpu-hot", "gpu-node1", gpu="3")
        refused = inbox.until(
            lambda one: one["path"] == "/hook" and one["at"] > since and "GpuTooHot" in str(one)
        )
        missed, inbox.status = pages(inbox, since), 200
        first(inbox, "GpuTooHot", since)
    finally:
        inbox.status = 200
        lab.undo(NAME, "all")

    assert refused
    assert [page for page in missed if page[0] == "GpuTooHot"] == []


@pytest.mark.long
def test_prometheus_that_is_gone_is_told(stands, record_property):
    """By the program that hears its heart beat, when three beats are missed; and it is over when it is back."""
    site, inbox = stands
    since = time.time()
    site.sh("control", "systemctl stop prometheus")
    try:
        seconds = first(inbox, "MonitoringSilent", since, 240) - since
    finally:
        site.sh("control", "systemctl start prometheus")
    over = inbox.until(
        lambda one: (
            "MonitoringSilent" in str(one["body"]) and "'resolved'" in str(one["body"]) and one["at"] > since
        ),
        120,
    )
    record_property("seconds", round(seconds, 1))

    assert 30 < seconds < 240
    assert over, "that it is back was not told"


def test_a_host_that_a_person_drained_is_mute(stands):
    """Until it is given back: then its fault is told, for it is still there."""
    site, inbox = stands
    site.sh("control", "scontrol update nodename=gpu-node2 state=drain reason='new fans'")
    since = time.time()
    try:
        ask(site, "ALERTS{alertname='Drained',node='gpu-node2',alertstate='firing'}")
        lab.fault(NAME, "gpu-hot", "gpu-node2", gpu="0")
        ask(site, "ALERTS{alertname='GpuTooHot',node='gpu-node2',alertstate='firing'}")
        time.sleep(12)
        quiet = pages(inbox, since)
        site.sh("control", "scontrol update nodename=gpu-node2 state=resume")
        told = first(inbox, "GpuTooHot", since)
    finally:
        lab.undo(NAME, "all")
        site.remote.run("control", "scontrol update nodename=gpu-node2 state=resume")

    assert [page for page in quiet if page[1] == "gpu-node2"] == []
    assert told


# What a lab cannot answer. Of the first a run is asked instead that says it computed on a GPU.
ON_GPUS = {
    "training/timeseries MFU/A": "the peak of a processor is in no catalog, and a lab computes on those"
}
UNKNOWN = ON_GPUS | {
    "node/timeseries Clock, against Prometheus's and as NTP measures it/B": "a virtual host may not ask its kernel"
}
TRAINING = {
    "name": "telling", "command": ["/shared/telling.py"], "nodes": 1, "gpus_per_node": 2, "time": "20m",
    "user": "alice", "checkpoint": {"every": "20 steps"},
}  # fmt: skip


def begin(site, *options):
    """The number of a job of bob's that sleeps."""
    words = ["sbatch", "--parsable", "-o", "/dev/null", "-t", "20", *options, "--wrap", "sleep 1200"]
    return site.sh("control", f"cd /tmp && runuser -u bob -- {shlex.join(words)}").strip()


def run_on_gpu(site, run):
    """A folder as the runtime leaves it on a GPU: what the model owes and what the GPU could do are known."""
    began = float(site.sh("control", "date +%s")) - 60
    told = [
        {"event": "job_start", "job_id": "1", "hosts": ["gpu-node1"], "ranks": 1},
        {"event": "generation_start", "hosts": ["gpu-node1"]},
        {"event": "group_ready", "world_size": 1},
        {
            "event": "plan",
            "step": 0,
            "total_steps": 100,
            "flops": 5e13,
            "dtype": "bfloat16",
            "device": "cuda",
        },
        *({"event": "step", "step": step, "seconds": 0.5, "loss": 2.0} for step in range(1, 41)),
    ]
    rows = [
        {"time": began + place / 2, "generation": 1, "rank": 0, **each} for place, each in enumerate(told)
    ]
    record = {"submitted": began, "job": {"name": "made"}, "gpu": {"peak": {"bf16": 3.12e14}}}
    text = "\n".join(map(json.dumps, rows))
    site.sh(
        "control", f"mkdir -p {run}/events && cd {run} && echo {shlex.quote(json.dumps(record))} >job.json"
    )
    site.sh("control", f"cat >{run}/events/rank-00000.jsonl <<'END'\n{text}\nEND")


@pytest.fixture
def at_work(stands):
    """A training on one host; the other is held by a job, has a broken GPU and takes no more; a third job waits."""
    site, _inbox = stands
    site.rest()
    site.sh("control", f"cat >/shared/telling.py <<'END'\n{TELLING.read_text()}\nEND")
    grows = "while sleep 1; do head -c 1000000 /dev/zero; done >/var/tmp/grows"
    site.sh("control", f"systemd-run -q --unit grows sh -c {shlex.quote(grows)}")
    held = begin(site, "-w", "gpu-node2", "--gpus-per-node=4")
    run = submit(Job.model_validate(TRAINING, strict=False), site.cluster, site.remote)
    try:
        run_on_gpu(site, f"{run.folder}-gpu")
        site.sh(
            "control",
            f"for _ in $(seq 60); do squeue -hj {held} -o %T | grep -q RUNNING && break; sleep 1; done",
        )
        begin(site, "--gpus-per-node=4")  # no host has four that are free
        lab.fault(NAME, "gpu-ecc", "gpu-node2", gpu="3")
        # It drains the host; slurmd runs it each five minutes, where no job is.
        site.remote.run("gpu-node2", "/etc/slurm/clusterwright/health")
        yield run
    finally:
        site.sh(
            "control",
            f"touch {run.folder}/cancelled; systemctl stop grows; rm -rf /var/tmp/grows {run.folder}-gpu",
        )
        site.rest()


def test_every_question_of_every_dashboard_is_answered(stands, at_work, panels):
    """By the cluster's own Prometheus, with data and with numbers that are true; but for what a lab cannot know."""
    site, chosen = stands[0], {
        "cluster": NAME, "node": "gpu-node1|gpu-node2", "partition": "train", "account": "language|vision",
        "job": at_work.job_id, "run": at_work.name,
    }  # fmt: skip
    end = time.monotonic() + 240
    while (found := panels.asked(site, chosen)).empty > set(UNKNOWN) and time.monotonic() < end:
        time.sleep(3)
    on_gpu = panels.asked(site, {**chosen, "run": f"{at_work.name}-gpu"}, set(ON_GPUS))

    assert (found.errors, found.empty) == ({}, set(UNKNOWN))
    assert (on_gpu.errors, on_gpu.empty) == ({}, set())
    for name in ("cluster", "node", "partition", "account", "job", "run"):
        offered = {value for rows in found.choices(name) for value in rows}
        assert set(chosen[name].split("|")) <= offered
    assert found.number("cluster/stat GPUs in use/A") == 6 / 8
    assert found.number("cluster/stat Nodes that can take jobs/A") == 1
    assert found.number("cluster/stat Nodes out of service/A") == 1
    assert found.number("gpu/stat Uncorrected memory errors, a day/A") > 0.9
    assert found.number("gpu/stat GPUs with an XID, a day/A") >= 1
    assert found.labels("job/table What it is/A", "user") == {"alice"}
    assert found.labels("training/timeseries Ranks that are slower than the others/A", "rank") == {"1"}
