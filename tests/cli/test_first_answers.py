"""The first answer to a wrong use has what to write, with what was typed."""

import pytest


def test_a_line_with_a_wrong_tag_writes_nothing(command, tmp_path):
    """The option is named, with the tag to write."""
    done = command("image", "build", "--out", str(tmp_path / "o"), "--files-only", "--tag", "My Image:latest")

    assert done.returncode == 2
    assert "--tag: `My Image:latest` is no tag of an image" in done.stderr
    assert "fix: write --tag my-image:latest\n" in done.stderr
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (("why", "CUDA out of memory"), "echo 'CUDA out of memory' | wright why -\n"),
        (("why", "torch.OutOfMemoryError: CUDA"), "echo 'torch.OutOfMemoryError: CUDA' | wright why -\n"),
        (("why", "a/b it's.log full", "--all"), "echo 'a/b it'\"'\"'s.log full' | wright why -\n"),
        (("why", "line 1\nline 2"), "run `wright why -`, paste the text and press Ctrl-D\n"),
        (("plan", "claims", "HDR: ib_send_bw 90"), "write wright plan claims --text 'HDR: ib_send_bw 90'\n"),
    ],
)
def test_a_text_in_place_of_a_file_is_named_as_one(command, arguments, fix):
    """With the line that reads it."""
    done = command(*arguments)

    assert done.returncode == 2
    assert done.stderr.startswith("error[usage]")
    assert fix in done.stderr


def test_a_file_with_blanks_in_its_name_is_read(command, tmp_path):
    """It exists, so it is no text; the fix for a text works."""
    (tmp_path / "my run.log").write_text("CUDA out of memory\n")

    assert "out of memory" in command("why", "my run.log").stdout
    assert "out of memory" in command("why", "-", input="CUDA out of memory\n").stdout


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("check --hosts gpu1 gpu2", "write --hosts gpu1,gpu2\n"),
        ("bench network --hosts gpu[1-2] gpu4 gpu5", "write --hosts 'gpu[1-2],gpu4,gpu5'\n"),
        ("check --hosts gpu1 --hosts gpu2", "write --hosts gpu1,gpu2\n"),
        ("check --only gpu-ecc gpu-count", "write --only gpu-ecc --only gpu-count\n"),
        ("check --hosts gpu1 json", "write the value as an option: wright check --json\n"),
        ("check gpu1", "write the option before its value: --hosts gpu1\n"),
        ("check --hosts gpu1 a/b", "omit the argument: `wright check` takes the options"),
    ],
)
def test_more_values_after_an_option_of_several_are_joined(command, line, fix):
    """A hostlist has commas, other options are repeated; an option that is on the line is not proposed again."""
    assert f"fix: {fix}" in command(*line.split()).stderr


@pytest.mark.parametrize(
    ("line", "fix", "absent"),
    [
        ("report job 1 --format csv", "write --csv job.csv in place of --format csv\n", "--csv in place"),
        (
            "export --format compose --out x",
            "write --compose in place of --format compose\n",
            "compose.compose",
        ),
        ("top -d 5", "leave out -d: the screen refreshes by itself\n", "containers"),
        ("web --bind 0.0.0.0:8443", "write --host 0.0.0.0 --port 8443 in place of --bind\n", "leave out"),
        ("web --listen 8443", "write --port 8443 in place of --listen\n", "leave out"),
        ("web --bind ::1", "write --host ::1 in place of --bind\n", "leave out"),
        ("guide --nodes 4", "write --hosts 4 in place of --nodes\n", "leave out"),
        (
            "upgrade --cuda 12.9",
            'write `cuda: "12.9"` below `software` in the cluster file; then',
            "exactly one",
        ),
        ("mcp --port 3000", "leave out --port: an assistant starts the command", "the options are"),
    ],
)
def test_an_option_of_another_tool_is_answered_with_what_to_write(command, line, fix, absent):
    """A fix that can be typed as it is."""
    done = command(*line.split())

    assert f"fix: {fix}" in done.stderr
    assert absent not in done.stderr


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("cancel 1234 1235 --signal KILL", "wright cancel 1234; wright cancel 1235\n"),
        ("cancel 1234 --signal KILL 1235", "1235"),
        ("apply site.yaml --dry-run --tags slurm", "name the cluster file with --cluster site.yaml\n"),
        ("apply --tags slurm --dry-run", None),
        ("cancel --signal KILL 1234", None),
        ("cancel --signal=KILL 1234", None),
    ],
)
def test_an_unknown_option_hides_no_unexpected_argument(command, line, fix):
    """Both are named at once; what follows the option may be its value."""
    output = command(*line.split()).stderr

    assert "has no option" in output
    assert ("unexpected argument" in output) == (fix is not None)
    assert (fix or "") in output
    assert "no cluster file found" not in output or "site.yaml" not in line


def test_a_file_in_place_of_a_folder_and_the_reverse_are_named(command, tmp_path):
    """The fix names the folder of the file, the comparison without a folder, and no folder where a file is read."""
    (tmp_path / "etc slurm").mkdir()
    (tmp_path / "etc slurm/slurm.conf").touch()
    (tmp_path / "slurm-etc").mkdir()
    (tmp_path / "c.yaml").touch()

    adopted = command("adopt", "--folder", "etc slurm/slurm.conf", "--out", "a.yaml").stderr
    compared = command("diff", "--cluster", "c.yaml", "slurm-etc").stderr
    simulated = command("simulate", "--trace", "x.csv", "--against", "slurm-default", "--teams", "3").stderr
    assert "is a file, not a folder" in adopted
    assert "fix: write --folder 'etc slurm'\n" in adopted
    assert "fix: to compare the hosts with the cluster file: wright diff --cluster c.yaml\n" in compared
    assert "no such file: slurm-default\nfix: name a file that exists\n" in simulated


def test_a_target_in_front_of_its_source_is_named(command, tmp_path):
    """Also together with a wrong format."""
    (tmp_path / "runs/gpt").mkdir(parents=True)
    fix = "write the source first: wright checkpoints convert runs/gpt out.safetensors\n"

    assert fix in command("checkpoints", "convert", "out.safetensors", "runs/gpt", "--to", "dcp").stderr
    assert fix in command("checkpoints", "convert", "out.safetensors", "runs/gpt", "--to", "gguf").stderr


@pytest.mark.parametrize(
    ("kind", "guess"),
    [("dragonfly", ""), ("fat-tre", "fat-tree"), ("ail-only", "rail-only"), ("rng", "ring")],
)
def test_a_value_that_is_far_from_all_choices_has_no_guess(command, kind, guess):
    """Another first letter needs more letters in common."""
    output = command("plan", "fabric", "--kind", kind).stderr

    assert ("did you mean" in output) == bool(guess)
    assert f"did you mean `{guess}`?" in output or not guess


def test_a_notebook_is_no_job_file(command, tmp_path):
    """It is named with the other mistakes of the line."""
    (tmp_path / "a.ipynb").write_text('{"cells": [{"cell_type": "code"}], "nbformat": 4}')
    output = command("dev", "--jupyter", "a.ipynb", "--port", "80000").stderr

    assert "--port cannot be 80000" in output
    assert "a.ipynb is a Jupyter notebook, not a cluster or job file" in output
    assert "fix: open it in JupyterLab: wright dev --jupyter --folder FOLDER" in output
    assert "has no `name`" not in output
