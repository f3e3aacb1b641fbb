"""What Prometheus is asked, answered by a real one over a day that was made up."""

import shutil
import subprocess
import time
import urllib.request
from contextlib import closing
from socket import socket

import pytest

from clusterwright.monitor.fetch.fetch import job_queries, month_queries
from clusterwright.onhost.snapshot.monitors import query_prometheus

pytestmark = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason="prometheus is not installed (apt-get install prometheus)",
)
BEGIN, HOURS, STEP = 1795392000, 4, 60  # from a whole hour on
END = BEGIN + HOURS * 3600
AFTER = 0.1  # of two hours: a series that merely ends is looked back to for five minutes


def samples():
    """Job 7 of team a holds two GPUs of node n for two hours: one works all the time, one never."""
    for at in range(BEGIN, END + 1, STEP):
        held = at < BEGIN + 7200
        for gpu, use in (("0", 0.8), ("1", 0.0)):
            labels = f'node="n",gpu="{gpu}"'
            yield f"gpu:utilisation:ratio{{{labels}}} {use if held else 0} {at}"
            yield f"gpu:power:watts{{{labels}}} {300 if use else 100} {at}"
            yield f"gpu:memory_used:bytes{{{labels}}} {40 << 30 if held and use else 0} {at}"
            yield f"gpu:memory_total:bytes{{{labels}}} {80 << 30} {at}"
            if held:
                yield f'clusterwright_gpu_job_info{{{labels},uuid="u",job="7",user="x",account="a"}} 1 {at}'
        if held:
            yield f'clusterwright_job_cpu_seconds_total{{node="n",job="7"}} {4 * (at - BEGIN)} {at}'
            yield f'clusterwright_job_cpus{{node="n",job="7"}} 8 {at}'
            yield f'clusterwright_job_memory_bytes{{node="n",job="7"}} {1 << 30} {at}'


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """The address of one that has these samples; it is gone afterwards."""
    folder = tmp_path_factory.mktemp("prometheus")
    families = {}
    for line in samples():
        families.setdefault(line.split("{", 1)[0], []).append(line)
    text = "".join(f"# TYPE {name} unknown\n" + "\n".join(lines) + "\n" for name, lines in families.items())
    (folder / "samples").write_text(text + "# EOF\n")
    made = subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "samples", folder / "data"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    (folder / "config.yml").write_text("global: {}\n")
    with closing(socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = ["prometheus", f"--config.file={folder}/config.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=100y"]  # fmt: skip
    with (folder / "log").open("w") as log, subprocess.Popen(argv, stdout=log, stderr=log) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            _ready(address, folder / "log")
            yield address
        finally:
            process.terminate()
            process.wait(30)


def _ready(address, log):
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"{address}/-/ready", timeout=5):
                return
        except OSError:
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)


def answers(address, wanted):
    """Values by name and labels that matter."""
    end = time.monotonic() + 60
    return {
        name: {
            labels.get("gpu", labels.get("account", labels.get("node", ""))): value
            for labels, value in query_prometheus(address, query, end)
        }
        for name, query in wanted.items()
    }


def test_of_a_job(prometheus):
    """Only its own GPUs and only its own time."""
    found = answers(prometheus, job_queries("7", BEGIN, BEGIN + 7200))

    assert found["gpu_utilisation"] == {"0": pytest.approx(0.8, rel=AFTER), "1": 0.0}
    assert found["gpu_memory"] == {"0": 40 << 30, "1": 0}
    assert found["gpu_watts"]["0"] == pytest.approx(300)
    assert found["cpu_seconds"]["n"] == pytest.approx(4 * 7140)
    assert (found["cpus"]["n"], found["memory"]["n"]) == (8, 1 << 30)
    assert not any(answers(prometheus, job_queries('8"} or vector(1)', BEGIN, END)).values())


def test_of_a_month(prometheus):
    """Hours that were held, worked and idle, and energy, by team; all energy, held or not."""
    found = answers(prometheus, month_queries(BEGIN, END, 2))

    assert found["measured_s"]["a"] == pytest.approx(2 * 7200, rel=AFTER)
    assert found["busy_s"]["a"] == pytest.approx(0.8 * 7200, rel=AFTER)
    assert found["idle_s"]["a"] == pytest.approx(7200, rel=AFTER)
    assert found["joules"]["a"] == pytest.approx(400 * 7200, rel=AFTER)
    assert found["all_joules"][""] == pytest.approx(400 * HOURS * 3600, rel=AFTER)
