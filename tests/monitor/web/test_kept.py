"""What the page keeps: history that stops growing, trails of jobs, and the file of users."""

import json
import resource
import subprocess
import sys

import pytest

from clusterwright.edge.fakes import FakeClock
from clusterwright.errors import WrightError
from clusterwright.monitor.snapshot import GpuSnapshot, JobView, NodeView, RunSnapshot, Snapshot
from clusterwright.monitor.web.history import MOST, ROW_LIMITS, SPANS, History
from clusterwright.monitor.web.trails import MOST as TRAIL_MOST
from clusterwright.monitor.web.trails import Trail, Trails
from clusterwright.monitor.web.users import Users, create_user

PASSWORD = "correct horse battery"
START = 1_795_003_200  # a whole hour


def moment(*, used=3, use=0.5):
    """Two nodes, one of them down."""
    nodes = (
        NodeView("n1", "mixed", gpus_total=8, gpus_used=used, gpus=(GpuSnapshot(0, utilisation=use),)),
        NodeView("n2", "down"),
    )
    return Snapshot("c", 0.0, nodes, (JobView("1", "a", "u", "t", "p", "RUNNING"),))


@pytest.fixture
def clock():
    """At a whole hour."""
    return FakeClock(START)


@pytest.fixture
def history(tmp_path, clock):
    """An empty one."""
    made_history = History(tmp_path / "history.sqlite", clock)
    yield made_history
    made_history.close()


def test_a_span_has_the_means_of_its_moments(history, clock):
    """Several in one bucket become their mean; what nobody said takes no part."""
    for used, use in ((2, 0.2), (4, None), (6, 0.6)):
        history.add(moment(used=used, use=use))
        clock.sleep(10)
    rows = history.read("hours")

    assert rows["at"] == [START]
    assert rows["gpus_used"] == [4.0]
    assert rows["use"] == [pytest.approx(0.4)]
    assert rows["up"] == [1.0]
    assert rows["nodes"] == [2.0]


def test_the_file_stops_growing(history, clock):
    """A year of moments, one in half an hour: no more rows than are kept, and no more points than are sent."""
    for _ in range(366 * 48):
        history.add(moment())
        clock.sleep(1800)
    rows = dict(history._file.execute("SELECT step, count(*) FROM moments GROUP BY step").fetchall())

    assert rows == {60: ROW_LIMITS[60], 600: ROW_LIMITS[600], 3600: 366 * 24}
    assert all(0 < len(history.read(span)["at"]) <= MOST + 2 for span in SPANS)


def test_a_clock_that_jumps_takes_nothing_away(history, clock):
    """A century ahead and back: what was kept is still there."""
    for jump in (0, 60, 100 * 366 * 86400, -100 * 366 * 86400):
        clock.sleep(jump)
        history.add(moment())

    assert history.read("hours")["gpus_used"] == [3.0, 3.0]


def test_a_damaged_file_is_set_aside(tmp_path, clock):
    """The page begins anew, and the old file is not lost."""
    path = tmp_path / "history.sqlite"
    path.write_bytes(b"this is no database at all" * 100)
    history = History(path, clock)
    history.add(moment())

    assert history.read("hours")["gpus_used"] == [3.0]
    assert (tmp_path / "history.damaged").read_bytes().startswith(b"this is no database")
    assert path.stat().st_mode & 0o777 == 0o600
    history.close()


