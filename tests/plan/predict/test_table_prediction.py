"""A whole table in, the same table with predictions out."""

import csv
import io

from clusterwright.plan.predict.headers import CNN, COLLECTIVES, RUNS
from clusterwright.plan.predict.table_prediction import predict


def rows_of(text):
    """The rows of the written table."""
    return list(csv.DictReader(io.StringIO(text)))


def test_every_column_is_kept_and_predictions_are_added(published, as_csv):
    """In the order in which they came, cells untouched."""
    came = published("megatron_bridge")[:20]

    found = predict(as_csv(came), "t.csv")

    rows = rows_of(found.text)
    assert list(rows[0]) == [*came[0], *RUNS.added]
    assert [{name: row[name] for name in came[0]} for row in rows] == came
    assert found.failed == 0
    for row in rows:
        assert float(row["predicted_iter_time_p10_s"]) < float(row["predicted_iter_time_s"])
        assert float(row["predicted_iter_time_s"]) < float(row["predicted_iter_time_p90_s"])
        assert 0 < float(row["predicted_mfu"]) < 1
        assert row["predicted_fits"] in {"true", "false"}


def test_rates_agree_with_the_time(row, as_csv):
    """Tokens, time and GPUs are one equation."""
    out = rows_of(predict(as_csv([row]), "t.csv").text)[0]

    tokens = 128 * 8192
    rate = tokens / float(out["predicted_iter_time_s"]) / 64
    assert abs(rate / float(out["predicted_tokens_per_s_per_gpu"]) - 1) < 1e-4
    share = float(out["predicted_tflops_per_gpu"]) / float(out["predicted_mfu"])
    assert abs(share / 989 - 1) < 0.01  # dense bf16 TFLOP/s of an H100 SXM


def test_one_bad_row_spoils_no_other(row, as_csv):
    """It has an empty prediction and its reasons; the others have theirs."""
    found = predict(as_csv([row, row | {"heads": "7", "gpu_type": "H1000"}, row]), "t.csv")

    good, bad, again = rows_of(found.text)
    assert good == again
    assert (found.rows, found.failed) == (3, 1)
    assert bad["predicted_iter_time_s"] == ""
    assert "error[unknown-gpu]" in bad["prediction_note"]
    assert "error[predict-heads-indivisible]" in bad["prediction_note"]
    assert {str(each.places[0]) for each in found.problems} == {"t.csv:3"}


def test_ragged_rows_are_refused_alone(row, as_csv):
    """Too few or too many cells: nobody knows which is which."""
    data = as_csv([row]) + b"a,b\n"

    found = predict(data, "t.csv")

    assert "error[predict-ragged-row]" in rows_of(found.text)[1]["prediction_note"]
    assert (found.rows, found.failed) == (2, 1)


def test_odd_bytes_are_said_and_the_row_predicted(row, as_csv):
    """A name in Latin-1 stops nothing."""
    data = as_csv([row, row | {"source": "Jos? Megatron 2025"}]).replace(b"Jos?", b"Jos\xe9")

    found = predict(data, "t.csv")

    assert found.failed == 0
    assert "is 0xe9, which is not UTF-8" in rows_of(found.text)[1]["prediction_note"]
    assert any(remark.startswith("line 3: byte ") for remark in found.remarks)


def test_predictions_are_replaced_not_doubled(row, as_csv):
    """The output may be predicted again."""
    once = predict(as_csv([row]), "t.csv").text
    twice = predict(once.encode(), "t.csv")

    assert twice.text == once
    assert any("replaced" in remark for remark in twice.remarks)


def test_collectives_are_predicted(published, as_csv):
    """Bus bandwidth in GB/s and time in microseconds agree; measured columns may be gone."""
    came = [row for row in published("nccl_measured") if row["size_bytes"]][:10]
    bare = [
        {k: v for k, v in row.items() if k not in {"time_us", "algbw_GBps", "busbw_GBps"}} for row in came
    ]

    with_all, without = (rows_of(predict(as_csv(each), "t.csv").text) for each in (came, bare))

    added = COLLECTIVES.added
    assert [[row[name] for name in added] for row in with_all] == [
        [row[name] for name in added] for row in without
    ]
    assert all(float(row["predicted_busbw_gbps"]) > 0 for row in with_all)


def test_a_collective_of_no_size_is_refused(published, as_csv):
    """Zero and negative sizes are no sizes."""
    row = published("nccl_measured")[0] | {"size_bytes": "-8"}

    found = predict(as_csv([row]), "t.csv")

    assert "error[predict-not-a-size]" in rows_of(found.text)[0]["prediction_note"]


def test_absurd_sizes_end_in_a_reason(row, as_csv):
    """Not in a traceback."""
    found = predict(as_csv([row | {"seq_len": "9" * 400}]), "t.csv")

    assert found.failed == 1
    assert "error[predict-" in rows_of(found.text)[0]["prediction_note"]


def test_convolutional_networks_and_bert_are_predicted(published, as_csv):
    """Samples a second, of all GPUs and of one; measured columns may be gone."""
    came = published("cnn_training")
    measured = {"samples_per_s_total", "samples_per_s_per_gpu", "time_to_train_min", "n_runs"}
    bare = [{name: cell for name, cell in row.items() if name not in measured} for row in came]

    with_all, without = (predict(as_csv(each), "t.csv") for each in (came, bare))

    added = [[row[name] for name in CNN.added] for row in rows_of(with_all.text)]
    assert added == [[row[name] for name in CNN.added] for row in rows_of(without.text)]
    assert with_all.failed == 2  # of TPUs, without a number of them
    for row in rows_of(with_all.text):
        if row["predicted_samples_per_s_total"] and row["num_gpus"]:
            share = float(row["predicted_samples_per_s_per_gpu"]) * float(row["num_gpus"])
            assert abs(share / float(row["predicted_samples_per_s_total"]) - 1) < 1e-4


def test_a_long_table_is_predicted_in_pieces_and_stays_in_order(published, as_csv):
    """Whoever maps over the pieces, and in whichever order they are done."""
    row = next(row for row in published("nccl_measured") if row["size_bytes"])
    rows = [row | {"size_bytes": str(2**20 * (1 + at) if at % 100 == 0 else -at)} for at in range(1100)]
    sizes = []

    def backwards(predict_piece, pieces):
        held = list(pieces)
        sizes.extend(len(piece.lines) for piece in held)
        return reversed([predict_piece(piece) for piece in reversed(held)])

    spread = predict(as_csv(rows), "t.csv", None, backwards)

    assert sizes == [500, 500, 100]
    assert spread == predict(as_csv(rows), "t.csv")
    assert [row["size_bytes"] for row in rows_of(spread.text)] == [row["size_bytes"] for row in rows]


def test_a_gpu_that_was_never_fitted_is_said(row, as_csv):
    """Its range is that of other GPUs."""
    known, unknown = rows_of(predict(as_csv([row, row | {"gpu_type": "MI300X"}]), "t.csv").text)

    assert "were fitted" not in known["prediction_note"]
    assert "were fitted: the range is that of other GPUs" in unknown["prediction_note"]
