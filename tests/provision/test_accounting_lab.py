"""Teams, limits, fair share, qualities of service and reservations, enforced by real Slurm with a real database."""

import shlex
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright import lab
from clusterwright.config.load import load_cluster
from clusterwright.lab.able import able
from clusterwright.provision.apply import apply, remote_of

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
NAME, SUBNETS = "test-accounts", "10.204."
MISSING = able()
GRACE_S = 4

# Two hosts of four GPUs each. Users of `vision` and `language`; carol is in both, erin comes and goes.
VALUES = {
    "name": NAME,
    "nodes.a100.hosts": "gpu-node[1-2]",
    "slurm.kill_wait": "2s",
    "partitions": {
        "train": {"nodes": ["a100"], "default": True, "max_time": "1d", "headroom_percent": 30},
        "quick": {"nodes": ["a100"], "max_time": "30m", "priority": 10},
    },
    "qos": {
        "urgent": {"priority": 100, "preempts": ["scavenger", "polite"], "teams": ["vision"]},
        "scavenger": {"max_gpus_per_job": 2},
        "polite": {"grace": f"{GRACE_S}s", "preempt_mode": "cancel", "teams": ["language"]},
    },
    "accounting": {"half_life": "5m"},
    "teams": {"vision": {"gid": 5000, "shares": 50, "max_gpus": 6}, "language": {"gid": 5001, "shares": 50}},
    "users": {
        "alice": {"uid": 6001, "team": "language", "admin": True},
        "bob": {"uid": 6002, "team": "vision"},
        "carol": {"uid": 6003, "team": "vision", "additional_teams": ["language"]},
        "dave": {"uid": 6004, "team": "language"},
    },
}

pytestmark = [
    pytest.mark.lab,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(MISSING), reason="; ".join(finding.message for finding in MISSING)),
]


class Site:
    """The lab, what an apply of its file gives, and jobs of its users."""

    def __init__(self, folder):
        self.file = folder / "cluster.yaml"
        self.cluster = self.write({})

    def write(self, changes):
        """The example with this lab's values and these, by dotted path."""
        yaml = YAML()
        document = yaml.load(LAB.read_text().replace("10.77.", SUBNETS))
        for path, value in (VALUES | changes).items():
            *parents, last = path.split(".")
            place = document
            for part in parents:
                place = place[part]
            place[last] = value
        yaml.dump(document, self.file)
        return load_cluster(self.file)

    def apply(self, changes=None):
        """An apply of the file, with other values for once."""
        cluster = self.write(changes or {})
        return apply(cluster, str(self.file), remote_of(cluster))

    def try_it(self, text, host="control"):
        """What became of a command on a host."""
        return remote_of(self.cluster).run(host, text, timeout_s=60)

    def run(self, text, host="control"):
        """What a command printed that has to end well."""
        done = self.try_it(text, host)
        assert done.ok, f"{host}: {text}: {done.out}{done.err}"
        return done.out.strip()

    def submit(self, user, options, script="sleep 300"):
        """A job that waits or runs: its id, or what Slurm said against it."""
        inner = f"cd /tmp && sbatch --parsable -o /dev/null {options} --wrap {shlex.quote(script)} 2>&1"
        return self.try_it(f"runuser -u {user} -- sh -c {shlex.quote(inner)}").out.strip()

    def job(self, job):
        """State and reason."""
        return tuple(self.run(f"squeue -h -t all -j {job} -o '%T %r'").split(" ", 1))

    def until(self, job, state, limit_s=150):
        """Wait for a state; the reason is given."""
        end = time.monotonic() + limit_s
        while (now := self.job(job))[0] != state:
            assert time.monotonic() < end, self.run(f"scontrol show job {job}")
            time.sleep(0.4)
        return now[1]

    def waits_for(self, job, reason, limit_s=150):
        """Wait for the reason that Slurm gives; it is told once the scheduler has looked."""
        end = time.monotonic() + limit_s
        while self.job(job) != ("PENDING", reason):
            assert time.monotonic() < end, self.job(job)
            time.sleep(0.4)

    def clear(self):
        """No job is left."""
        users = "alice bob carol dave erin frank"
        self.run(f"for user in {users}; do id $user >/dev/null 2>&1 && scancel --user=$user; done; true")
        end = time.monotonic() + 60
        while self.run("squeue -h"):
            assert time.monotonic() < end
            time.sleep(0.4)


