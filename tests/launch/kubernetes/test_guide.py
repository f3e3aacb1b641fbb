"""docs/guides/kubernetes.md: what a reader types ends well, and says what the guide says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs/guides/kubernetes.md").read_text()


@pytest.fixture
def typed(tmp_path):
    """Runs a line in a folder with the guide's job file; what it printed, and how it ended."""
    (name, text) = re.findall(r"```yaml (\S+)\n(.*?)```", PAGE, flags=re.DOTALL)[0]
    (tmp_path / name).write_text(text)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(line):
        return subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    return run


def lines():
    """Every line that is typed."""
    blocks = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)
    return [line[2:] for line in "".join(blocks).splitlines() if line.startswith("$ ")]


def test_every_command_of_the_guide_ends_well(typed, tmp_path):
    """In its order; the folder has the files of the guide's table, and those of the first kind are replaced."""
    assert len(lines()) >= 4
    for line in lines():
        done = typed(line)
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"

    there = {str(path.relative_to(tmp_path / "k8s")) for path in (tmp_path / "k8s").rglob("*.*")}
    assert {"1-teams.yaml", "2-storage.yaml", "3-queues.yaml", "jobs/resnet50.yaml", "README.md"} <= there
    assert "kind: TrainJob" in (tmp_path / "k8s/jobs/resnet50.yaml").read_text()
    assert "not exported: job resnet50: launcher: agent" in done.stderr


def test_a_kubernetes_without_the_kind_is_refused_in_the_guides_words(typed, tmp_path):
    """Exit code 2, nothing written."""
    typed(lines()[0])

    done = typed("wright kubernetes job.yaml --out k8s --kind trainjob --version v1.28.9+k3s1 --image a:b")

    (said,) = re.findall(r"```text\n(.*?)```", PAGE, flags=re.DOTALL)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "k8s").exists()


@pytest.mark.parametrize("version", ["latest", "1", "1.x"])
def test_what_is_no_version_is_refused(typed, version):
    """With the form that is one."""
    typed(lines()[0])

    done = typed(f"wright kubernetes --out k8s --version '{version}'")

    assert done.returncode == 2
    assert "error[kubernetes-version]" in done.stderr
    assert "write the Kubernetes version as 1.33" in done.stderr
