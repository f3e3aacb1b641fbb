"""What a real Prometheus says of a job's hosts and time, as lines."""

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

import pytest

from clusterwright.diagnose.gather.ended import metrics
from clusterwright.edge.bundler import RUN_METRICS, bundle_script

BEGIN, END = 1_795_000_000, 1_795_000_600
SERIES = {  # family and labels: values at the begin, in the middle and at the end
    'clusterwright_gpu_xid_total{node="n1",gpu="2",xid="79"}': (None, 1, 1),
    'clusterwright_gpu_xid_total{node="n1",gpu="0",xid="13"}': (4, 4, 4),
    'clusterwright_gpu_xid_total{node="n9",gpu="0",xid="48"}': (None, 1, 1),
    'gpu:temperature:celsius{node="n1",gpu="2"}': (60, 93, 70),
    'gpu:temperature:celsius{node="n2",gpu="0"}': (60, 71, 70),
    'gpu:throttled{node="n1",gpu="2",reason="thermal"}': (0, 1, 1),
    'gpu:throttled{node="n1",gpu="1",reason="power"}': (1, 1, 1),
    'gpu:ecc_uncorrected:total{node="n2",gpu="3"}': (2, 2, 5),
    'clusterwright_job_oom_kills_total{node="n2",job="7"}': (None, 0, 2),
    'clusterwright_job_oom_kills_total{node="n2",job="8"}': (None, 2, 2),
    'clusterwright_run_stalled_seconds{node="control",run="gpt \\"x\\""}': (0, 400, 700),
}
PROBES = {  # of munge, each 30 s: n1 has two without an answer in a row, n2 two apart
    'clusterwright_munge_answers{node="n1"}': (1, 1, 0, 0, 1, 1, 1, 1, 1, 1),
    'clusterwright_munge_answers{node="n2"}': (1, 1, 0, 1, 1, 0, 1, 1, 1, 1),
}


def text():
    """The series, in the form that promtool takes."""
    times = (BEGIN, (BEGIN + END) // 2, END)
    rows = [
        f"{name} {value} {at}"
        for name, values in SERIES.items()
        for at, value in zip(times, values, strict=True)
        if value is not None
    ]
    rows += [
        f"{name} {value} {BEGIN + 30 * number + second}"
        for name, values in PROBES.items()
        for number, value in enumerate(values)
        for second in range(0, 30, 5)
    ]
    return "\n".join([*rows, "# EOF\n"])


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory):
    """One on loopback that holds the series."""
    if not shutil.which("promtool") or not shutil.which("prometheus"):
        pytest.skip("prometheus is not here (apt-get install prometheus)")
    folder = tmp_path_factory.mktemp("prometheus")
    (folder / "series").write_text(text())
    (folder / "prometheus.yml").write_text("{}")
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", folder / "series", folder / "data"],
        check=True, capture_output=True,
    )  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    options += [f"--web.listen-address={address}", "--storage.tsdb.retention.time=100y"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["prometheus", *options], stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while not answers(f"http://{address}/-/ready"):
            assert time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.1)
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(timeout=60)


def answers(url):
    """Whether anything answers there."""
    with suppress(OSError):
        return urllib.request.urlopen(url, timeout=5).status == 200
    return False


def ask(url, **changes):
    """The lines by host, as they come from a control host."""
    given = {
        "url": url,
        "limit_s": 30,
        "begin": BEGIN,
        "end": END,
        "hosts": ["n1", "n2"],
        "job": "7",
        "run": "",
    }
    done = subprocess.run(
        [sys.executable, "-", json.dumps(given | changes)], input=bundle_script(RUN_METRICS),
        capture_output=True, check=True
    )  # fmt: skip
    return json.loads(done.stdout), done.stderr.decode()


def test_what_tells_of_a_failure_becomes_lines_of_its_host(prometheus):
    """Of the job's hosts alone; what was there before it, and what is usual, is not told."""
    found, said = ask(prometheus)

    assert said == ""
    assert {host: sorted(lines) for host, lines in found.items()} == {
        "n1": [
            "metric: GPU 2 had Xid 79, times: 1",
            "metric: GPU 2 was as hot as 93 degrees",
            "metric: GPU 2 was slowed down for 67% of the time: thermal",
            "metric: munge did not answer",
        ],
        "n2": [
            "metric: GPU 3 had 3 uncorrectable memory errors",
            "metric: processes of job 7 were killed for memory, times: 2",
        ],
    }


def test_a_run_is_asked_for_by_its_name_whatever_signs_it_has(prometheus):
    """No sign of a name becomes a part of the query."""
    found, said = ask(prometheus, run='gpt "x"', hosts=[])

    assert (found["control"], said) == (['metric: run gpt "x" made no step for 700 s'], "")


def test_a_job_without_trouble_has_no_lines(prometheus):
    """On a host on which all was well."""
    assert ask(prometheus, hosts=["n5"], job="1") == ({}, "")


def test_where_no_prometheus_answers_there_are_no_lines():
    """And it is said why."""
    found, said = ask("http://127.0.0.1:1", limit_s=2)

    assert found == {}
    assert said.startswith("Prometheus: ")


def test_lines_are_sources_of_their_host():
    """As the judge gets them; a cluster without monitoring has none."""
    (one,) = metrics({"n1": ["metric: munge did not answer"]})

    assert (one.name, one.kind, one.host) == ("n1 metrics", "metric", "n1")
    assert metrics({}) == ()
