"""What is asked of a login host, what is kept of it, and for how long."""

import json

import pytest

from clusterwright.config.cluster import Unmanaged
from clusterwright.edge.fakes import FakeClock
from clusterwright.errors import WrightError
from clusterwright.launch.unmanaged.gather import CACHE_S, cache_file, has_slurm, learned_cluster


def test_a_machine_with_slurm_is_recognized(login_host):
    """Slurm's own answer counts, not that its commands are installed."""
    assert has_slurm()
    login_host.program("scontrol", "#!/bin/sh\nexit 1\n")
    assert not has_slurm()


def test_slurm_is_asked_again_after_ten_minutes(login_host):
    """In between the user's cache answers, and a damaged cache is asked anew."""
    clock = FakeClock()
    assert learned_cluster(Unmanaged(), clock=clock).name == "tiny"
    asked = login_host.asked
    assert learned_cluster(Unmanaged(), clock=clock).partitions["debug"].max_time == 3600
    assert login_host.asked == asked
    clock.sleep(CACHE_S + 1)
    learned_cluster(Unmanaged(), clock=clock)
    assert login_host.asked > asked
    cache_file(Unmanaged()).write_text('{"schema": 1, "texts": 7}')
    assert learned_cluster(Unmanaged(), clock=clock).name == "tiny"


def test_the_cache_of_another_version_is_not_read(login_host):
    """A field that is not known counts as nothing kept."""
    clock = FakeClock()
    learned_cluster(Unmanaged(), clock=clock)
    document = json.loads(cache_file(Unmanaged()).read_text())
    cache_file(Unmanaged()).write_text(json.dumps({**document, "schema": 99}))
    asked = login_host.asked
    learned_cluster(Unmanaged(), clock=clock)
    assert login_host.asked > asked


def test_a_cache_that_another_user_can_write_is_not_used(login_host):
    """Its Python would start the jobs of this user."""
    clock = FakeClock()
    learned_cluster(Unmanaged(), clock=clock)
    cache_file(Unmanaged()).parent.chmod(0o777)
    asked = login_host.asked
    learned_cluster(Unmanaged(), clock=clock)
    assert login_host.asked > asked


def test_a_folder_that_a_node_sees_is_not_looked_for_again(login_host):
    """The job that looks runs once; nodes and partitions are read again."""
    clock = FakeClock()
    first = learned_cluster(Unmanaged(), clock=clock).shared_folder
    login_host.srun("exit 1")
    clock.sleep(CACHE_S + 1)
    assert learned_cluster(Unmanaged(), clock=clock).shared_folder == first == f"{login_host.home}/wright"


def test_a_named_folder_takes_the_place_of_the_kept_one(login_host, tmp_path, monkeypatch):
    """The variable counts at once."""
    clock = FakeClock()
    learned_cluster(Unmanaged(), clock=clock)
    monkeypatch.setenv("CLUSTERWRIGHT_SHARED", str(tmp_path / "other"))
    assert learned_cluster(Unmanaged(), clock=clock).shared_folder == str(tmp_path / "other")


def test_a_host_without_slurm_is_an_error(login_host):
    """The error names the host and two ways on; nothing is kept."""
    (login_host.bin / "scontrol").unlink()
    login_host.program("command", "")
    with pytest.raises(WrightError) as error:
        learned_cluster(Unmanaged(login="no-such-host.invalid"))
    assert error.value.code == "unreachable"
    assert not cache_file(Unmanaged(login="no-such-host.invalid")).exists()
