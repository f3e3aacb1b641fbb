"""The exporter on a lab: brought up by `apply`, scraped as Prometheus scrapes it, while hosts and drivers fail."""

import re
import time

import pytest

from clusterwright import lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
NAME, NET = "exporter", "10.201"
TLS = "/etc/clusterwright/tls"
FETCH = f"""import ssl, sys, urllib.request
context = ssl.create_default_context(cafile="{TLS}/ca.crt")
if sys.argv[2:]:
    context.load_cert_chain("{TLS}/host.crt", "{TLS}/host.key")
opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}), urllib.request.HTTPSHandler(context=context))
sys.stdout.write(opener.open(sys.argv[1], timeout=10).read().decode())
"""


@pytest.fixture(scope="module")
def site(example_lab, tmp_path_factory):
    """One host of control and two with four GPUs each."""
    changes = {"gpu-node[1-4]": "gpu-node[1-2]"}
    with example_lab(tmp_path_factory.mktemp("lab"), NAME, NET, changes) as stands:
        yield stands


@pytest.fixture
def scrape(site):
    """All samples of a host, by name and labels, fetched from the control host over TLS; none while it is silent."""

    def scraped(host):
        url = f"https://{site.cluster.host(host).management}:9105/metrics"
        done = site.remote.run("control", f"python3 - {url} with", stdin=FETCH.encode())
        lines = [line for line in done.out.splitlines() if done.ok and not line.startswith("#")]
        return dict(line.removeprefix("clusterwright_").rsplit(" ", 1) for line in lines)

    return scraped


@pytest.fixture
def once(scrape):
    """The first scrape of a host that `seen` likes."""

    def wait(host, seen, limit_s=150):
        end = time.monotonic() + limit_s
        while not seen(found := scrape(host)):
            assert time.monotonic() < end, found
            time.sleep(1)
        return found

    return wait


def named(found, name, *labels):
    """The samples of that family that have these labels."""
    return [each for each in found if each.startswith(f"{name}{{") and all(label in each for label in labels)]


def test_only_who_has_a_certificate_is_let_in(site, once):
    """And nobody in the clear."""
    once("gpu-node1", lambda found: found.get("gpus_seen"))
    address = site.cluster.host("gpu-node1").management
    fetch = f"import urllib.request as u; u.urlopen('http://{address}:9105/metrics', timeout=5)"
    stranger = site.remote.run("control", f"python3 - https://{address}:9105/metrics", stdin=FETCH.encode())
    plain = site.remote.run("control", f'python3 -c "{fetch}"')

    assert not stranger.ok
    assert re.search("certificate|alert|EOF|reset", stranger.last_lines(20))
    assert not plain.ok


def test_what_is_declared_is_seen(once):
    """GPUs of the lab's driver, file systems, services, all collectors at work."""
    found = once("gpu-node1", lambda now: now.get("gpus_seen") == "4" and now.get("slurmd_answers") == "1")

    assert found["gpus_declared"] == "4"
    assert len(named(found, "gpu_info", 'uuid="GPU-')) == 4
    assert found['gpu_temperature_celsius{gpu="0"}'] == "30"
    assert found["munge_answers"] == "1"
    assert found['file_system_answers{path="/shared"}'] == "1"
    assert not [name for name in named(found, "collector_up") if found[name] != "1"]


def test_slurm_is_read_on_the_control_host(once):
    """Its nodes and their GPUs."""
    idle = 'slurm_gpus{partition="train",state="idle"}'
    found = once("control", lambda now: now.get(idle) == "8")

    assert found["slurm_up"] == "1"
    assert found['slurm_node_state{node="gpu-node2",state="idle"}'] == "1"


def test_a_job_is_joined_with_its_gpus(site, once):
    """By its control group and what the prolog has noted; and squeue's view of it is on the control host."""
    script = "#!/bin/sh\nsrun sh -c 'while :; do :; done'\n"
    options = "-N1 -w gpu-node1 --gpus-per-node=2 -t 10 -o /dev/null -J '<b>spin</b>'"
    submit = f"cd /tmp && runuser -u bob -- sbatch --parsable {options}"
    done = site.remote.run("control", submit, stdin=script.encode())
    assert done.ok, done.last_lines(20)
    job = done.out.strip()
    held = once("gpu-node1", lambda now: named(now, "gpu_job_info", f'job="{job}"', 'user="bob"'))
    spent = f'job_cpu_seconds_total{{job="{job}"}}'
    used = once("gpu-node1", lambda now: float(now.get(spent, 0)) > 1 and named(now, "job_info", 'account="'))
    queued = once("control", lambda now: named(now, "slurm_jobs", 'state="running"'))
    site.sh("control", f"scancel {job}")

    assert len(named(held, "gpu_job_info", 'uuid="GPU-')) == 2
    assert named(used, "job_info", 'partition="train"', 'name="<b>spin</b>"', 'user="bob"')
    assert queued['slurm_gpus{partition="train",state="allocated"}'] == "2"
    once("gpu-node1", lambda now: now and not named(now, "gpu_job_info"))


def test_a_driver_that_hangs_holds_no_scrape(site, once):
    """The GPUs' values go, and everything else is answered at once; later they come back."""
    lab.fault(site.cluster.name, "driver-hang", "gpu-node2")
    try:
        down = once("gpu-node2", lambda now: now.get('collector_up{collector="gpus"}') == "0")
        told = once("gpu-node2", lambda now: now.get('gpu_xid_total{gpu="0",xid="119"}') == "1")
    finally:
        lab.undo(site.cluster.name, "all")

    assert "gpus_seen" not in down
    assert down["gpus_declared"] == told["gpus_declared"] == "4"
    assert down['collector_up{collector="jobs"}'] == "1"
    once("gpu-node2", lambda now: now.get("gpus_seen") == "4", 200)


def test_a_count_outlives_the_exporter(site, once, scrape):
    """Killed in the middle, it counts neither again nor less."""
    key = 'gpu_xid_total{gpu="1",xid="94"}'
    lab.fault(site.cluster.name, "gpu-xid", "gpu-node1", gpu="1", xid="94")
    once("gpu-node1", lambda now: now.get(key) == "1")
    site.sh("gpu-node1", "systemctl kill -s KILL clusterwright-exporter")
    lab.fault(site.cluster.name, "gpu-xid", "gpu-node1", gpu="1", xid="94")
    once("gpu-node1", lambda now: now.get(key) == "2")
    time.sleep(12)  # two more looks at the same log

    assert scrape("gpu-node1")[key] == "2"
