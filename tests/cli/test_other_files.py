"""Files of other tools, of other names and without content, in place of those that a command reads."""

import json
import time

import pytest

from clusterwright.config.other_files import other_file

CLUSTER = "name: lab\nnodes:\n  cpu: {count: 1}\n"
OTHERS = {
    "a Kubernetes manifest": "apiVersion: batch/v1\nkind: Job\n---\napiVersion: v1\nkind: Service\n",
    "a Kubernetes manifest, as JSON": '{\n  "apiVersion": "v1",\n  "kind": "Pod"\n}\n',
    "a Docker Compose file": "name: x\nservices:\n  web:\n    image: nginx\nnetworks: {}\n",
    "an Ansible playbook": "---\n- name: site\n  hosts: all\n  become: true\n  tasks: []\n",
    "an Ansible inventory or another INI file": "[gpu]\ngpu1 ansible_host=10.0.0.1\n\n[gpu:vars]\nansible_user=root\n",
    "an sbatch script": "#!/bin/bash\n#SBATCH --nodes=2\nsrun python train.py\n",
    "a Terraform file": 'resource "aws_instance" "gpu" {\n  count = 8\n}\n',
    "a DeepSpeed configuration": '{\n  "train_batch_size": 64,\n  "zero_optimization": {"stage": 3}\n}\n',
    "a configuration of Hugging Face Accelerate": "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n",
    "a model configuration of Hugging Face": '{\n  "hidden_size": 4096,\n  "model_type": "llama"\n}\n',
    "a Dockerfile": "FROM debian:12\nRUN apt-get update\n",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_of_another_tool_is_named_as_one(kind):
    """In place of a list of keys that it lacks."""
    finding = other_file(OTHERS[kind], "x.yaml")

    assert finding.code == "other-file"
    assert f"x.yaml is {kind.partition(',')[0]}, not" in finding.message


@pytest.mark.parametrize(
    "text", [CLUSTER, f"{CLUSTER}kind: Job\napiVersion: v1\n", "command: [a]\nservices: {}\n", ""]
)
def test_a_cluster_or_job_file_with_a_wrong_key_remains_one(text):
    """Its own keys decide."""
    assert other_file(text, "x.yaml") is None


@pytest.mark.parametrize("line", ["\n", " ", "- \n", "{", "- a: b\n", "FROM\n"])
def test_long_texts_are_searched_in_linear_time(line):
    """Patterns that try every end of a run of spaces would take minutes."""
    start = time.monotonic()
    other_file(line * 60_000, "x.yaml")

    assert time.monotonic() - start < 5


def test_validate_names_the_tool_once(command, tmp_path):
    """One error, with the command that has the same purpose."""
    (tmp_path / "job.yaml").write_text(OTHERS["a Kubernetes manifest"])

    done = command("validate", "job.yaml")

    assert done.returncode == 2
    assert "error[other-file]: job.yaml is a Kubernetes manifest" in done.stderr
    assert "`wright schema job`" in done.stderr
    assert done.stderr.endswith("job.yaml: 1 error\n")


def test_the_count_names_the_file_of_the_errors(command, tmp_path):
    """The cluster file beside the validated one has them."""
    (tmp_path / "job.yaml").write_text("name: t\ncommand: [train.py]\nnodes: 1\ntime: 10m\n")
    command("init")

    done = command("validate", "--cluster", "job.yaml", "cluster.yaml")

    assert done.stderr.endswith("job.yaml: 1 error\n")


def test_a_missing_file_names_the_one_with_the_closest_name(command):
    """With its folder; the schema for editors is no cluster file."""
    command("init")

    assert "fix: did you mean cluster.yaml?" in command("validate", "cluster.yml").stderr
    assert "fix: did you mean cluster.yaml?" in command("apply", "--cluster", "clutser.yaml").stderr
    assert "wright init" in command("validate", "zzz.yaml").stderr


def test_json_with_two_commas_has_a_fix_for_json(command, tmp_path):
    """Quotes and brackets of YAML are not the fault."""
    (tmp_path / "cluster.json").write_text('{"name": "x",, "nodes": {}}')

    assert "fix: remove the comma: there is no value before it" in command("validate", "cluster.json").stderr


def test_an_address_is_no_log(command):
    """It is named whole, with a line that reads it."""
    done = command("why", "https://host.invalid/slurm.log")

    assert (done.returncode, done.stdout) == (2, "")
    assert "`https://host.invalid/slurm.log` is an address" in done.stderr
    assert "curl -fsS https://host.invalid/slurm.log | wright why -" in done.stderr


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("", ["ClusterName", "SlurmctldHost", "NodeName"]),
        ("# to do\n", ["ClusterName", "SlurmctldHost", "NodeName"]),
        ("ClusterName=a\n", ["SlurmctldHost", "NodeName"]),
        ("ClusterName=a\nSlurmctldHost=head\n", ["NodeName"]),
        ("ClusterName=a\nSlurmctldHost=head\nMaxNodeCount=4\n", []),
        ("SlurmdTimeout=0\n", []),
        ("Include nodes.conf\n", []),
    ],
)
def test_a_slurm_conf_without_what_slurmctld_needs_is_not_clean(command, tmp_path, text, missing):
    """A fragment remains one: it has other settings, but no ClusterName."""
    (tmp_path / "slurm.conf").write_text(text)
    (tmp_path / "nodes.conf").write_text("")

    done = command("lint", "slurm.conf", "--json")

    rows = json.loads(done.stdout)["findings"]
    assert [row["key"] for row in rows if "does not start without it" in row["message"]] == missing
    assert done.returncode == (5 if missing else done.returncode)


def test_an_unknown_gpu_of_a_lab_is_a_note(command, tmp_path):
    """As in the file of real hosts."""
    command("init")
    file = tmp_path / "cluster.yaml"
    file.write_text(file.read_text().replace("a100", "h10000"))

    done = command("validate", "cluster.yaml")

    assert done.returncode == 0
    assert "`h10000`" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "fix"),
    [
        ("management: 10.77.0.11", "management: 10.0.0.300", "write the address as 10.77.0.11"),
        ("management: 10.77.0.10", "management: 10.0.0.300", "write the address as 10.77.0.15"),
        ("compute: 10.77.1.11", "compute: 5", "write the address as 10.77.1.10"),
    ],
)
def test_the_fix_of_an_address_is_a_free_one_of_its_network(command, tmp_path, old, new, fix):
    """Written so, the file is valid."""
    command("init")
    file = tmp_path / "cluster.yaml"
    file.write_text(file.read_text().replace(old, new))

    done = command("validate", "cluster.yaml")
    file.write_text(file.read_text().replace(new, f"{old.partition(' ')[0]} {fix.rpartition(' ')[2]}"))

    assert f"fix: {fix}\n" in done.stderr
    assert command("validate", "cluster.yaml").returncode == 0


def test_a_folder_that_cannot_be_made_is_not_an_unreadable_file(command):
    """The same code as for a file that cannot be written."""
    command("init")

    done = command("render", "--out", "cluster.yaml/out")

    assert done.returncode == 2
    assert "error[not-writable]: cluster.yaml/out: Not a directory" in done.stderr
