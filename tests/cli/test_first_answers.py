"""The first answer to a wrong use has what to write, with what was typed."""


def test_a_line_with_a_wrong_tag_writes_nothing(command, tmp_path):
    """The option is named, with the tag to write."""
    done = command("image", "build", "--out", str(tmp_path / "o"), "--files-only", "--tag", "My Image:latest")

    assert done.returncode == 2
    assert "--tag: `My Image:latest` is no tag of an image" in done.stderr
    assert "fix: write --tag my-image:latest\n" in done.stderr
    assert not (tmp_path / "o").exists()
