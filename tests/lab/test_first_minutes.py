"""The first minutes of a new user: from a fresh Debian to a diagnosis, a plan and a lab, in the time that is promised.

"Fresh" is the root of the node image: Debian with Python and no package of ours, in a mount and process namespace.
pip reads the settings of this machine, so that an index on its disk is found there too.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterwright import lab
from clusterwright.lab import image

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]

DIAGNOSIS_S, PLAN_S, LAB_S = 60, 90, 300
NETWORK = ("/etc/ssl/certs", "/etc/resolv.conf")
CONTAINER = """
mount -t tmpfs tmpfs {work}; mkdir {work}/upper {work}/work {work}/root
mount -t overlay overlay -o lowerdir={image},upperdir={work}/upper,workdir={work}/work {work}/root
cd {work}/root; mount -t proc proc proc; mount --bind /dev dev
for path in {paths}; do
  [ -d $path ] && mkdir -p .$path || install -D /dev/null .$path
done
for path in {paths}; do mount --bind -o ro $path .$path; done
cp {wheel} root/
exec chroot . bash -ec {script}
"""
INSTALL = "cd /root; python3 -m venv env; env/bin/pip install -q {wheel}; export PATH=/root/env/bin:$PATH; "
DIAGNOSE = "echo 'torch.OutOfMemoryError: CUDA out of memory.' >slurm-1.out; wright why slurm-1.out"
PLAN = "wright plan search --model llama3-70b --gpu h100 --gpus 512 --seq 8192 --global-batch 1024"


@pytest.fixture
def on_fresh_debian(wheel, tmp_path):
    """Run a script on a fresh Debian; return its output and the seconds it took."""
    root = image.build("debian-12", lambda line: None)
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_")} | pip_settings()
    named = re.findall(r"(?<![\w/:])/[^\s]+|(?<=file://)/[^\s]+", " ".join(settings.values()))
    indexes = [
        str(Path(path).parent) for path in named if Path(path).name == "simple"
    ]  # it links to files beside
    paths = outermost(Path(path) for path in (*named, *indexes, *NETWORK))

    def run(script):
        setup = CONTAINER.format(
            work=tmp_path,
            image=root,
            wheel=wheel,
            paths=" ".join(map(str, paths)),
            script=shlex.quote(script),
        )
        argv = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", setup]
        env = settings | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
        started = time.monotonic()
        done = subprocess.run(argv, capture_output=True, text=True, timeout=600, env=env, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, time.monotonic() - started

    return run


def outermost(paths):
    """Return those that exist and are not inside of another: a file is created at each before any is mounted."""
    existing = {path for path in paths if path.exists()}
    return sorted(path for path in existing if not existing.intersection(path.parents))


def pip_settings():
    """Return pip's settings of this machine as environment variables."""
    argv = [sys.executable, "-m", "pip", "config", "list"]
    rows = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    return {
        f"PIP_{name.upper().replace('-', '_')}": value
        for name, value in re.findall(r"(?m)^(?:global|install|user)\.([\w-]+)='(.*)'$", rows)
    }


def test_a_log_is_diagnosed_within_a_minute(on_fresh_debian, wheel):
    """Installing included."""
    output, seconds = on_fresh_debian(INSTALL.format(wheel=wheel.name) + DIAGNOSE)

    assert output.startswith("gpu-oom")
    assert seconds < DIAGNOSIS_S


def test_a_layout_is_planned_within_a_minute_and_a_half(on_fresh_debian, wheel):
    """Installing included, with numpy."""
    output, seconds = on_fresh_debian(INSTALL.format(wheel=f"'{wheel.name}[plan]'") + PLAN)

    assert re.search(r"(?m)^best +tp", output)
    assert seconds < PLAN_S


def test_a_lab_runs_within_five_minutes(wheel, tmp_path, cluster_file, traces):
    """Installing and building the image included; outside a container, as virtual hosts need the whole machine."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True, timeout=120)
    subprocess.run([tmp_path / "env/bin/pip", "install", "-q", wheel], check=True, timeout=300)
    image.build("debian-12", print, images=tmp_path / "images")
    file = cluster_file("wright-first", 233)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        subprocess.run(
            [tmp_path / "env/bin/wright", "lab", "up", "--cluster", file],
            check=True,
            timeout=300,
            env=environment,
        )
        seconds = time.monotonic() - started
    finally:
        lab.down("wright-first")

    assert seconds < LAB_S
    assert not traces("wright-first")
