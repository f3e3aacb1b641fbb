"""Arguments in the wrong place, options and verbs of other tools: the error names the line to write instead."""

from pathlib import Path

import pytest

CAMPUS = Path(__file__).parents[2] / "examples" / "university" / "cluster.yaml"
SEARCH = "plan search --model llama3-8b --gpu h100 --seq 4096"


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("--dry-run apply", "options go after the command: wright apply --dry-run"),
        ("--cluster x.yaml plan catalog", "wright plan catalog --cluster x.yaml"),
        ("lab --cluster x.yaml up", "wright lab up --cluster x.yaml"),
        ("init lab", "wright init --template lab"),
        ("upgrade slurm latest", "wright upgrade --slurm VERSION; the releases are"),
        ("upgrade slurm 26.05", "wright upgrade --slurm 26.05\n"),
        ("apply dry-run", "wright apply --dry-run"),
        ("check hosts gpu-node1", "wright check --hosts gpu-node1"),
        ("plan expect roce", "wright plan expect --network roce"),
        (f"{SEARCH} --nodes 8 --global-batch 64", "write --gpus 64 --gpus-per-node 8 in place of --nodes"),
        (f"{SEARCH} --nodes 8 --gpus-per-node 4", "write --gpus 32 in place of --nodes"),
        (f"{SEARCH} --gpus 64 --batch-size 64", "write --global-batch 64 in place of --batch-size"),
        ("adopt --host login", "write --control in place of --host"),
        ("export --format ansible --out x", "write --ansible in place of --format ansible"),
        ("export --format terraform", "write --ansible or --compose in place of --format"),
        ("logs run-1 --tail 20", "wright logs run-1 | tail -n 20"),
        ("report 4711", "run `wright report job 4711`"),
        ("checkpoints run-1 --all", "run `wright checkpoints list run-1 --all`"),
        ("heal approve gpu1", "write digits only, such as 8 (Number of the action in `wright heal log`)"),
        ("plan size llama2-7b", "write the value as an option: wright plan size --model llama2-7b"),
        ("plan size --model llama2-7b a100", "wright plan size --gpu a100"),
        ("apply --check --limit gpu1", "write --dry-run in place of --check; leave out --limit: all hosts"),
        ("rollback --hosts gpu1", "leave out --hosts: all hosts are compared"),
        ("jobs -u alice", "leave out -u: all jobs are listed, with their users"),
        ("apply --force --yes", "leave out --force: no check is skipped, and --yes"),
        ("apply --assume-yes --yes", "leave out --assume-yes: --yes is given already"),
    ],
)
def test_the_fix_is_the_line_to_write(command, line, fix):
    """Options before the command, words in place of options, and options of other tools."""
    done = command(*line.split())

    assert (done.returncode, done.stdout) == (2, "")
    assert fix in done.stderr


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("lab start --nodes 0", "wright lab up"),
        ("lab create", "wright lab up"),
        ("lab stop", "wright lab down"),
        ("lab delete mine --force", "wright lab down mine"),
        ("lab ls", "wright lab status"),
        ("lab help up", "wright lab up --help"),
        ("checkpoints get run-1", "wright checkpoints list run-1"),
        ("dev delete 12", "wright dev stop 12"),
        ("heal start", "wright heal watch"),
        ("bios set", "wright bios apply"),
        ("bench ls", "wright bench list"),
    ],
)
def test_verbs_of_other_tools_name_the_command_of_the_group(command, line, meant):
    """With what the verb works on, but without its options."""
    assert f"fix: run `{meant}`\n" in command(*line.split()).stderr


def test_quotes_around_a_command_are_removed(command):
    """They come from a script, or from a line that was pasted."""
    assert "fix: remove the quotes: wright check --hosts gpu1\n" in command("check --hosts gpu1").stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan power --gpu h100 --nodes 16 --rack-limit 40", "--rack-limit: `40` is not a power"),
        ("plan power --gpu h100 --nodes 16 --rack-limit=40", "--rack-limit: `40` is not a power"),
        ("bench network --wait 5", "--wait: `5` is not a duration"),
        ("train --local --array 0-3 -- python train.py", "--local starts one run, and the job has an array"),
        ("heal log --last -3", "--last is -3, but must be at least 1"),
        ("plan search --model x --seq 1 --global-batch 1 --top 0", "--top is 0, but must be at least 1"),
        (
            "plan explain --model llama3-8b --gpu h100 --gpus 8 --seq 4096 --global-batch 64 --tp 8 --pp 4",
            "fix: use 32 GPUs or a multiple, or smaller sizes",
        ),
        (
            "diff cluster.yaml",
            "fix: to compare the hosts with it: wright diff --cluster cluster.yaml; two files",
        ),
        (
            "plan search --model ./no/config.json --seq 1 --global-batch 1 --gpu h100",
            "no/config.json: No such file",
        ),
        ("web --tls-cert no.pem --tls-key no.key", "No such file or directory: no.pem"),
        ("bundle --os centos-7 --out b.tar", "\n  --os centos-7\nfix: "),
    ],
)
def test_the_message_names_the_option_that_is_wrong(command, tmp_path, line, message):
    """Not only its value, and no line of the cluster file, which is right."""
    (tmp_path / "train.py").write_text("")
    (tmp_path / "cluster.yaml").write_text(CAMPUS.read_text())
    done = command(*line.split())

    assert (done.returncode, message in done.stderr) == (2, True)


def test_each_wrong_number_of_a_command_is_named(command):
    """With its option and its value."""
    line = "plan storage --model llama2-7b --gpus -8 --epochs 0 --dataset 2000"
    done = command(*line.split())

    assert done.returncode == 2
    assert done.stderr.count("error[") == 3
    for message in ("--gpus is -8, but", "--epochs is 0, but", "--dataset: `2000`"):
        assert message in done.stderr


def test_help_with_a_command_is_the_help_of_the_command(command):
    """As of git and kubectl."""
    helped, of_group = command("help", "lab", "up"), command("help", "lab")

    assert (helped.returncode, helped.stdout) == (0, command("lab", "up", "--help").stdout)
    assert of_group.stdout == command("lab", "--help").stdout
    assert command("help", "nosuch").returncode == 2


def test_each_unknown_option_is_named_with_its_own_fix(command):
    """Also one for which nothing is known."""
    done = command("logs", "run-1", "--rank", "0", "--tail", "--zzz")

    assert "has no option --rank, --tail, --zzz\n" in done.stderr
    assert "leave out --rank: each line names its host and rank; leave out --tail: all lines" in done.stderr
    assert "leave out --zzz: the options are --follow, --cluster, --json" in done.stderr


def test_an_option_of_a_program_remains_one(command):
    """The words of a training program are no options of `train`."""
    assert "wright train -- python train.py --lr 3" in command("train", "train.py", "--lr", "3").stderr
