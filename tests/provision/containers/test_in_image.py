"""What is made of Slurm's config.json, and what an image is refused for; the start itself is in a lab."""

import json
import os
from pathlib import Path

import pytest

from clusterwright.onhost.containers import in_image
from clusterwright.onhost.containers.in_image import adapt, find_program, unfit

HOST = os.uname().nodename


@pytest.fixture
def image(tmp_path):
    """An image with a shell, a link to it, and places for what hosts have anywhere."""
    root = tmp_path / "image" / "rootfs"
    for path in (*in_image.HOST, "/etc", "/usr/bin", "/shared"):
        (root / path.lstrip("/")).mkdir(parents=True)
    for path in in_image.NAMES:
        (root / path.lstrip("/")).touch()
    (root / "usr/bin/sh").touch()
    (root / "bin").symlink_to("usr/bin")
    return root


@pytest.fixture
def config(image):
    """What Slurm 22.05 writes for `srun --container=IMAGE sh`, shortened; the image's own part is by `crun spec`."""
    return {
        "process": {
            "args": ["sh"], "cwd": "/", "env": ["PATH=/usr/bin:/bin", "TERM=xterm", f"PWD={image.parent}", "A=b=c"],
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}],
            "capabilities": {"bounding": ["CAP_KILL"]}, "user": {"uid": 0, "gid": 0},
        },
        "root": {"path": str(image), "readonly": True},
        "hostname": "crun",
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
        "linux": {"namespaces": [{"type": "pid"}, {"type": "network"}], "maskedPaths": ["/proc/kcore"]},
    }  # fmt: skip


def test_only_files_are_the_image_s(config):
    """The user's own ids, the host's network and processes, no limits of the image's, and Slurm's commands first."""
    assert adapt(config, [], "/tmp/slurm-bob.1.0.0.x", "gpu-node1") == ""

    ids = (os.getuid(), os.getgid())
    assert [each["type"] for each in config["linux"]["namespaces"]] == ["user", "mount"]
    assert (config["process"]["user"]["uid"], config["process"]["user"]["gid"]) == ids
    assert {"rlimits", "hostname"} & (set(config) | set(config["process"])) == set()
    assert "SLURMD_NODENAME=gpu-node1" in config["process"]["env"]
    assert "A=b=c" in config["process"]["env"]
    assert f"PATH={in_image.COMMANDS}:/usr/bin:/bin" in config["process"]["env"]


def test_what_the_cluster_shows_is_there_with_its_mode_and_the_image_s_own_mounts_are_not(config, tmp_path):
    """A private /proc would need a namespace of processes, and Slurm could not see what runs."""
    (tmp_path / "code").mkdir()
    config["process"]["env"].append(f"{in_image.MOUNTS}={tmp_path}/code")
    shown = [{"path": str(tmp_path), "mode": "ro"}, {"path": "/not/on/this/host", "mode": "rw"}]
    assert adapt(config, shown, "/tmp/slurm-bob.1.0.0.x", "gpu-node1") == ""

    mounts = {each["destination"]: each for each in config["mounts"]}
    assert mounts["/proc"]["source"] == "/proc"
    assert "ro" in mounts[str(tmp_path)]["options"]
    assert f"{tmp_path}/code" in mounts
    assert "/not/on/this/host" not in mounts
    assert config["process"]["cwd"] == str(tmp_path / "image")


def test_a_batch_script_lies_in_a_folder_of_its_own_job(config):
    """Slurm's /tmp/slurm would be one for all jobs of a host, as /tmp is the host's."""
    config["process"]["args"] = ["/tmp/slurm/startup"]
    config["mounts"].append({"destination": "/tmp/slurm/startup", "source": "/x", "options": ["bind", "ro"]})
    assert adapt(config, [], "/tmp/slurm-bob.7.4294967291.0", "gpu-node1") == ""

    assert config["process"]["args"] == ["/tmp/slurm-bob.7.4294967291.0/startup"]
    assert config["process"]["args"][0] in [each["destination"] for each in config["mounts"]]


def test_an_image_without_the_program_is_named(image):
    """In words of ours, with the image's own PATH."""
    assert unfit(str(image), ["python3"], {"PATH": "/usr/bin:/bin"}, []) == "the image has no python3"
    assert unfit(str(image), ["sh"], {"PATH": "/usr/local/bin:/bin"}, []) == ""


