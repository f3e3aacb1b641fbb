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
        ("check --hosts=gpu1, gpu2", "write --hosts gpu1,gpu2\n"),
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
