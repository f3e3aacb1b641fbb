"""What the health program found, munge and slurmd, traffic, settings: the smaller collectors."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.onhost.exporter import collectors, gpu_places, state_files, traffic
from clusterwright.onhost.exporter.collectors import services, verdicts
from clusterwright.onhost.exporter.settings import from_mapping, read


def test_each_fault_of_the_health_program_is_a_verdict(settings, samples):
    """With the part that it names; the rest of what a driver said is none."""
    given = settings(slurmd=True)
    Path(given.hooks, "found").write_text(
        "gpu-ecc GPU-0000-1 has 3 uncorrectable memory errors\n"
        "mount-missing /data is not mounted\n"
        "gpu-xid 79 off the bus: drain (0000:3b:00)\n"
        "gpu-lost 3 GPUs answer the driver, 4 are declared\n"
        "Unable to determine the device handle\n"
    )
    found = samples(verdicts.collect(given, {}))
    told = {(dict(key[1:])["check"], dict(key[1:])["part"]) for key in found if key[0] == "verdict"}

    assert told == {
        ("gpu-ecc", "GPU-0000-1"), ("mount-missing", "/data"), ("gpu-xid", "0000:3b:00"), ("gpu-lost", ""),
    }  # fmt: skip


def test_a_sound_host_has_been_looked_at(settings, samples):
    """No verdict, and when; before the first look nothing is known."""
    given = settings(slurmd=True)
    assert samples(verdicts.collect(given, {})) == {}
    Path(given.hooks, "found").write_text("")

    assert [key[0] for key in samples(verdicts.collect(given, {}))] == ["verdict_timestamp_seconds"]


@pytest.mark.parametrize(
    ("does", "answers"),
    [
        (("exit 0", "echo 'Slurmd PID = 7'"), (1, 1)),
        (("exit 1", "exit 1"), (0, 0)),
        (("exit 0", "echo nothing"), (1, 0)),
    ],
)
def test_services_answer_or_do_not(settings, samples, tmp_path, monkeypatch, does, answers):
    """By what their own programs say."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, words in (("munge", does[0]), ("unmunge", does[0]), ("scontrol", does[1])):
        (folder / name).write_text(f"#!/bin/sh\n{words}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    found = samples(services.collect(settings(slurmd=True), {}))

    assert (found["munge_answers",], found["slurmd_answers",]) == answers


def test_bytes_of_infiniband_count_and_those_of_bridges_do_not(tmp_path):
    """What a bridge carries goes through its ports, too."""
    for path, text in {
        "net/ib0/statistics/rx_bytes": 10, "net/ib0/statistics/tx_bytes": 20, "net/br0/statistics/rx_bytes": 99,
        "net/br0/bridge/x": 1, "net/lo/statistics/rx_bytes": 5, "ib/mlx5_0/ports/1/counters/port_rcv_data": 100,
        "ib/mlx5_0/ports/1/counters/port_xmit_data": "no number",
    }.items():  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(str(text))
    received, sent = traffic.byte_totals(str(tmp_path / "net"), str(tmp_path / "ib"))

    assert sum(received.values()) == 10 + 400
    assert sum(sent.values()) == 20


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("0000:3b:00", "0000:3b:00"), ("00000000:3B:00.0", "0000:3b:00"), ("PCI:0000:3b:00", "0000:3b:00"),
        ("3b:00.0", "0000:3b:00"), ("nonsense", ""), ("", ""),
    ],
)  # fmt: skip
def test_places_on_the_bus_have_one_form(text, place):
    """Drivers, kernels and nvidia-smi write them in different ones."""
    assert gpu_places.address(text) == place


@pytest.mark.parametrize(
    ("said", "has"),
    [
        ({"slurmd": True, "gpus": 4, "paths": ["/"]}, {"gpus", "xids", "jobs", "verdicts", "file_systems"}),
        ({"slurmd": True, "paths": ["/"]}, {"jobs", "verdicts", "file_systems"}),
        ({"control": True, "runs": "/shared/runs", "paths": ["/"]}, {"slurm", "runs", "file_systems"}),
        ({"control": True}, {"slurm"}),
    ],
)
def test_a_host_has_the_collectors_of_its_role(said, has):
    """Slurm is asked on the control host alone, and jobs and GPUs where there are some."""
    found = set(collectors.enabled_collectors(from_mapping(said)))

    assert has <= found
    assert not found & ({"gpus", "xids", "jobs", "verdicts", "file_systems", "slurm", "runs"} - has)


def test_a_compute_host_does_not_import_the_readers_of_slurm_and_runs():
    """They took half of the exporter's start on each of a thousand hosts."""
    code = (
        "import sys\nfrom clusterwright.onhost.exporter import keeper, settings\n"
        "keeper.collectors.enabled_collectors(settings.ExporterSettings(slurmd=True, gpus=8, paths=['/']))\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("clusterwright.onhost")}

    assert "clusterwright.onhost.exporter.collectors.jobs" in loaded
    assert not [name for name in loaded if ".supervisor" in name or ".control_host." in name]


def test_settings_of_a_newer_release_can_be_read(tmp_path):
    """A key that is not known yet is passed over."""
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"port": 1234, "paths": ["/a"], "tomorrow": {"x": 1}}))

    assert (read(str(path)).port, read(str(path)).paths, read(str(path)).gpus) == (1234, ["/a"], 0)


@pytest.mark.parametrize("text", ["[]", "{", '{"port": "9105"}', '{"slurmd": 1}', '{"paths": "/"}'])
def test_settings_of_another_kind_are_refused(tmp_path, text):
    """With the file's name."""
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"settings.json|Expecting"):
        read(str(path))


def test_what_is_kept_is_whole_or_not_there(tmp_path):
    """And a folder that is missing is made."""
    folder = str(tmp_path / "state")
    assert state_files.read(folder, "a") == {}
    assert state_files.write(folder, "a", {"x": 1})

    assert state_files.read(folder, "a") == {"x": 1}
    assert [path.name for path in Path(folder).iterdir()] == ["a.json"]


def test_hosts_with_an_old_python_can_run_it():
    """Syntax of 3.8, which Ubuntu 20.04 has."""
    for path in sorted(Path(collectors.__file__).parents[1].rglob("*.py")):
        assert ast.parse(path.read_text(), feature_version=(3, 8))
