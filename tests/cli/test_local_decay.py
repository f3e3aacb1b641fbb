"""Two real ranks whose one host becomes slower and leaks memory: `why` and `status` name it while nothing fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.timeout(300)]

STEPS = 450
PROGRAM = f"""
import time
import torch
from torch import nn
from clusterwright import runtime

run = runtime.start(seed=1)
model = nn.Linear(8, 1)
parallel = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
run.track(model=parallel, optimizer=optimizer)


class SlowerAndSlower(torch.utils.data.Dataset):
    read, leaked = 0, []

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        self.read += 1
        is_bad = run.rank == 1
        time.sleep(0.02 + (0.12 * self.read / {STEPS} if is_bad else 0))
        if is_bad:
            self.leaked.append(b"x" * 400_000)
        return torch.ones(8)


data = SlowerAndSlower()
loader = torch.utils.data.DataLoader(data, batch_sampler=runtime.Sampler(len(data), batch=2, seed=1))
for inputs in run.steps(loader, total_steps={STEPS}):
    loss = parallel(inputs).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.step(loss)
run.finish()
"""
JOB = """name: decay
time: 10m
nodes: 2
gpus_per_node: 1
command: [FOLDER/program.py]
checkpoint: {memory: never}
"""


def test_a_loader_that_slows_and_leaks_on_one_host_is_named(tmp_path, monkeypatch):
    """With the slope, the host, since when; the fall of the rate is its consequence. The run itself succeeds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "job.yaml").write_text(JOB.replace("FOLDER", str(tmp_path)))

    def wright(*arguments):
        command = (sys.executable, "-m", "clusterwright", *arguments)
        return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)

    train = wright("train", "job.yaml", "--local")
    found = {each["mode"]: each for each in json.loads(wright("why", "last", "--json").stdout)["diagnoses"]}
    status = wright("status", "last").stdout
    [host] = {each["subject"]["host"] for each in found.values() if each["mode"] == "other/host-becomes-slow"}

    assert train.returncode == 0, train.stderr
    assert {"other/host-becomes-slow", "host-oom/memory-grows", "other/training-slows"} <= set(found)
    assert "waits for data" in found["other/host-becomes-slow"]["cause"]
    assert host in found["host-oom/memory-grows"]["cause"]
    assert "MiB per minute" in found["host-oom/memory-grows"]["cause"]
    assert f"{host} becomes slower" in status
    assert sum(line.startswith("decay ") for line in status.splitlines()) == 1
