"""Bursts on eight virtual hosts: Slurm boots and stops them, whatever the provider and our own programs do."""

import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision import apply as applying
from clusterwright.provision.apply import apply, remote_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME = "test-bursts"
HOSTS = [f"gpu-node{number}" for number in range(1, 9)]
MISSING = able()
IDLE_S, OFF_S = 8, 8
HAS_ALL = "powered down by power saving; its configuration is up to date"
SAVING = {
    "idle": f"{IDLE_S}s", "suspend_timeout": f"{OFF_S}s", "resume_timeout": "45s", "provider": {"kind": "lab"},
    "spares": 2, "max_attempts": 2, "retry_after": "2s",
}  # fmt: skip

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """The lab, its jobs, and what its hosts are."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.write()
        self.cluster = load_cluster(self.file)
        self.remote = remote_of(self.cluster)

    def write(self, idle_s=IDLE_S, **more):
        """Eight compute hosts, two of which stay on."""
        yaml = YAML()
        document = yaml.load(EXAMPLE.read_text().replace("10.77.", "10.226."))
        document["name"] = NAME
        document["nodes"]["a100"]["hosts"] = "gpu-node[1-8]"
        document["slurm"]["power_saving"] = SAVING | {"idle": f"{idle_s}s"}
        document["accounting"] = {"enabled": False}
        yaml.dump(document | more, self.file)

    def apply(self):
        """An apply of the file as it is."""
        report = apply(load_cluster(self.file), str(self.file), self.remote)
        assert report.ok, [f"{host.host}: {host.error}" for host in report.hosts]
        return report

    def run(self, text, stdin=b"", timeout_s=60):
        """A command on the control host, which must end well."""
        done = self.remote.run("control", text, stdin=stdin, timeout_s=timeout_s)
        assert done.ok, f"{text}: {done.out}{done.err}"
        return done.out

    def submit(self, hosts, options="", text="srun true"):
        """A job of bob's over so many hosts; its id."""
        script = f"#!/bin/sh\n{text}\n".encode()
        return self.run(
            f"cd /tmp; runuser -u bob -- sbatch --parsable -N{hosts} {options} -o /dev/null", script
        ).strip()

    def until(self, what, holds, limit_s=150):
        """What `summary` says in the end; `holds` must be true of it in time."""
        end = time.monotonic() + limit_s
        while not holds(said := what()):
            assert time.monotonic() < end, f"{said!r} after {limit_s} s\n{self.log()}"
            time.sleep(0.3)
        return said

    def ends(self, job, limit_s=150):
        """The job ends well; seconds from its submission to its start."""
        fields = self.until(
            lambda: dict(
                word.partition("=")[::2]
                for word in self.run(f"scontrol -o show job {job}").split(" ")
                if "=" in word
            ),
            lambda said: said["JobState"] in ("COMPLETED", "FAILED", "NODE_FAIL", "CANCELLED", "TIMEOUT"),
            limit_s,
        )
        assert fields["JobState"] == "COMPLETED"
        form = "%Y-%m-%dT%H:%M:%S"
        return time.mktime(time.strptime(fields["StartTime"], form)) - time.mktime(
            time.strptime(fields["SubmitTime"], form)
        )

    def states(self):
        """State and reason of each host, as Slurm has it."""
        rows = [line.split("|") for line in self.run("sinfo -h -N -o '%N|%T|%E'").splitlines()]
        return {name: (state, reason) for name, state, reason in rows}

    def asleep(self):
        """How many are off by Slurm's word, for good: no longer on their way."""
        return sum(state == "idle~" for state, _ in self.states().values())

    def calm(self, off=6):
        """All but the spares are off, and nothing is on its way."""
        return self.until(
            self.states, lambda said: [state for state, _ in said.values()].count("idle~") == off
        )

    def running(self):
        """Hosts that have power, as the lab has it."""
        return {row.host for row in lab.status(NAME) if row.state != "down"} - {"control"}

    def log(self):
        """The end of the keeper's own."""
        return self.run("tail -30 /var/log/slurm/power.log")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Nine hosts, applied once; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("bursts")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.setattr(applying, "payload", cache(applying.payload))  # it stays as it is meanwhile
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            site.apply()
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


def test_idle_hosts_are_switched_off_but_for_the_spares(site):
    """By the lab's own word, not only by Slurm's."""
    site.calm()

    assert len(site.until(site.running, lambda on: len(on) == 2)) == 2


def test_a_job_for_all_hosts_starts_soon_and_they_are_gone_after_it(site):
    """Boot, join, check, run: the figure is 20 s on a quiet machine; idle time and shutdown time later they are off."""
    site.calm()
    seconds = site.ends(site.submit(8))
    began = time.monotonic()
    site.until(site.running, lambda on: len(on) == 2)
    gone = time.monotonic() - began
    sys.stdout.write(
        f"\njob over 8 hosts, 2 up: started after {seconds:.0f} s; the 6 were gone {gone:.0f} s after its end"
    )

    assert seconds < 40
    assert gone < IDLE_S + OFF_S + 25


@pytest.mark.long
def test_bursts_in_a_row_leave_no_host_stuck(site):
    """Small and large ones, some before the hosts of the last one are off."""
    took = []
    for hosts, calm in ((8, True), (5, False), (8, False), (3, True), (8, True)):
        if calm:
            site.calm()
        took.append(site.ends(site.submit(hosts)))
    states = site.calm()
    sys.stdout.write(f"\nbursts started after {', '.join(f'{seconds:.0f}' for seconds in took)} s")

    assert {reason for _, reason in states.values()} == {"none"}
    assert len(site.until(site.running, lambda on: len(on) == 2)) == 2


