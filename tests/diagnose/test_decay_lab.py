"""A training on two hosts, of which one's disk degrades and the other's memory leaks: `why`, `status` and alerts.

The faults grow within minutes, the alerts wait for hours: what Prometheus has of the run is evaluated by the same
rules at a slower time, one second of the run as SLOWER seconds.
"""

import contextlib
import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.cli.status import status
from clusterwright.cli.why import why
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.events import RemoteReader, events
from clusterwright.launch.submission import submit
from clusterwright.provision.render.monitoring.rules import rules

pytestmark = [pytest.mark.lab, pytest.mark.train, pytest.mark.timeout(1200)]
NAME, NET = "decay-tests", "10.239"
PROGRAM = Path(__file__).with_name("decaying.py")
CHANGES = {
    "hosts: gpu-node[1-4]": "hosts: gpu-node[1-2]",
    "# monitoring: {node_exporter: true, prometheus: true, retention: 30d}": "monitoring: {prometheus: true}",
}
LEAKS, DEGRADES = "gpu-node1", "gpu-node2"
LEAST_S, LIMIT_S = 200, 600
SLOWER = 80  # 200 s of the run are four and a half hours of the rules
SLOWER_LEAK = 40  # of which the memory lasts for less than six hours
METRICS = (
    "clusterwright_run_samples_per_second",
    "clusterwright_run_generation",
    "clusterwright_run_data_wait_ratio",
    "clusterwright_run_slow_rank_ratio",
    "clusterwright_job_memory_bytes",
    "clusterwright_job_memory_limit_bytes",
)


@pytest.fixture(scope="module")
def stands(tmp_path_factory, example_lab):
    """Two compute hosts, with Prometheus on the control host."""
    with example_lab(tmp_path_factory.mktemp("decay"), NAME, NET, CHANGES) as site:
        yield site


@pytest.fixture(scope="module")
def decayed(stands):
    """A run in which both faults have grown, with the times of their injection and of the end; it still runs."""
    stands.sh("control", f"cat > /shared/decaying.py <<'END'\n{PROGRAM.read_text()}\nEND")
    job = {
        "name": "decay", "command": ["/shared/decaying.py"], "nodes": 2, "time": "30m", "user": "alice",
        "checkpoint": {"every": "1000000 steps", "memory": "never"},
        "recovery": {"heartbeat_timeout": "60s"},  # a busy machine ends no generation
    }  # fmt: skip
    run = submit(Job.model_validate(job, strict=False), stands.cluster, stands.remote)
    reader = RemoteReader(stands.remote, stands.cluster.control.name)
    try:
        wait_for(lambda: [one for one in events(run, reader) if one["event"] == "step" and one["step"] > 5])
        begin = time.time()
        lab.fault(NAME, "slow-disk", LEAKS, rate="4MB/s")  # disks of equal rates, on any machine
        lab.fault(NAME, "degrading-disk", DEGRADES, rate="4MB/s", per_minute="12", percent="10")
        lab.fault(NAME, "memory-leak", LEAKS, per_minute="300MiB", most="2GiB")
        time.sleep(LEAST_S)
        yield run, begin
    finally:
        stands.remote.run("control", f"touch {run.folder}/cancelled; scancel --name={run.name}")
        lab.undo(NAME, "all")


