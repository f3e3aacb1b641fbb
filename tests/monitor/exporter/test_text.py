"""The text that Prometheus reads, whatever strangers have called their jobs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from clusterwright.onhost.exporter.text import clean, counter, gauge, number, rendered

HOSTILE = (
    "<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "two\nlines", "invoice\u202efdp.exe", 'quote " and \\ slash',
    "名字", "a" * 200, "\x00\x07", '"} 1\nclusterwright_gpus_seen 99',
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_of_a_strangers_is_one_label_and_no_more(name):
    """Read by Prometheus' own parser: one family, one sample, no control or direction mark."""
    text = rendered([gauge("job_info", "A job.").add(1, job="7", name=name)])
    (family,) = text_string_to_metric_families(text)
    (sample,) = family.samples

    assert sample.labels["name"] == clean(name)
    assert len(sample.labels["name"]) <= 64
    assert sample.labels["name"].isprintable()


@given(st.text(max_size=100))
def test_any_text_at_all_comes_back_as_it_was_cleaned(name):
    """Through the same parser."""
    (family,) = text_string_to_metric_families(rendered([gauge("x", "y").add(1, name=name)]))

    assert family.samples[0].labels == {"name": clean(name)}


@given(st.floats())
def test_a_number_comes_back(value):
    """To the last bit; what is no number too."""
    (family,) = text_string_to_metric_families(rendered([gauge("x", "y").add(value)]))
    found = family.samples[0].value

    assert found == value or (math.isnan(found) and math.isnan(value))


def test_what_is_not_known_is_not_there():
    """Neither a sample nor a heading for it."""
    assert rendered([gauge("x", "y").add(None, gpu="0")]) == ""


def test_a_family_that_comes_twice_is_one():
    """Its heading may stand there once only."""
    text = rendered([counter("a_total", "A.").add(1, gpu=0), counter("a_total", "A.").add(2, gpu=1)])

    assert text.count("# TYPE clusterwright_a_total counter") == 1
    assert text.count("\nclusterwright_a_total{") == 2


def test_whole_numbers_stay_whole():
    """Bytes in their billions have no exponent."""
    assert number(85899345920.0) == "85899345920"
