"""When a host was hot: the real ipmitool on an emulated BMC, its log read by the check and by `wright why`."""

import pytest
from tests.check.ipmi_sim import (
    CPU,
    FAN,
    FAN1,
    GOING_HIGH,
    GOING_LOW,
    PROCESSOR,
    TEMPERATURE,
    THROTTLED,
    running,
)

from clusterwright.check.bmc_log import heat_periods, parse_event
from clusterwright.check.checks.thermal_history import thermal_history
from clusterwright.check.facts.bmc_events import bmc_events
from clusterwright.check.facts.bmc_sensors import bmc_sensors
from clusterwright.check.verdict import Status
from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.reading import of_text, read

WARM = "01/02/2026 | 10:00:00 | Temperature CPU | Upper Non-critical going high"
TOO_HOT = "01/02/2026 | 10:05:00 | Temperature CPU | Upper Critical going high"
HOT = (TEMPERATURE, CPU, GOING_HIGH)


def diagnoses(text):
    """The diagnoses of a text."""
    return judge(read([of_text("-", text)], knowledge()))


@pytest.fixture(scope="module")
def bmc(tmp_path_factory):
    """A BMC whose host was hot twice, with a fan that stands since the night, and a throttled processor."""
    with running(tmp_path_factory.mktemp("bmc")) as emulator:
        emulator.event("11/27/26 02:10:00", FAN, FAN1, GOING_LOW, 2, 20)
        emulator.event("11/27/26 02:14:30", *HOT, 96, 95)
        emulator.event("11/27/26 02:56:10", *HOT, 92, 95, ends=True)
        emulator.event("11/27/26 14:00:00", *HOT, 97, 95)
        emulator.event("11/27/26 14:31:00", *HOT, 92, 95, ends=True)
        emulator.event("11/27/26 15:00:00", PROCESSOR, 0x50, THROTTLED, 255, 255)
        emulator.ipmitool("sel", "time", "set", "11/27/26 18:00:00")
        yield emulator


def events_text(bmc):
    """What the fact's command prints on a host with this BMC."""
    info, clock = bmc.ipmitool("sel", "info"), bmc.ipmitool("sel", "time", "get")
    return f"{info}{clock}@\n{bmc.ipmitool('sel', 'elist', 'last', '200')}@ END\n"


def test_the_check_names_the_hot_times_with_their_length(bmc):
    """Two on one sensor; what lasts is a fault of the event log."""
    have = bmc_events.parse(events_text(bmc))
    verdicts = list(thermal_history.judge(None, have))

    assert [(period.kind, period.begin, period.duration_s) for period in have.heat] == [
        ("fan", "2026-11-27 02:10", None),
        ("hot", "2026-11-27 02:14", 2500.0),
        ("hot", "2026-11-27 14:00", 1860.0),
        ("throttled", "2026-11-27 15:00", None),
    ]
    assert [verdict.status for verdict in verdicts] == [Status.WARN]
    assert "2 times in 7 days, 1 h 13 min in all" in verdicts[0].observed
    assert "2026-11-27 14:00 for 31 min (97 degrees C)" in verdicts[0].observed


def test_why_tells_when_the_host_was_hot_and_that_a_fan_stands(bmc):
    """The fan is the cause, heat and throttling follow from it."""
    first, *others = diagnoses(bmc.ipmitool("sel", "elist"))
    hot = next(each for each in others if each.mode == "other/bmc-hot")

    assert (first.mode, first.role) == ("other/bmc-fan", "root")
    assert "FAN1, 1 time, 120 RPM: since 2026-11-27 02:10" in first.cause
    assert "CPU1 Temp, 2 times, 1 h 13 min in all, 97 degrees C" in hot.cause
    assert "2026-11-27 02:14 to 02:56, 2026-11-27 14:00 to 14:31" in hot.cause
    assert hot.role == "cascade"


def test_a_training_that_slows_on_a_hot_host_is_a_consequence(bmc):
    """The log of the BMC beside that of the training."""
    epochs = "".join(
        f"epoch {number} {2350 - 215 * number} samples/s loss 1.{number}\n" for number in range(9)
    )
    roles = {each.mode: each.role for each in diagnoses(epochs + bmc.ipmitool("sel", "elist"))}

    assert roles["other/training-slows"] == "cascade"
    assert roles["other/bmc-fan"] == "root"


def test_sensors_within_their_limits_are_normal_and_a_standing_fan_is_not(bmc):
    """`sdr type temperature`, `sdr type fan` and `-c sdr elist`, whose states have another letter since 1.8.19."""
    calm = diagnoses(bmc.ipmitool("sdr", "type", "temperature"))
    bmc.command(f"sensor_set_value 0x20 0 {FAN1} 0 0")
    fan = diagnoses(bmc.ipmitool("sdr", "type", "fan"))
    sensors = bmc_sensors.parse(bmc.ipmitool("-c", "sdr", "elist") + "@ END\n")

    assert [each.cause for each in calm] == [
        "All 2 temperatures are within their limits, the highest is CPU1 Temp with 71 °C: normal."
    ]
    assert (fan[0].mode, "now: 0 RPM" in fan[0].cause) == ("other/bmc-fan", True)
    assert {sensor.name: sensor.state for sensor in sensors.sensors}["FAN1"] == "nr"


@pytest.mark.parametrize(
    ("lines", "periods"),
    [
        (["Pre-Init |0000000012| Temperature CPU | Upper Critical going high | Asserted"], []),
        (["01/02/2026 | 10:00:00 | Temperature CPU | Upper Critical going high | Deasserted"], []),
        (
            [
                f"{WARM} | Asserted | Reading 90 > Threshold 85 degrees C",
                f"{TOO_HOT} | Asserted | Reading 96 > Threshold 95 degrees C",
                "01/02/2026 | 10:20:00 | Temperature CPU | Upper Critical going high | Deasserted",
                "01/02/2026 | 10:30:00 | Temperature CPU | Upper Non-critical going high | Deasserted",
            ],
            [("hot", "10:00", "10:30", "96 degrees C")],
        ),
        (["01/02/2026 | 10:00:00 | Processor CPU1 | Thermal Trip | Asserted"], [("hot", "10:00", None, "")]),
        (["01/02/2026 | 10:00:00 | Temperature CPU | Lower Critical going low | Asserted"], []),
        (["a | b"], []),
    ],
)
def test_events_become_periods(lines, periods):
    """Two limits of one sensor are one period; a clock that is not set, and an end without a begin, are none."""
    events = [event for line in lines if (event := parse_event(f"1 | {line}"))]

    assert [
        (period.kind, f"{period.begin:%H:%M}", period.end and f"{period.end:%H:%M}", period.reading)
        for period in heat_periods(events)
    ] == periods