def test_a_disk_that_is_full_loses_moments_not_the_page(tmp_path):
    """A real limit on the file's size, in a process of its own."""
    program = f"""
import resource, signal, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from clusterwright.edge.fakes import FakeClock
from clusterwright.monitor.snapshot import Snapshot
from clusterwright.monitor.web.history import History
clock = FakeClock({START})
history = History(Path({str(tmp_path / "h.sqlite")!r}), clock)
history.add(Snapshot("c", 0.0))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (16384, 16384))
for minute in range(1, 2000):
    clock.sleep(60)
    history.add(Snapshot("c", 0.0))
print(bool(history.trouble), history.trouble)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True h.sqlite: ")
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 16384


def test_a_trail_keeps_a_whole_life_in_little_room():
    """First and last moment stay however many there are; those between grow sparser evenly."""
    trail = Trail()
    for second in range(100_000):
        trail.add(second, (second / 10, None, 0.4, None))
    shown = trail.shown()

    assert len(shown["at"]) <= TRAIL_MOST
    assert shown["at"][0] == 0
    assert shown["at"][-1] > 99_000
    steps = {b - a for a, b in zip(shown["at"], shown["at"][1:], strict=False)}
    assert len(steps) == 1
    assert shown["tokens_per_s"] == [None] * len(shown["at"])
    assert shown["mfu"][0] == pytest.approx(0.4)


def test_a_job_that_has_ended_leaves_no_trail():
    """Nothing is kept of it; one that waits has none."""
    run = RunSnapshot("r", loss=2.0)
    job = JobView("1", "a", "u", "t", "p", "RUNNING", started=1.0, run=run)
    trails = Trails()
    trails.add(10.0, (job, JobView("2", "b", "u", "t", "p", "PENDING")))
    assert trails.series("1")["loss"] == [2.0]
    assert trails.series("2")["at"] == []

    trails.add(20.0, ())
    assert trails.series("1")["at"] == []


def test_a_user_is_known_by_the_password_alone(tmp_path):
    """A hash with a salt of its own; the password stands nowhere; nobody else can read the file."""
    users = Users(tmp_path / "users.json")
    users.set_user(create_user("ann", "operator", PASSWORD))
    users.set_user(create_user("bob", "user", PASSWORD))
    ann, bob = Users(users.path).all().values()

    assert ann.check_password(PASSWORD)
    assert not ann.check_password(PASSWORD + " ")
    assert ann.salt != bob.salt
    assert ann.hashed != bob.hashed
    assert PASSWORD not in users.path.read_text()
    assert users.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("name", "role", "password"), [
    ("", "user", PASSWORD), ("a b", "user", PASSWORD), ("<b>", "user", PASSWORD), ("-x", "user", PASSWORD),
    ("ann", "root", PASSWORD), ("ann", "user", "short"), ("ann", "user", "x" * 257), ("ann\n", "user", PASSWORD),
])  # fmt: skip
def test_a_user_that_will_not_do_is_refused(name, role, password):
    """With what would."""
    with pytest.raises(WrightError, match=r"error\[web-user\]"):
        create_user(name, role, password)


def test_a_file_that_others_can_read_is_refused(tmp_path):
    """Its hashes may be known, and who is in it may be another's doing."""
    users = Users(tmp_path / "users.json")
    users.set_user(create_user("ann", "user", PASSWORD))
    users.path.chmod(0o640)

    with pytest.raises(WrightError, match="others can read it"):
        Users(users.path).all()


@pytest.mark.parametrize("text", [
    "", "{", "[]", '{"users": 3}', '{"users": {"a": {"role": "user", "salt": "?", "scrypt": ""}}}',
    '{"users": {"a": []}}', "null",
])  # fmt: skip
def test_a_damaged_file_is_refused(tmp_path, text):
    """Nobody is let in by half a file, and nobody is thrown out of it by the next user that is added."""
    path = tmp_path / "users.json"
    path.write_text(text)
    path.chmod(0o600)

    with pytest.raises(WrightError, match=r"error\[web-users-file\]"):
        Users(path).set_user(create_user("ann", "user", PASSWORD))
    assert path.read_text() == text


def test_a_role_that_is_none_lets_nobody_in(tmp_path):
    """Written by hand, or by a newer program."""
    users = Users(tmp_path / "users.json")
    users.set_user(create_user("ann", "operator", PASSWORD))
    rows = json.loads(users.path.read_text())
    rows["users"]["ann"]["role"] = "emperor"
    users.path.write_text(json.dumps(rows))

    assert Users(users.path).all() == {}