@pytest.fixture(scope="module")
def lab_site(tmp_path_factory):
    """Three hosts, applied twice; taken down at the end, whatever happened."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))  # the key of these tests is not the user's
        site = Site(folder)
        lab.down(NAME)
        try:
            lab.up(site.cluster)
            site.first = site.apply()
            site.second = site.apply()
            yield site
        finally:
            left = lab.down(NAME)
        assert left == []


@pytest.fixture
def site(lab_site):
    """No job of another test's."""
    lab_site.clear()
    return lab_site


def whats(report):
    """What an apply changed in records."""
    return [one.summary for host in report.hosts for one in host.changes if one.id.startswith("records:")]


def test_a_second_apply_changes_no_record(site):
    """Database, daemon, teams and users are there after the first one."""
    assert site.first.ok, site.first
    assert (site.second.ok, site.second.pending, site.second.restarts) == (True, 0, 0)


def test_slurmdbd_keeps_the_file_and_no_password(site):
    """Its file is Slurm's alone, and MariaDB listens to the socket only."""
    assert site.run("stat -c %U:%G:%a /etc/slurm/slurmdbd.conf") == "slurm:slurm:600"
    assert "Pass" not in site.run("cat /etc/slurm/slurmdbd.conf")
    assert ":3306" not in site.run("cat /proc/net/tcp | wc -l; ss -ltn")


def test_a_user_without_a_team_is_refused(site):
    """The account exists on the host, and Slurm knows it not."""
    site.run("id stranger 2>/dev/null || useradd -m -u 7001 stranger")

    assert "Invalid account" in site.submit("stranger", "--gres=gpu:1")


def test_a_job_over_its_teams_limit_waits(site):
    """Slurm names the limit; also in a partition with head-room, where two limits meet."""
    first = site.submit("bob", "-p quick -N2 --gres=gpu:2 --ntasks-per-node=1")
    site.until(first, "RUNNING")
    second = site.submit("carol", "-p train --gres=gpu:3")
    other = site.submit("dave", "-p quick --gres=gpu:2")

    site.waits_for(second, "AssocGrpGRES")
    site.until(other, "RUNNING")


def test_a_job_that_never_fits_a_limit_is_refused_at_once(site):
    """More GPUs than the quality of service allows a job, or than the partition's head-room leaves."""
    assert "QOSMaxGRESPerJob" in site.submit("dave", "-p quick --qos=scavenger --gres=gpu:4")
    assert "QOSGrpBilling" in site.submit("dave", "-p train -N2 --gres=gpu:3 --ntasks-per-node=1")


def test_a_team_names_only_its_qualities_of_service(site):
    """`urgent` is for vision."""
    assert "Invalid qos" in site.submit("dave", "-p quick --qos=urgent --gres=gpu:1")
    assert site.submit("carol", "-p quick --qos=urgent --gres=gpu:1").isdigit()
    assert "Invalid qos" in site.submit("carol", "-p quick -A language --qos=urgent --gres=gpu:1")


def test_long_jobs_leave_room_for_short_ones(site):
    """Of 8 GPUs jobs of `train` hold 5 at most; a short job over the same hosts starts at once."""
    four = site.submit("dave", "-p train --gres=gpu:4")
    one = site.submit("dave", "-p train --gres=gpu:1")
    site.until(four, "RUNNING")
    site.until(one, "RUNNING")
    more = site.submit("carol", "-p train --gres=gpu:1")
    site.waits_for(more, "QOSGrpBilling")
    short = site.submit("carol", "-p quick --gres=gpu:3")

    site.until(short, "RUNNING", limit_s=150)
    assert site.job(more) == ("PENDING", "QOSGrpBilling")


def test_a_higher_quality_of_service_pushes_jobs_aside(site):
    """One is put back and runs again, one may not be and ends, and one has its time of grace first."""
    wall = site.submit("alice", "-p quick -w gpu-node2 --gres=gpu:4")
    site.until(wall, "RUNNING")
    beat = "srun sh -c \"trap 'date +%s > /shared/term; sleep 60' TERM; date +%s > /shared/began; sleep 300 & wait\""
    site.run("mkdir -p /shared && chmod 1777 /shared && rm -f /shared/term")
    again = site.submit("dave", "-p quick --qos=scavenger --gres=gpu:1")
    never = site.submit("dave", "-p quick --qos=scavenger --gres=gpu:1 --no-requeue")
    graced = site.submit("dave", "-p quick --qos=polite --gres=gpu:2", beat)
    for job in (again, never, graced):
        site.until(job, "RUNNING")
    time.sleep(1)  # the step has its trap
    urgent = site.submit("bob", "-p quick --qos=urgent --gres=gpu:4")
    site.until(urgent, "RUNNING", limit_s=150)  # slurmctld looks every 30 s whose grace is over
    ended = int(site.run("date +%s"))

    assert site.job(never)[0] == "PREEMPTED"
    assert site.job(graced)[0] == "PREEMPTED"
    assert ended - int(site.run("cat /shared/term")) >= GRACE_S
    assert "Restarts=1" in site.run(f"scontrol show job {again}")
    site.run(
        f"scancel {urgent}; scontrol update JobId={again} StartTime=now"
    )  # else 61 s: its old credential
    site.until(again, "RUNNING")


