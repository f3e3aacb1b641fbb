"""`wright adopt`: one new file, whole or not at all."""

import json

import pytest

from clusterwright.config.load import load_cluster

CONF = (
    "ClusterName=tiny\nSlurmctldHost=m\nNodeName=n[1-2] CPUs=4 RealMemory=3000\nPartitionName=p Nodes=ALL\n"
)


@pytest.fixture
def adopt(command, tmp_path):
    """The command, in a folder with a copy of a site's files."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "slurm.conf").write_text(CONF)
    (tmp_path / "etc" / "gres.conf").write_text("AutoDetect=nvml\n")
    (tmp_path / "etc" / "slurmdbd.conf").write_text("PurgeEventAfter=1month\n")
    return lambda *words: command("adopt", *words)


def test_a_copy_of_the_files_becomes_a_cluster_file(adopt, tmp_path):
    """The file is valid, manages nothing, and what it does not hold is at its end."""
    done = adopt("--folder", "etc", "--slurm", "24.05")

    cluster, text = load_cluster("cluster.yaml"), (tmp_path / "cluster.yaml").read_text()
    assert done.returncode == 0
    assert (cluster.name, cluster.manage, len(cluster.hosts())) == ("tiny", (), 3)
    assert cluster.slurm.files == {"gres.conf": ("AutoDetect=nvml",)}
    assert "#   etc/slurmdbd.conf:1: PurgeEventAfter=1month: " in text
    assert "1 line of the site's files" in done.stderr


def test_the_baseline_of_hosts_is_next_to_the_file(adopt, tmp_path):
    """Only its owner reads it, because it has rules that only root may read; an older one is replaced."""
    host = tmp_path / "etc" / "hosts" / "n1"
    host.mkdir(parents=True)
    (host / "limits").write_text("==> /etc/security/limits.conf <==\n* hard core 0\n")
    (tmp_path / "site.baseline.json").write_text("{}")

    done = adopt("--folder", "etc", "--slurm", "24.05", "--out", "site.yaml")

    path = tmp_path / "site.baseline.json"
    assert "site.yaml, site.baseline.json" in done.stderr
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["n1"]["limits"] == {
        "/etc/security/limits.conf": [[1, "* hard core 0"]]
    }


def test_json_has_what_the_file_does_not_hold(adopt, tmp_path):
    """By file and line, also accounts of slurmdbd and lines of hosts in the folder; stdout has nothing else."""
    etc = tmp_path / "etc"
    (etc / "slurm.conf").write_text(CONF + "AccountingStorageType=accounting_storage/slurmdbd\n")
    (etc / "associations").write_text(
        "Cluster|Account|User|Share\ntiny|root||1\ntiny|hep||7\ntiny|staff||1\n"
    )
    (etc / "hosts" / "n1").mkdir(parents=True)
    (etc / "hosts" / "n1" / "limits").write_text("==> /etc/security/limits.conf <==\n# none\n* hard core 0\n")

    done = adopt("--folder", "etc", "--slurm", "24.05", "--json")

    report = json.loads(done.stdout)
    assert load_cluster("cluster.yaml").teams["hep"].shares == 7
    assert (report["file"], report["cluster"], report["differences"]) == ("cluster.yaml", "tiny", [])
    assert report["baseline"] == "cluster.baseline.json"
    assert [(line["file"], line["line"], line["text"]) for line in report["left_out"]] == [
        ("associations", 4, "account staff"),
        ("n1:/etc/security/limits.conf", 2, "* hard core 0"),
        ("etc/slurmdbd.conf", 1, "PurgeEventAfter=1month"),
    ]
    assert all(line["reason"] for line in report["left_out"])
    assert "os" in report["placeholders"]


def test_the_version_is_that_of_the_folder(adopt, tmp_path):
    """`slurm` in the folder has the output of scontrol --version."""
    (tmp_path / "etc" / "slurm").write_text("slurm 24.11.5\n")

    assert adopt("--folder", "etc").returncode == 0
    assert load_cluster("cluster.yaml").software.slurm == "24.11.5"


def test_an_existing_file_stays(adopt, tmp_path):
    """Also one that is a broken link."""
    (tmp_path / "cluster.yaml").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")

    for out in ("cluster.yaml", "link"):
        done = adopt("--folder", "etc", "--slurm", "24.05", "--out", out)
        assert "file-exists" in done.stderr
    assert (tmp_path / "cluster.yaml").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), "adopt-source"),
        (("--control", "m", "--folder", "etc"), "adopt-source"),
        (("--control=-oProxyCommand=touch x",), "adopt-source"),
        (("--folder", "nowhere", "--slurm", "24.05"), "file-unreadable"),
        (("--folder", "etc"), "lint-unknown"),
        (("--folder", "etc", "--slurm", "17.02"), "lint-unknown"),
    ],
)
def test_without_one_source_and_a_release_no_file_is_written(adopt, tmp_path, words, code):
    """A wrong use is an error, and nothing is left behind."""
    done = adopt(*words)

    assert done.returncode == 2
    assert f"error[{code}]" in done.stderr
    assert not (tmp_path / "cluster.yaml").exists()
    assert not (tmp_path / "x").exists()
