"""Trackers with packages of their own, really run, without a network."""

import json
import os
import subprocess
import sys

import pytest

TELEMETRY = """
from mlflow.telemetry import utils
utils._IS_IN_CI_ENV_OR_TESTING = False
print(not utils.is_telemetry_disabled())
"""
# Their file is LevelDB's log (doc/log_format.md there): parts of records in blocks of 32 KiB, after a head of 7 bytes.
WANDB = """
import glob, json, struct
from wandb.proto import wandb_internal_pb2 as pb
losses, ids = [], set()
for path in sorted(glob.glob('{folder}/wandb/offline-*/*.wandb')):
    data, at, held = open(path, 'rb').read(), 7, b''
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
        _, size, kind = struct.unpack_from('<IHB', data, at)
        held, at = held + data[at + 7 : at + 7 + size], at + 7 + size
        if kind not in (1, 4):  # the whole of a record, or its last part
            continue
        record = pb.Record()
        record.ParseFromString(held)
        held = b''
        ids |= {{record.run.run_id}} if record.run.run_id else set()
        row = {{i.key or '/'.join(i.nested_key): json.loads(i.value_json) for i in record.history.item}}
        losses += [(row['step'], row['train/loss'])] if 'train/loss' in row else []
print(json.dumps([losses, sorted(ids)]))
"""


def test_mlflow_has_one_run_for_ours(told):
    """Read back by its own client: parameters, every step once, and how it ended."""
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed (pip install mlflow-skinny)")
    told.steps(1, 6)
    told.end()
    code, said = told.track("mlflow")
    assert code == 0, said
    told.go_on()
    told.steps(5, 9, generation=2)
    told.end()
    assert told.track("mlflow")[0] == 0
    program = (
        "from mlflow import MlflowClient as C; import json\n"
        f"c = C(tracking_uri='file://{told.folder}/mlruns'); e = c.get_experiment_by_name('gpt').experiment_id\n"
        "(r,) = c.search_runs([e]); h = c.get_metric_history(r.info.run_id, 'train/loss')\n"
        "print(json.dumps([sorted((m.step, m.value) for m in h), r.data.params, r.info.status, r.info.run_name]))"
    )
    losses, params, status, name = _said(program, MLFLOW_ALLOW_FILE_STORE="true")

    assert losses == [[step, 4.0 - step / 4] for step in range(1, 10)]
    assert params == {"name": "gpt", "nodes": "2", "arguments.steps": "9"}
    assert (status, name) == ("FINISHED", told.folder.name)


def test_wandb_writes_offline_under_one_id(told):
    """Their own messages hold every step once in the files of both processes."""
    pytest.importorskip("wandb", reason="wandb is not installed (pip install wandb)")
    told.steps(1, 6)
    told.end()
    code, said = told.track("wandb")
    assert code == 0, said
    told.go_on()
    told.steps(5, 9, generation=2)
    told.end()
    assert told.track("wandb")[0] == 0
    program = WANDB.format(folder=told.folder)
    losses, ids = _said(program)

    assert losses == [[step, 4.0 - step / 4] for step in range(1, 10)]
    assert ids == [told.folder.name]


def test_swanlab_writes_offline_under_one_id(told):
    """Both processes wrote a file of the same experiment, and say how to send them."""
    pytest.importorskip("swanlab", reason="swanlab is not installed (pip install swanlab)")
    told.steps(1, 6)
    told.end()
    code, said = told.track("swanlab")
    assert code == 0, said
    told.go_on()
    told.steps(5, 9, generation=2)
    told.end()
    code, again = told.track("swanlab")
    files = list((told.folder / "swanlog").glob("run-*/run-*.swanlab"))

    assert code == 0, again
    assert len({file.name for file in files}) == 1
    assert sum(file.read_bytes().count(b"train/loss") for file in files) >= 9
    assert "swanlab sync" in said


def _said(program, **environ):

    argv = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(
        argv, env={**os.environ, **environ}, capture_output=True, text=True, timeout=200, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("mlflow", TELEMETRY),
        ("wandb", "import wandb.env; print(wandb.env.error_reporting_enabled())"),
    ],
)
def test_a_tracker_reports_nothing_to_its_authors(name, check, tmp_path):
    """Neither telemetry nor errors, unless the user's environment turns it on."""
    pytest.importorskip(name)
    (tmp_path / "run").mkdir()
    program = (
        f"from clusterwright.onhost.trackers.{name} import Tracker\n"
        f"tracker = Tracker({str(tmp_path / 'run')!r}, {{}}, {{'name': 'gpt'}})\n{check}\n"
    )
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("MLFLOW", "WANDB"))}
    done = subprocess.run(
        [sys.executable, "-c", program], env=variables | {"HOME": str(tmp_path)}, cwd=tmp_path,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert "False" in done.stdout.splitlines(), done.stdout + done.stderr