def test_the_team_that_used_less_goes_first(site):
    """By Slurm's own figures: vision has trained, so language's job that came later starts earlier."""
    site.clear()
    site.run("systemctl restart slurmctld")  # counts use now; else every PriorityCalcPeriod, 5 minutes
    site.run("until scontrol ping | grep -q UP; do sleep 0.3; done")
    site.run("sacctmgr -i modify account vision,language set RawUsage=0")  # what other tests used
    used = site.submit("bob", "-p quick -N2 --gres=gpu:3 --ntasks-per-node=1")
    site.until(used, "RUNNING", limit_s=150)
    time.sleep(5)
    site.run(f"scancel {used}")
    site.clear()
    site.run("systemctl restart slurmctld")
    wall = site.submit("alice", "-p quick -N2 --gres=gpu:4 --ntasks-per-node=1")
    site.until(wall, "RUNNING")
    both = "-p quick -N2 --gres=gpu:3 --ntasks-per-node=1"  # no two of them at once
    first, second = site.submit("bob", both), site.submit("dave", both)
    shares = dict(
        line.strip().split("|") for line in site.run("sshare -nP -o Account,EffectvUsage").splitlines()
    )
    fair = dict(line.split() for line in site.run("sprio -h -o '%i %F'").splitlines())
    site.run(f"scancel {wall}")
    site.until(second, "RUNNING", limit_s=150)

    assert float(shares["vision"]) > float(shares["language"])
    assert int(fair[second]) > int(fair[first])
    assert site.job(first)[0] == "PENDING"


def test_several_teams_train_side_by_side(site):
    """Three teams' jobs share one host, each with GPUs of its own."""
    show = (
        "echo $SLURM_JOB_ACCOUNT $(hostname) $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS >> /shared/gpus; sleep 20"
    )
    site.run("mkdir -p /shared && chmod 1777 /shared && : > /shared/gpus && chmod 666 /shared/gpus")
    jobs = [
        site.submit("bob", "-p quick -w gpu-node1 --gres=gpu:1", show),
        site.submit("dave", "-p quick -w gpu-node1 --gres=gpu:2", show),
        site.submit("carol", "-p quick -w gpu-node1 -A language --gres=gpu:1", show),
    ]
    site.run(
        f"for i in $(seq 150); do [ $(wc -l < /shared/gpus) = {len(jobs)} ] && exit; sleep 0.2; done; squeue"
    )
    rows = [line.split() for line in site.run("cat /shared/gpus", "gpu-node1").splitlines()]

    assert sorted(row[0] for row in rows) == ["language", "language", "vision"]
    assert sorted(gpu for row in rows for gpu in row[-1].split(",")) == ["0", "1", "2", "3"]


def test_a_reservation_lets_its_team_in_and_others_wait(site):
    """It begins now, on one host, for vision; a second apply finds it as it should be."""
    now = datetime.fromisoformat(site.run("date +%Y-%m-%dT%H:%M"))
    one = {
        "hosts": "gpu-node2",
        "start": (now - timedelta(minutes=2)).isoformat(timespec="minutes"),
        "duration": "1h",
        "teams": ["vision"],
    }
    report = site.apply({"reservations": {"demo": one}})
    again = site.apply({"reservations": {"demo": one}})
    out = site.submit("dave", "-p quick -w gpu-node2 --gres=gpu:1")
    inside = site.submit("bob", "-p quick --reservation=demo --gres=gpu:1")
    site.until(inside, "RUNNING")
    reason = site.job(out)
    site.clear()
    gone = site.apply()

    assert whats(report) == ["create reservation demo"]
    assert again.pending == 0
    assert reason[0] == "PENDING"
    assert "Reserved" in reason[1] or "ReqNodeNotAvail" in reason[1]
    assert whats(gone) == ["remove reservation demo"]
    assert "No reservations" in site.run("scontrol show reservation")


