"""An hour of healthy running, in promtool's time: two hosts that train, save, come and go, and nobody is told."""

import json
import random
import shutil
import subprocess

import pytest

from clusterwright.provision.render.monitoring.rules import rules

STEPS = 4 * 60 + 1  # one each 15 s
pytestmark = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (prometheus)")


def noise(low, high, seed):
    """Values that go up and down between the two."""
    chance = random.Random(seed)
    return " ".join(f"{chance.uniform(low, high):.4f}" for _ in range(STEPS))


def steady(value):
    """The same all the time."""
    return f"{value}x{STEPS}"


def gpu(node, index):
    """One that trains: hot and busy, with errors that were corrected and counters that are old, and begin anew."""
    at, old = f'node="{node}",gpu="{index}"', f"{node}{index}"
    half = STEPS // 2
    return {
        f"clusterwright_gpu_utilisation_ratio{{{at}}}": noise(0.0, 1.0, old),
        f"clusterwright_gpu_temperature_celsius{{{at}}}": noise(61, 86, old),
        f"clusterwright_gpu_sm_clock_hertz{{{at}}}": noise(1.35e9, 1.41e9, old),
        f"clusterwright_gpu_ecc_uncorrected_total{{{at}}}": f"3x{half} 0x{half}",
        f"clusterwright_gpu_ecc_corrected_total{{{at}}}": f"0+1x{STEPS}",
        f"clusterwright_gpu_pcie_replays_total{{{at}}}": f"12x{half} 13x{half}",
        f"clusterwright_gpu_nvlink_errors_total{{{at}}}": f"7x{half} 0x{half}",
        f"clusterwright_gpu_remap_pending{{{at}}}": steady(0),
        f"clusterwright_gpu_remap_failed{{{at}}}": steady(0),
        f'clusterwright_gpu_throttled{{{at},reason="power"}}': noise(0, 1, old),
        f'clusterwright_gpu_job_info{{{at},job="7",user="a",account="t"}}': steady(1),
        f'clusterwright_gpu_xid_total{{{at},xid="31"}}': f"40x{half} 41x{half}",
    }


def host(node):
    """One that works; one look in a row is missed now and then, and its clock is a few milliseconds off."""
    missed = " ".join("0" if step % 40 == 39 else "1" for step in range(STEPS))
    disk = f'node="{node}",mountpoint="/",fstype="ext4",device="a"'
    link = f'node="{node}",device="eth0"'
    return {
        f'up{{job="alive",node="{node}"}}': missed, f'up{{job="clusterwright",node="{node}"}}': steady(1),
        f'up{{job="node",node="{node}"}}': missed,
        f'clusterwright_gpus_seen{{node="{node}"}}': steady(2),
        f'clusterwright_gpus_declared{{node="{node}"}}': steady(2),
        f'node_time_seconds{{node="{node}"}}': f"0.3+15x{STEPS}",
        f'node_timex_offset_seconds{{node="{node}"}}': noise(-0.01, 0.01, node),
        f'node_boot_time_seconds{{node="{node}"}}': noise(-1000.6, -1000.0, node),
        f'node_vmstat_oom_kill{{node="{node}"}}': steady(2),
        f"node_filesystem_avail_bytes{{{disk}}}": noise(55, 58, node),
        f"node_filesystem_size_bytes{{{disk}}}": steady(100),
        f"node_filesystem_readonly{{{disk}}}": steady(0), f"node_filesystem_files{{{disk}}}": steady(100),
        f"node_filesystem_files_free{{{disk}}}": steady(80),
        f"node_network_carrier{{{link}}}": steady(1), f"node_network_receive_bytes_total{{{link}}}": f"5+1000x{STEPS}",
        f"node_network_carrier_changes_total{{{link}}}": steady(2),
        f'node_network_carrier{{node="{node}",device="eth9"}}': steady(0),
        f'node_network_receive_bytes_total{{node="{node}",device="eth9"}}': steady(0),
        f'clusterwright_file_system_answers{{node="{node}",path="/shared"}}': steady(1),
        f'clusterwright_file_system_answer_seconds{{node="{node}",path="/shared"}}': noise(0.001, 2, node),
        f'clusterwright_munge_answers{{node="{node}"}}': steady(1),
        f'clusterwright_slurmd_answers{{node="{node}"}}': steady(1),
        f'clusterwright_collector_up{{node="{node}",collector="gpus"}}': missed,
        f'clusterwright_collector_success_timestamp_seconds{{node="{node}",collector="gpus"}}': f"-10+15x{STEPS}",
        f'clusterwright_slurm_node_state{{node="{node}",state="allocated"}}': steady(1),
        **gpu(node, 0), **gpu(node, 1),
    }  # fmt: skip


def trainings():
    """One that saves each ten minutes, for two of which it makes no step; and Slurm, with a queue."""
    still = " ".join(
        str(round(90 - 15 * (step % 40), 1)) if step % 40 < 5 and step > 45 else "1" for step in range(STEPS)
    )
    return {
        'clusterwright_run_stalled_seconds{run="r"}': still,
        'clusterwright_run_step_seconds{run="r"}': noise(20, 24, "s"),
        'clusterwright_run_checkpoint_age_seconds{run="r"}': noise(0, 700, "c"),
        'clusterwright_run_loss{run="r"}': noise(1, 3, "l"),
        'clusterwright_run_mfu_ratio{run="r"}': noise(0.3, 0.5, "m"),
        'clusterwright_run_goodput_ratio{run="r"}': noise(0.7, 0.9, "g"),
        'clusterwright_run_data_wait_ratio{run="r"}': noise(0, 0.1, "d"),
        'clusterwright_run_slow_rank_ratio{run="r",rank="0",host="n1"}': noise(1, 1.1, "r"),
        'clusterwright_slurm_up{node="c"}': steady(1), 'clusterwright_slurm_cycle_seconds{node="c"}': noise(0, 3, "q"),
        'clusterwright_slurm_wait_seconds{partition="train",account="t"}': f"0+15x{STEPS}",
        'clusterwright_slurm_nodes{partition="train",state="allocated"}': steady(2),
        'alertmanager_notifications_failed_total{integration="webhook"}': steady(9),
        'prometheus_rule_evaluation_failures_total{node="c"}': steady(4),
        'prometheus_config_last_reload_successful{node="c"}': steady(1),
    }  # fmt: skip


def test_in_an_hour_of_healthy_running_nobody_is_told(tmp_path):
    """Looked at each minute; only what tells nobody fires."""
    series = {**host("n1"), **host("n2"), **trainings()}
    looks = [
        {"expr": 'ALERTS{alertstate="firing",severity!="none"}', "eval_time": f"{minute}m", "exp_samples": []}
        for minute in range(1, 60)
    ]
    looks.append({"expr": "count(ALERTS)", "eval_time": "59m", "exp_samples": [{"labels": "{}", "value": 1}]})
    test = {
        "interval": "15s", "promql_expr_test": looks,
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
    }  # fmt: skip
    (tmp_path / "rules").write_text(rules("en"))
    document = {"rule_files": ["rules"], "evaluation_interval": "15s", "tests": [test]}
    (tmp_path / "test").write_text(json.dumps(document))
    done = subprocess.run(
        ["promtool", "test", "rules", "test"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[:4000]
