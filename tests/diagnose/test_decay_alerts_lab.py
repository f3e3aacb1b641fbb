"""Faults that grow slowly raise alerts in the lab's own Prometheus, by the rules as they are installed, with slopes."""

import contextlib
import json
import re
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.cli.why import why
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.events import RemoteReader, events
from clusterwright.launch.submission import submit

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.long, pytest.mark.timeout(1800)]
NAME, NET = "decay-alert-tests", "10.238"
PROGRAM = Path(__file__).with_name("decaying.py")
CHANGES = {
    "hosts: gpu-node[1-4]": "hosts: gpu-node[1-2]",
    "# monitoring: {node_exporter: true, prometheus: true, retention: 30d}": "monitoring: {prometheus: true}",
}
STAYS, DEGRADES = "gpu-node1", "gpu-node2"
START_S, ALERT_S, WHY_S = 600, 900, 300  # the rule waits for five minutes; the fault takes three to grow


@pytest.fixture(scope="module")
def site(tmp_path_factory, example_lab):
    """Two compute hosts, with Prometheus on the control host."""
    with example_lab(tmp_path_factory.mktemp("decay-alerts"), NAME, NET, CHANGES) as stands:
        yield stands


def prometheus(site, path):
    """The data of an answer of Prometheus."""
    code = (
        "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())"
    )
    text = site.sh("control", f"python3 -Ic '{code}' http://127.0.0.1:9090/api/v1/{path}")
    return json.loads(text)["data"]


def wait_for(observe, limit_s):
    """What `observe` returns, once it is something."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            if value := observe():
                return value
        except (WrightError, AssertionError, json.JSONDecodeError):
            pass  # a busy machine does not answer every ssh in time
        time.sleep(3)
    raise AssertionError(f"not within {limit_s} s")


@contextlib.contextmanager
def training(site, *arguments):
    """A run of decaying.py on both hosts, which trains; it is canceled at the end, and all faults are undone."""
    site.sh("control", f"cat > /shared/decaying.py <<'END'\n{PROGRAM.read_text()}\nEND")
    job = {
        "name": "decaying", "command": ["/shared/decaying.py", *arguments], "nodes": 2, "time": "1h", "user": "alice",
        "checkpoint": {"every": "1000000 steps", "memory": "never"},
        "recovery": {"heartbeat_timeout": "120s"},
    }  # fmt: skip
    run = submit(Job.model_validate(job, strict=False), site.cluster, site.remote)
    reader = RemoteReader(site.remote, site.cluster.control.name)
    try:
        wait_for(
            lambda: [one for one in events(run, reader) if one["event"] == "step" and one["step"] > 5],
            START_S,
        )
        yield run
    finally:
        site.remote.run("control", f"touch {run.folder}/cancelled; scancel --name={run.name}")
        lab.undo(NAME, "all")
        site.rest()


def firing(site, name, **labels):
    """The firing alerts of that name and these labels."""
    return [
        alert
        for alert in prometheus(site, "alerts")["alerts"]
        if alert["state"] == "firing" and {"alertname": name, **labels}.items() <= alert["labels"].items()
    ]


def alert_of(site, began, record_property, name, **labels):
    """The one firing alert of that name and these labels, once there is one; its seconds since then are recorded."""
    [alert] = wait_for(lambda: firing(site, name, **labels), ALERT_S)
    record_property(f"{name} seconds", round(time.monotonic() - began, 1))
    record_property(f"{name} summary", alert["annotations"]["summary"])
    record_property(f"{name} description", alert["annotations"]["description"])
    return alert


def slow_rank(site, began, record_property):
    """The ratio and its change per hour that JobSlowRank names for the host that degrades."""
    alert = alert_of(site, began, record_property, "JobSlowRank", host=DEGRADES)
    text = alert["annotations"]["description"]
    assert DEGRADES in alert["annotations"]["summary"]
    return [
        float(number) for number in re.search(r"taken ([\d.]+) times .* ([+-][\d.]+) per hour", text).groups()
    ]


def diagnosis_of(site, run, mode, capfd):
    """The diagnosis of that mode by `wright why` of the run, once there is one."""

    def diagnoses():
        capfd.readouterr()
        why(Path(run.folder).name, all=True, json=True, cluster=site.file)
        return [one for one in json.loads(capfd.readouterr().out)["diagnoses"] if one["mode"] == mode]

    return wait_for(diagnoses, WHY_S)[0]


@pytest.fixture(scope="module")
def decayed(site):
    """A run of which one host leaks memory and has a GPU that heats, while the processor of the other degrades.

    Each step needs 0.2 s of a processor; the leak takes 23 minutes to the job's limit of 3.6 GiB.
    """
    with training(site, "1", "0.2") as run:
        lab.fault(NAME, "memory-leak", STAYS, per_minute="150MiB", most="3GiB")
        lab.fault(NAME, "gpu-heating", STAYS, per_minute="10")
        lab.fault(NAME, "degrading-host", DEGRADES, per_minute="45", percent="15")
        yield run, time.monotonic()


def test_a_gpu_that_heats(site, decayed, record_property):
    """From 60 to 88 °C in three minutes; the slope is that of the last hour."""
    alert = alert_of(site, decayed[1], record_property, "GpuTooHot", node=STAYS, gpu="0")

    assert STAYS in alert["annotations"]["summary"]
    assert float(re.search(r"([+-][\d.]+) °C per hour", alert["annotations"]["description"])[1]) > 100


def test_a_host_whose_processor_degrades(site, decayed, capfd, record_property):
    """Its share of a processor falls to a seventh within two minutes, and stays there."""
    ratio, slope = slow_rank(site, decayed[1], record_property)
    slow = diagnosis_of(site, decayed[0], "other/host-stays-slow", capfd)
    record_property("why", slow["cause"])

    assert ratio > 1.15
    assert slope > 0
    assert slow["subject"]["host"] == DEGRADES


def test_a_leak_that_lasts_less_than_an_hour(site, decayed, capfd, record_property):
    """By 150 MiB per minute, which are 8.8 GiB per hour; the job does not grow on the other host."""
    leak = diagnosis_of(site, decayed[0], "host-oom/free-memory-falls", capfd)
    record_property("why", leak["cause"])
    alert = alert_of(site, decayed[1], record_property, "JobMemoryFillsSoon", node=STAYS)

    assert leak["subject"]["host"] == STAYS
    assert 100 < float(re.search(r"([\d.]+) MiB per minute", leak["cause"])[1]) < 200
    assert STAYS in alert["annotations"]["summary"]
    assert 7 < float(re.search(r"([\d.]+)GiB per hour", alert["annotations"]["description"])[1]) < 10.5
    assert not firing(site, "JobMemoryFillsSoon", node=DEGRADES)


def test_a_disk_that_degrades(site, record_property):
    """It falls from 4 MB/s to a tenth in three minutes and stays there; that of the other host stays at 4 MB/s."""
    with training(site):
        lab.fault(NAME, "slow-disk", STAYS, rate="4MB/s")
        lab.fault(NAME, "degrading-disk", DEGRADES, rate="4MB/s", per_minute="30", percent="10")
        ratio, slope = slow_rank(site, time.monotonic(), record_property)

    assert ratio > 1.5
    assert slope > 0
