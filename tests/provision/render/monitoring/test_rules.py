"""Rules of Prometheus, as promtool reads and tests them."""

import json
import re
import shutil
import subprocess

import pytest

from clusterwright.catalog.watch.alert import alerts, read, recordings
from clusterwright.check.kernel.xids import table
from clusterwright.i18n import bilingual
from clusterwright.provision.render.monitoring.dashboards import dashboard_files
from clusterwright.provision.render.monitoring.rules import case_files, rules

promtool = pytest.mark.skipif(not shutil.which("promtool"), reason="promtool is not installed (prometheus)")
LABELS = re.compile(r"\$labels\.(\w+)")
AN_ALERT = (
    'component = "gpu"\nseverity = "info"\nincident = "node"\nexpression = "a > 1"\n'
    '[text]\nsummary = "a"\ndescription = "a"\nfix = "a"\n'
    '[[test]]\nseries = {}\nat = "1m"\nfires = []\n'
)

# Two hosts, one with our exporter, one with DCGM's alone.
JOINED = {
    "rule_files": ["rules"], "evaluation_interval": "15s",
    "tests": [{
        "interval": "15s",
        "input_series": [
            {"series": 'clusterwright_gpu_utilisation_ratio{node="n1",gpu="0"}', "values": "0.5x8"},
            {"series": 'DCGM_FI_DEV_GPU_UTIL{node="n1",gpu="0",UUID="u"}', "values": "60x8"},
            {"series": 'DCGM_FI_DEV_GPU_UTIL{node="n2",gpu="0",UUID="v"}', "values": "90x8"},
            {"series": 'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{node="n2",gpu="0"}', "values": "76x8"},
        ],
        "promql_expr_test": [
            {"expr": "gpu:utilisation:ratio", "eval_time": "1m", "exp_samples": [
                {"labels": 'gpu:utilisation:ratio{node="n1",gpu="0"}', "value": 0.5},
                {"labels": 'gpu:utilisation:ratio{node="n2",gpu="0"}', "value": 0.9},
            ]},
            {"expr": "gpu:throttled", "eval_time": "1m", "exp_samples": [
                {"labels": 'gpu:throttled{node="n2",gpu="0",reason="hardware"}', "value": 1},
                {"labels": 'gpu:throttled{node="n2",gpu="0",reason="thermal"}', "value": 1},
                {"labels": 'gpu:throttled{node="n2",gpu="0",reason="power"}', "value": 1},
            ]},
            {"expr": "cluster:gpu_utilisation:ratio", "eval_time": "1m", "exp_samples": [
                {"labels": "cluster:gpu_utilisation:ratio", "value": 0.7}]},
        ],
    }],
}  # fmt: skip


def run(folder, *words):
    """How promtool ended, in that folder."""
    return subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True, check=False)


@promtool
def test_every_alert_passes_its_own_tests(tmp_path):
    """By Prometheus's own engine, on the series that the alert's file gives."""
    for alert in alerts():
        for name, text in case_files(alert).items():
            (tmp_path / name).write_text(text)
    done = run(tmp_path, "test", "rules", *(f"{alert.name}.test" for alert in alerts()))

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("SUCCESS") == len(alerts())


@promtool
@pytest.mark.parametrize("language", ["en", "zh"])
def test_all_rules_are_rules(tmp_path, language):
    """Expressions and templates, in both languages; nothing is there twice."""
    (tmp_path / "rules").write_text(rules(language))
    done = run(tmp_path, "check", "rules", "--lint=all", "--lint-fatal", "rules")

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(alerts()) + len(recordings())} rules found" in done.stdout


@promtool
def test_dcgms_names_and_ours_become_one(tmp_path):
    """Ours first, where both are."""
    (tmp_path / "rules").write_text(rules("en"))
    (tmp_path / "test").write_text(json.dumps(JOINED))
    done = run(tmp_path, "test", "rules", "test")

    assert done.returncode == 0, done.stderr


