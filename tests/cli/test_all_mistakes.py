"""Mistakes that only the command itself would find: named together with those of single values, in one run."""

import pytest
from cyclopts import CycloptsError

from clusterwright.cli import app
from clusterwright.cli._mistakes import line_error, with_others
from clusterwright.errors import WrightError

SITE = """name: campus
os: ubuntu-24.04
networks: {management: {subnet: 192.0.2.0/24, rate: 1Gbit/s}}
nodes:
  head:
    {role: control, hosts: head, addresses: {management: 192.0.2.10}, memory: 128GiB,
     cpus: {sockets: 1, cores_per_socket: 16, threads_per_core: 2}}
  gpu:
    {role: compute, hosts: "gpu[1-2]", addresses: {management: 192.0.2.11}, memory: 256GiB,
     cpus: {sockets: 1, cores_per_socket: 32, threads_per_core: 2}, gpus: {model: a100, count: 4, memory: 40GiB}}
storage: {shared: {kind: nfs, path: /shared, server: head, export: /srv/shared}}
software: {slurm: "23.11"}
partitions: {train: {nodes: [gpu], default: true, max_time: 3d, default_time: 4h}}
"""


@pytest.fixture(autouse=True)
def _site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    (tmp_path / "site.yaml").write_text(SITE)
    (tmp_path / "job.yaml").write_text("name: a\ncommand: [train.py]\nnodes: 1\ngpus_per_node: 1\ntime: 1h\n")
    (tmp_path / "train.py").write_text("print()\n")
    (tmp_path / "runs" / "gpt").mkdir(parents=True)


def messages_of(line):
    """Return the messages and fixes of a line, whose command does not run."""
    words = line.split()
    try:
        app().parse_args(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        found = line_error(error, app())
    except WrightError as error:
        found = with_others(error, words, app())
    else:
        pytest.fail(f"accepted: {line}")
    return [f"{finding.message} {finding.fix}" for finding in found.findings]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("train --time 90 --array 9-0 -- python train.py", ["--time", "it is 0-9"]),
        ("train --time 90 --dependency afterok:123:45 -- python train.py", ["--time", "write 123,45"]),
        ("train --time 90 --nodes 4 --cluster site.yaml -- python train.py", ["--time", "requests 4 hosts"]),
        (
            "train --nodes two --code ./src -- python trian.py",
            ["--nodes", "code folder", "did you mean `train.py`"],
        ),
        ("train --nodes two --set checkpoint.evry=10m -- python train.py", ["--nodes", "`evry`"]),
        ("train job.yaml --local --nodes two --set checkpoint.evry=10m --set time 2h", ["--nodes", "`evry`"]),
        ("train --nodes two --hostfile hosts.bad -- python train.py", ["--nodes", "hosts.bad"]),
        ("dev --time noon --gpus 16 --environment nope --cluster site.yaml", ["--time", "16 GPUs", "`nope`"]),
        (
            "plan explain --model llama3-8b --gpu h100-sxm-80gb --gpus 64 --seq 4096 --tp 3 --network nvlink",
            ["--network", "does not divide 64 GPUs", "32 heads"],
        ),
        ("checkpoints verify runs/gtp --step latest", ["--step", "did you mean `runs/gpt`"]),
        ("tune network --cluster site.yaml --nodes 4 --nic-rate 400", ["--nic-rate", "has 2 compute hosts"]),
        (
            "plan cost --gpu h100 --nodes 2 --currency yuan --exchange-rate 7,2 --cloud gcp",
            ["CNY", "7.2", "google-cloud"],
        ),
    ],
)
def test_one_run_names_what_the_command_would_find(line, named):
    """Checks of single values stop a line before its command starts."""
    messages = messages_of(line)
    for text in named:
        assert any(text in message for message in messages), messages


@pytest.mark.parametrize("currency", ["CNY", "eur", " usd "])
def test_codes_of_currencies_are_accepted(currency):
    """In any case."""
    words = ["plan", "cost", "--gpu", "h100", "--nodes", "1", "--currency", currency]
    command, _bound, _ignored = app().parse_args(words, exit_on_error=False, print_error=False)

    assert command.__name__ == "cost"


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("plan gradients --parameters 1 --step 250ms --hosts 2 --rate 1Gbit/s", "--step 0.25"),
        ("plan gradients --parameters 1 --step 2min --hosts 2 --rate 1Gbit/s", "--step 120"),
        ("plan power --gpu h100 --nodes 1 --cpu-w 350W", "--cpu-w 350"),
        ("bundle --out x.tar --os ubuntu", "ubuntu-20.04, ubuntu-22.04, ubuntu-24.04"),
        ("report cluster --team vision", "wright report team vision"),
        ("plan fabric --nodes 32 --gpu h100 --nic-rate 400GB/s", "400Gbit/s"),
        ("cancel --all", "wright cancel JOB"),
        ("lint slurm.conf --slurm 25 --root ./rootfs", "--root"),
    ],
)
def test_the_fix_is_the_value_that_is_meant(line, fix):
    """Not only that the value is wrong."""
    assert any(fix in message for message in messages_of(line)), messages_of(line)


def test_a_log_that_does_not_exist_is_answered_with_the_one_that_does(tmp_path):
    """With the other mistakes of the line."""
    (tmp_path / "slurm-421.out").write_text("x\n")
    assert any("did you mean `slurm-421.out`" in text for text in messages_of("logs slurm-42.out --zzqq"))