def wait_for(seen, limit_s=LIMIT_S):
    """What `seen` returns, once it is something."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        with contextlib.suppress(WrightError):  # a busy machine does not answer every ssh in time
            if value := seen():
                return value
        time.sleep(2)
    raise AssertionError(f"not within {limit_s} s")


def test_why_names_both_hosts_with_slopes(stands, decayed, capfd, record_property):
    """While nothing fails; the fall of the rate is the consequence."""
    run, begin = decayed

    def found():
        capfd.readouterr()
        why(Path(run.folder).name, all=True, json=True, cluster=stands.file)
        by_mode = {one["mode"]: one for one in json.loads(capfd.readouterr().out)["diagnoses"]}
        wanted = {"other/host-becomes-slow", "host-oom/free-memory-falls", "other/training-slows"}
        return by_mode if wanted <= set(by_mode) else None

    by_mode = wait_for(found)
    record_property("seconds", round(time.time() - begin, 1))
    slow, leak, rates = (
        by_mode[mode]
        for mode in ("other/host-becomes-slow", "host-oom/free-memory-falls", "other/training-slows")
    )
    for one in (slow, leak, rates):
        record_property(one["mode"], one["cause"])

    assert slow["subject"]["host"] == DEGRADES
    assert float(re.search(r"([\d.]+) times", slow["cause"])[1]) > 1.5
    assert "waits for data" in slow["cause"]
    assert leak["subject"]["host"] == LEAKS
    slope = float(re.search(r"([\d.]+) MiB per minute", leak["cause"])[1])
    assert 200 < slope < 400  # 300 are injected
    assert " per minute" in rates["cause"]
    assert rates["role"] == "cascade"


def test_status_names_them_in_one_line(stands, decayed, capfd):
    """Both hosts, while the run trains; after the test above, which waits until it has trained long enough."""
    run, _ = decayed
    assert status(Path(run.folder).name, cluster=stands.file) == 0
    [line] = [line for line in capfd.readouterr().out.splitlines() if line.startswith("decay ")]

    assert f"{DEGRADES} becomes slower" in line
    assert f"memory left on {LEAKS} falls" in line


def test_the_alerts_name_them(stands, decayed, tmp_path, record_property):
    """By their rules, on what Prometheus has of this run: the run slows, and the job leaks; never another host."""
    run, begin = decayed
    series = [one for name in METRICS for one in read(stands, name, begin, time.time())]
    (tmp_path / "rules").write_text(rules("en"))
    name = Path(run.folder).name
    fired = {
        text: fires(tmp_path, series, text, SLOWER_LEAK if "Memory" in text else SLOWER)
        for text in (
            f'alertname="JobSlowsDown",run="{name}"',
            f'alertname="JobMemoryGrows",node="{LEAKS}"',
        )
    }
    others = [f'alertname="JobMemoryGrows",node="{DEGRADES}"', f'alertname="JobSlowRank",host="{LEAKS}"']

    assert all(fired.values()), fired
    assert not any(fires(tmp_path, series, text, SLOWER_LEAK) for text in others)


def read(stands, metric, begin, end):
    """The series of a metric as promtool's tests have them: a value for each second of the run."""
    query = f"promtool query range --start={begin:.0f} --end={end:.0f} --step=1s -o json http://127.0.0.1:9090 {metric}"
    rows = json.loads(stands.sh("control", query))
    assert rows, metric
    series = []
    for row in rows:
        labels = {key: text for key, text in row["metric"].items() if key != "__name__"}
        values = {round(moment - begin): text for moment, text in row["values"]}
        written = ",".join(f"{key}={json.dumps(text)}" for key, text in sorted(labels.items()))
        texts = [values.get(second, "_") for second in range(round(end - begin))]
        series.append({"series": f"{metric}{{{written}}}", "values": " ".join(texts)})
    return series


def fires(folder, series, labels, slower):
    """Whether an alert with these labels has fired at some time of the series."""
    length = max(len(one["values"].split()) for one in series) * slower
    query = f'count(max_over_time(ALERTS{{alertstate="firing",{labels}}}[{length}s]))'
    test = {
        "interval": f"{slower}s",
        "input_series": series,
        "promql_expr_test": [
            {"expr": f"{query} > 0", "eval_time": f"{length}s", "exp_samples": []},
        ],
    }
    document = {"rule_files": ["rules"], "evaluation_interval": "1m", "tests": [test]}
    (folder / "test").write_text(json.dumps(document))
    argv = ("promtool", "test", "rules", "test")
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "got:" in done.stderr, done.stderr
    return done.returncode != 0  # nothing is expected