def test_a_change_is_told_in_words_and_disturbs_nobody(site):
    """A team's limit and shares, under a running job of the team."""
    job = site.submit("bob", "-p quick --gres=gpu:4")
    site.until(job, "RUNNING")
    teams = {"vision": {"gid": 5000, "shares": 20, "max_gpus": 2}, "language": VALUES["teams"]["language"]}
    report = site.apply({"teams": teams})
    shown = site.run("sacctmgr -nP show assoc account=vision user= format=share,grptres").splitlines()[0]
    state = site.job(job)
    back = site.apply()

    assert whats(report) == ["team vision: Fairshare 50 -> 20, GrpTRES gres/gpu 6 -> 2"]
    assert {change.cost for host in report.hosts for change in host.changes} == {"live"}
    assert shown == "20|gres/gpu=2"
    assert state == ("RUNNING", "None")
    assert whats(back) == ["team vision: Fairshare 20 -> 50, GrpTRES gres/gpu 2 -> 6"]


def test_who_leaves_the_file_stays_until_the_jobs_end(site):
    """Slurm would end them with the association; then the next apply takes it away."""
    erin = {"uid": 6005, "team": "language", "additional_teams": ["vision"]}
    came = site.apply({"users": VALUES["users"] | {"erin": erin}})
    job = site.submit("erin", "-p quick --gres=gpu:1")
    site.until(job, "RUNNING")
    kept = site.apply()
    state = site.job(job)
    site.run(f"scancel {job}")
    site.until(job, "CANCELLED")
    gone = site.apply()

    assert whats(came) == ["create member erin of language", "create member erin of vision"]
    assert whats(kept) == ["remove member erin of vision"]
    assert any("member erin of language" in note and "jobs (1)" in note for _host, note in kept.notes())
    assert state == ("RUNNING", "None")
    assert whats(gone) == ["remove member erin of language"]
    assert "erin" not in site.run("sacctmgr -nP show user format=user")


def test_what_was_made_by_hand_stays_and_is_named(site):
    """An account, a member and a quality of service that the file does not name."""
    site.run("sacctmgr -i add account physics parent=root && sacctmgr -i add user dave account=physics")
    site.run("sacctmgr -i add qos special")
    report = site.apply()
    left = site.run("sacctmgr -nP show assoc format=account,user")
    site.run("sacctmgr -i delete user dave account=physics; sacctmgr -i delete account physics")
    site.run("sacctmgr -i delete qos special")

    notes = " ".join(note for _host, note in report.notes())
    assert (report.pending, report.ok) == (0, True)
    assert all(words in notes for words in ("physics", "dave of physics", "special"))
    assert "physics|dave" in left.splitlines()


def test_what_was_changed_by_hand_is_put_back(site):
    """A limit that somebody lifted."""
    site.run("sacctmgr -i modify account vision set GrpTRES=gres/gpu=-1")
    report = site.apply()

    assert whats(report) == ["team vision: GrpTRES gres/gpu none -> 6"]


def test_without_its_database_all_else_is_done(site):
    """The place and the fix are named; later, the next apply finishes."""
    changes = {"slurm.kill_wait": "3s", "teams": {**VALUES["teams"], "extra": {"gid": 5009}}}
    changes["users"] = VALUES["users"] | {"frank": {"uid": 6006, "team": "extra"}}
    site.run("systemctl stop slurmdbd mariadb && mv /var/lib/mysql/mysql /var/lib/mysql/away")
    try:
        report = site.apply(changes)
        waits = [site.run("grep ^KillWait /etc/slurm/slurm.conf", host) for host in ("control", "gpu-node1")]
        running = site.run("srun -N2 hostname")
    finally:
        site.run("mv /var/lib/mysql/away /var/lib/mysql/mysql")
    later = site.apply(changes)
    again = site.apply(changes)
    site.apply()

    (failed,) = [host for host in report.hosts if host.error]
    assert failed.host == "control"
    assert "mariadb.service is failed" in failed.error or "slurmdbd on control" in failed.error
    assert waits == ["KillWait=3", "KillWait=3"]
    assert len(running.split()) == 2
    assert later.ok, later
    assert "create team extra" in " ".join(one.diff for host in later.hosts for one in host.changes)
    assert again.pending == 0