@pytest.mark.long
def test_a_provider_that_says_yes_and_boots_nothing(site):
    """The host is tried again and drained with the reason; jobs run on the others; fixed, it serves again."""
    site.calm()
    (liar,) = [host for host, (state, _) in site.states().items() if state == "idle~"][:1]
    lab.fault(NAME, "inconsistent-power-state", liar)
    try:
        waiting = site.submit(1, f"-w {liar}")
        site.submit(1, f"-w {liar}")  # tries while the first one is cleaned up after its failed boot
        site.until(lambda: site.states()[liar][0], lambda said: "#" in said)
        other = site.ends(site.submit(7, f"-x {liar}"))
        state, reason = site.until(lambda: site.states()[liar], lambda said: "drain" in said[0], limit_s=200)
        queue = site.run(f"squeue -h -j {waiting} -o %T").strip()
    finally:
        lab.undo(NAME, liar)
    sys.stdout.write(f"\n{liar}: {state} | {reason}; a job on the others began after {other:.0f} s")
    site.run(f"scontrol update NodeName={liar} State=RESUME")

    assert reason.startswith("wright: power: failed boots: 2: ")
    assert queue == "PENDING"
    site.ends(waiting)
    assert site.states()[liar][1] == "none"


REFUSING = "#!/bin/sh\necho 'refused: no quota left'\nexit 1\n"
BY_PROGRAM = """
import json
path = "/etc/slurm/clusterwright/power.json"
told = json.load(open(path))
told["provider"] = {"kind": "program", "on": "/usr/local/bin/refuses", "off": "/usr/bin/true"}
json.dump(told, open(path, "w"))
"""


@pytest.mark.long
def test_what_is_refused_for_good_is_drained_at_once_and_its_job_waits_elsewhere(site):
    """Not after the longest boot: Slurm takes it from a host that is on its way."""
    site.calm()
    host = next(host for host, (state, _) in site.states().items() if state == "idle~")
    site.run("cat >/usr/local/bin/refuses && chmod 755 /usr/local/bin/refuses", REFUSING.encode())
    site.run("python3 - && systemctl restart clusterwright-power", BY_PROGRAM.encode())
    began = time.monotonic()
    job = site.submit(1, f"-w {host}")
    try:
        state, reason = site.until(lambda: site.states()[host], lambda said: "drain" in said[0])
    finally:
        site.apply()
    seconds = time.monotonic() - began
    queue = site.run(f"squeue -h -j {job} -o %T").strip()
    site.run(f"scontrol update NodeName={host} State=RESUME")
    sys.stdout.write(f"\n{host}: {state} | {reason} after {seconds:.0f} s\n")

    assert reason == "wright: power: refused: no quota left"
    assert seconds < 45
    assert queue == "PENDING"
    site.ends(job)


@pytest.mark.long
def test_slurmctld_starts_anew_in_the_middle_of_a_resume(site):
    """The job runs, and no host is left on its way."""
    site.calm()
    job = site.submit(8)
    site.until(site.states, lambda said: any("#" in state for state, _ in said.values()))
    site.run("systemctl restart slurmctld")

    site.ends(job)
    site.calm()


def test_the_keeper_is_killed_and_calls_of_slurm_are_lost(site):
    """Slurm's programs end well where nobody listens; the keeper finds out by itself what was wanted."""
    site.calm()
    site.run("systemctl stop clusterwright-power")
    job = site.submit(8)
    site.until(site.states, lambda said: any("#" in state for state, _ in said.values()))
    lost = site.until(
        lambda: site.run("journalctl -t clusterwright-power --no-pager -o cat || true"),
        lambda said: "does not listen" in said,
    )
    site.run("systemctl start clusterwright-power")
    time.sleep(1)
    site.run("systemctl kill -s KILL clusterwright-power")
    seconds = site.ends(job)
    sys.stdout.write(f"\nkeeper away, then killed: the job began after {seconds:.0f} s")

    assert f"for jobs {job}" in lost
    site.calm()


def test_checks_do_not_ask_hosts_that_are_off(site):
    """Named once, and nothing is unknown for it."""
    site.calm()
    wright = Path(sys.executable).with_name("wright")
    argv = (wright, "check", site.file, "--only", "hostname_matches", "--all")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)

    assert "powered down by power saving" in done.stderr
    assert ", 0 unknown" in done.stdout + done.stderr


def test_an_apply_leaves_hosts_out_that_are_off_and_they_get_no_job_until_it_was_there(site):
    """Named, drained, woken, changed, given back."""
    site.calm()
    nothing = site.apply()
    site.write(idle_s=60, time={"zone": "Europe/Berlin"})  # nobody goes to sleep in the middle of it
    first = site.apply()
    left = {host.host for host in first.left_out}
    drained = {host for host, (_, reason) in site.states().items() if reason.startswith("wright: apply")}
    site.run(f"scontrol update NodeName={','.join(sorted(left))} State=POWER_UP")
    site.until(
        site.states, lambda said: not any("~" in said[host][0] or "#" in said[host][0] for host in left)
    )
    second = site.apply()
    after = {reason for _, reason in site.states().values()}

    assert len(left) == 6
    assert {host.left_out for host in nothing.left_out} == {HAS_ALL}
    assert drained == left
    assert not second.left_out
    assert after == {"none"}
    assert site.remote.run(min(left), "date +%Z", timeout_s=20).out.strip() in ("CET", "CEST")