@promtool
def test_a_jump_of_the_temperature_is_not_a_rate(tmp_path):
    """70 °C for some minutes, then 93 °C: the alert names a change of 23 °C."""
    groups = json.loads(rules("en"))["groups"]
    [rule] = [rule for group in groups for rule in group["rules"] if rule.get("alert") == "GpuTooHot"]
    description = rule["annotations"]["description"]
    rule["annotations"] = {"description": description}
    (tmp_path / "rules").write_text(json.dumps({"groups": [{"name": "one", "rules": [rule]}]}))
    template = description[description.index("{{") : description.rindex("}}") + 2]
    series = 'gpu:temperature:celsius{node="n1",gpu="0"}'
    labels = {"node": "n1", "gpu": "0", **rule["labels"], "incident": "node n1"}
    alert = {"exp_labels": labels, "exp_annotations": {"description": description.replace(template, "+23")}}
    case = {"eval_time": "10m", "alertname": "GpuTooHot", "exp_alerts": [alert]}
    test = {"interval": "15s", "input_series": [{"series": series, "values": "70x30 93x20"}]}
    text = {
        "rule_files": ["rules"],
        "evaluation_interval": "15s",
        "tests": [{**test, "alert_rule_test": [case]}],
    }
    (tmp_path / "test").write_text(json.dumps(text))
    done = run(tmp_path, "test", "rules", "test")

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert.name)
def test_an_alert_fires_and_does_not(alert):
    """It has a case for each, and its words name only labels that it has, the same in both languages."""
    firing = [found for case in alert.cases for found in case.fires]
    pairs = [bilingual(text) for text in (alert.text.summary, alert.text.description, alert.text.fix)]
    words = {"en": [pair[0] for pair in pairs], "zh": [pair[1] for pair in pairs]}
    named = {one: set(LABELS.findall(" ".join(texts))) for one, texts in words.items()}

    assert firing
    assert alert.always or any(not case.fires for case in alert.cases)
    assert all(named["en"] <= set(found) | {"name"} for found in firing), named["en"]
    assert set(LABELS.findall(words["en"][0])) == set(LABELS.findall(words["zh"][0]))
    assert all(re.search(r"[\u4e00-\u9fff]", text) for text in words["zh"])
    assert not any(re.search(r"[\u4e00-\u9fff]", text) for text in words["en"])


def test_fatal_xids_are_those_of_the_table():
    """An XID for which a host takes no job raises the alert; what depends on the line's words does not."""
    fatal = {str(number) for number, row in table().items() if row.severity == "fail"}
    by_words = {str(number) for number, row in table().items() if row.words}
    alert = next(alert for alert in alerts() if alert.name == "GpuXidFatal")
    told = set(re.search(r'xid=~"([0-9|]+)"', alert.expression)[1].split("|"))

    assert told == fatal - by_words


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("gpu", "gpus"), "`gpus` is none of"), (('"info"', '"page"'), "`page` is none of"),
        (("[[test]]", "[[tests]]"), "test"), (("incident", "incidents"), "incidents"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_named(change, said):
    """A word that there is not, a key that nothing reads, a test that is missing."""
    with pytest.raises(ValueError, match=said) as caught:
        read("Some", AN_ALERT.replace(*change, 1))

    assert "alerts/Some.toml" in str(caught.value)


def test_what_mutes_an_alert_is_an_alert():
    """And has the labels by which it is compared."""
    known = {alert.name: alert for alert in alerts()}

    for alert in alerts():
        for source, equal in alert.muted_by.items():
            assert source in known, f"{alert.name}: mutes_name {source}"
            assert all(set(equal) <= set(found) for case in known[source].cases for found in case.fires), (
                source
            )
            assert all(set(equal) <= set(found) for case in alert.cases for found in case.fires), alert.name


# Mallory's run claims the job of alice in its files, as a run folder of hers can.
CLAIMED = {
    "rule_files": [], "evaluation_interval": "15s",
    "tests": [{
        "interval": "15s",
        "input_series": [
            {"series": 'clusterwright_job_info{cluster="c",job="7",user="alice",node="n1"}', "values": "1x8"},
            {"series": 'clusterwright_job_info{cluster="c",job="7",user="alice",node="n2"}', "values": "1x8"},
            *({"series": f'clusterwright_run_info{{cluster="c",run="{run}",job="7",user="{user}"}}', "values": "1x8"}
              for run, user in (("hers", "alice"), ("claimed", "mallory"))),
            *({"series": f'clusterwright_run_data_wait_ratio{{cluster="c",run="{run}"}}', "values": "0.5x8"}
              for run in ("hers", "claimed")),
        ],
    }],
}  # fmt: skip


@promtool
def test_a_run_is_on_the_page_of_a_job_only_if_the_user_of_the_job_owns_it(tmp_path):
    """Slurm names the user of a job, the file system the owner of a run; the job of a run is what its files say."""
    (page,) = [text for path, text in dashboard_files().items() if path.endswith("job.json")]
    (query,) = set(re.findall(r'"expr": "((?:[^"\\]|\\.)*data_wait(?:[^"\\]|\\.)*)"', page))
    expression = json.loads(f'"{query}"').replace("$cluster", "c").replace("$job", "7")
    document = json.loads(json.dumps(CLAIMED))
    document["tests"][0]["promql_expr_test"] = [
        {
            "expr": f"count by (run) ({expression})", "eval_time": "1m",
            "exp_samples": [{"labels": '{run="hers"}', "value": 1}],
        }
    ]  # fmt: skip
    (tmp_path / "test.json").write_text(json.dumps(document))
    done = run(tmp_path, "test", "rules", "test.json")

    assert done.returncode == 0, done.stderr + done.stdout
