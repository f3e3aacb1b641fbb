"""A host that degrades raises JobSlowRank in the lab's own Prometheus, by the rule as it is installed."""

import json
import re
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.events import RemoteReader, events
from clusterwright.launch.submission import submit

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(1500)]
NAME, NET = "slow-rank-tests", "10.238"
PROGRAM = Path(__file__).with_name("decaying.py")
CHANGES = {
    "hosts: gpu-node[1-4]": "hosts: gpu-node[1-2]",
    "# monitoring: {node_exporter: true, prometheus: true, retention: 30d}": "monitoring: {prometheus: true}",
}
STAYS, DEGRADES = "gpu-node1", "gpu-node2"
START_S, ALERT_S = 600, 900  # the rule waits for five minutes; the fault takes three to grow


@pytest.fixture(scope="module")
def site(tmp_path_factory, example_lab):
    """Two compute hosts, with Prometheus on the control host."""
    with example_lab(tmp_path_factory.mktemp("slow-rank"), NAME, NET, CHANGES) as stands:
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


def test_the_alert_names_host_and_slope_of_a_host_that_degrades(site, record_property):
    """Its disk falls from 4 MB/s to a tenth in three minutes and stays there; that of the other host stays at 4 MB/s.

    A processor share would not do: where the tests share two processors with other work, no quota is reached.
    """
    site.sh("control", f"cat > /shared/decaying.py <<'END'\n{PROGRAM.read_text()}\nEND")
    job = {
        "name": "decaying", "command": ["/shared/decaying.py"], "nodes": 2, "time": "1h", "user": "alice",
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
        began = time.monotonic()
        lab.fault(NAME, "slow-disk", STAYS, rate="4MB/s")
        lab.fault(NAME, "degrading-disk", DEGRADES, rate="4MB/s", per_minute="30", percent="10")

        def firing():
            alerts = [
                alert
                for alert in prometheus(site, "alerts")["alerts"]
                if alert["labels"]["alertname"] == "JobSlowRank" and alert["state"] == "firing"
            ]
            return [alert for alert in alerts if alert["labels"]["host"] == DEGRADES]

        [alert] = wait_for(firing, ALERT_S)
        record_property("seconds", round(time.monotonic() - began, 1))
        record_property("description", alert["annotations"]["description"])
    finally:
        site.remote.run("control", f"touch {run.folder}/cancelled; scancel --name={run.name}")
        lab.undo(NAME, "all")

    assert DEGRADES in alert["annotations"]["summary"]
    found = re.search(r"taken ([\d.]+) times .* ([+-][\d.]+) per hour", alert["annotations"]["description"])
    assert found, alert["annotations"]["description"]
    assert float(found[1]) > 1.5, alert
    assert float(found[2]) > 0, alert
