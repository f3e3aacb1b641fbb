import json
import resource
import stat
import threading

from clusterwright.onhost.supervisor.folder import Events, Folder


def test_numbers_of_the_chain_are_given_once(tmp_path):
    """Ten jobs that begin at the same time have ten numbers."""
    numbers = []
    threads = [
        threading.Thread(target=lambda: numbers.append(Folder(str(tmp_path)).join_chain("7")))
        for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(numbers) == list(range(1, 11))


def test_a_later_job_takes_the_run_from_an_earlier_one(tmp_path):
    """The earlier one sees it, and which job it is, and lets go."""
    folder = Folder(str(tmp_path))
    first = folder.join_chain("7")
    assert folder.successor(first) == ""

    folder.join_chain("8")

    assert folder.successor(first) == "8"


def test_a_job_counts_once_however_many_supervisors_it_had(tmp_path):
    """A supervisor that is followed inside its job uses up no successor."""
    folder = Folder(str(tmp_path))
    for job_id in ("7", "7", "7", "8"):
        folder.join_chain(job_id)

    assert [folder.jobs_to(number) for number in (1, 3, 4)] == [1, 1, 2]


def test_the_token_is_one_and_private(tmp_path):
    """Whoever asks gets the same; nobody else can read it."""
    token = Folder(str(tmp_path)).token()

    assert Folder(str(tmp_path)).token() == token
    assert len(token) == 64
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600


def test_a_torn_document_reads_as_none(tmp_path):
    """A host that died while it wrote leaves nothing that misleads."""
    folder = Folder(str(tmp_path))
    (tmp_path / "ended.json").write_text('{"outcome": "fin')
    assert folder.read("ended.json") == {}

    folder.write("ended.json", {"outcome": "finished"})

    assert folder.read("ended.json") == {"outcome": "finished"}


def test_the_newest_step_and_generation_are_read_from_names(tmp_path):
    """Half-written folders of other names do not count."""
    folder = Folder(str(tmp_path))
    assert (folder.newest_step(), folder.last_generation()) == (0, 0)

    for name in (
        "checkpoints/step-00000025",
        "checkpoints/step-00000100",
        "checkpoints/.step-00000125",
        "logs/2",
        "logs/10",
    ):
        (tmp_path / name).mkdir()

    assert (folder.newest_step(), folder.last_generation()) == (100, 10)


def test_an_event_is_one_line(tmp_path):
    """With time, host and generation."""
    events = Events(Folder(str(tmp_path)), "supervisor-1", "gpu-node1")
    events.write("host_lost", 2, lost_host="gpu-node2")
    events.write("job_end", 2, outcome="finished")
    first, second = map(json.loads, (tmp_path / "events" / "supervisor-1.jsonl").read_text().splitlines())

    assert {
        "event": "host_lost",
        "host": "gpu-node1",
        "generation": 2,
        "lost_host": "gpu-node2",
    }.items() <= first.items()
    assert second["outcome"] == "finished"
    assert second["time"] >= first["time"]


def test_a_full_disk_ends_nothing(tmp_path, capfd):
    """Events are lost, which is said once; when there is room again, the next one stands on a line of its own."""
    events = Events(Folder(str(tmp_path)), "agent", "gpu-node1")
    path = tmp_path / "events" / "agent.jsonl"
    path.symlink_to("/dev/full")
    events.write("standby", 1)
    events.write("standby", 1)
    assert capfd.readouterr().err.count("No space left on device") == 1

    path.unlink()
    path.write_text('{"time": 1, "eve')
    events.write("host_ready", 1)

    assert json.loads(path.read_text().splitlines()[-1])["event"] == "host_ready"


def test_a_document_that_does_not_fit_leaves_the_old_one(tmp_path, capfd):
    """A supervisor beats on, on a full disk."""
    folder = Folder(str(tmp_path))
    folder.write("pulse", {"beats": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        assert not folder.write("pulse", {"beats": "2" * 5000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert folder.read("pulse") == {"beats": 1}
    assert "pulse is not written" in capfd.readouterr().err


def test_who_trained_is_told_by_the_logs(tmp_path):
    """In the order that is asked for; a file of another name is no host."""
    folder = Folder(str(tmp_path))
    for name in ("b", "a", "stacks"):
        (tmp_path / "logs" / "3" / name).mkdir(parents=True)

    assert folder.trained_hosts(3, ("a", "b", "c")) == ("a", "b")
    assert folder.trained_hosts(3, ("a", "b", "c"), lost_hosts=("a",)) == ("b",)
    assert folder.trained_hosts(3, ("a", "b", "c"), lost_hosts=("a", "b")) == ("a", "b")
    assert folder.trained_hosts(2, ("a", "b", "c")) == ()