def test_a_folder_that_is_no_image_is_named(tmp_path):
    """With the host, as others may have it."""
    assert unfit(f"{tmp_path}/no/rootfs", ["sh"], {}, []) == f"no image at {tmp_path}/no on {HOST}"


def test_a_mount_that_the_host_does_not_have_is_named(image):
    """With the host."""
    said = unfit(str(image), ["sh"], {"PATH": "/bin"}, ["/data/that/is/not"])

    assert said == f"/data/that/is/not is to be mounted, but does not exist on {HOST}"


def test_an_image_of_somebody_else_without_a_place_for_a_folder_is_named(image, tmp_path, monkeypatch):
    """Its owner can make one; the runtime would only say `Permission denied`."""
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root, who runs these tests, may write anywhere
    said = unfit(str(image), ["sh"], {"PATH": "/bin"}, [f"{tmp_path}/data"])

    assert said == (
        f"the image has no mount point for {tmp_path}/data. "
        f"Its owner creates one with `mkdir -p {image}{tmp_path}/data`"
    )


def test_a_program_may_be_in_a_folder_of_the_host_s(image, tmp_path):
    """A Python on shared storage."""
    (tmp_path / "python").touch()

    assert find_program(str(image), f"{tmp_path}/python", {}, [str(tmp_path)]) == f"{tmp_path}/python"
    assert find_program(str(image), f"{tmp_path}/python", {}, []) is None


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [("1(x2)", {"SLURM_PROCID": "1", "SLURM_NODEID": "1", "SLURM_LOCALID": "0"}), ("2(x2)", {})],
)
def test_a_task_is_told_who_it_is_where_there_is_one_on_a_host(tasks, expected, tmp_path, monkeypatch):
    """Slurm 22.05 tells it what its job's batch script was told; with two on a host it is a later one, and knows."""
    environment = {"SLURM_STEP_TASKS_PER_NODE": tasks, "SLURM_STEP_NODELIST": "gpu-node[1-2]"}
    (tmp_path / "slurm.conf").write_text("ClusterName=x\nSlurmctldHost=x\n")
    monkeypatch.setenv(
        "SLURM_CONF", str(tmp_path / "slurm.conf")
    )  # scontrol reads one before it says anything
    in_image.complete(environment, "gpu-node2")

    told = {name: environment.get(name) for name in ("SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID")}
    assert {name: text for name, text in told.items() if text} == expected
    assert environment["SLURMD_NODENAME"] == "gpu-node2"


def test_the_result_is_json(config):
    """As crun reads it."""
    adapt(config, [], "/tmp/slurm-bob.1.0.0.x", "gpu-node1")

    assert json.loads(json.dumps(config)) == config


def test_the_state_of_a_step_has_a_name_that_nobody_can_create_first(config, tmp_path, monkeypatch):
    """Users know each other's job numbers; Slurm removes what begins with the step's name."""
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    (bundle / "config.json").write_text(json.dumps(config))
    (tmp_path / "state" / "bob.7.batch.0").mkdir(parents=True)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(in_image, "STATE", str(tmp_path / "state"))
    monkeypatch.setattr(in_image, "STEPS", str(tmp_path / "tmp"))
    monkeypatch.setattr(in_image, "places", list)
    monkeypatch.setattr(in_image, "unfit", lambda *_: "")
    monkeypatch.setattr("sys.argv", ["in_image.py", str(bundle), "bob.7.batch.0", "gpu-node2"])
    started = []
    monkeypatch.setattr("os.execvp", lambda program, argv: started.append(argv))
    in_image.main()
    in_image.main()

    roots = [Path(argv[argv.index("--root") + 1]) for argv in started]
    assert len(set(roots)) == 2
    assert all(
        root.name.startswith("bob.7.batch.0.") and root.stat().st_mode & 0o777 == 0o700 for root in roots
    )
    steps = list((tmp_path / "tmp").iterdir())
    assert len(steps) == 2
    assert all(
        step.name.startswith("slurm-bob.7.batch.0.") and step.stat().st_mode & 0o777 == 0o700
        for step in steps
    )
    assert {step.name.rpartition(".")[2] for step in steps}.isdisjoint(
        root.name.rpartition(".")[2] for root in roots
    )
