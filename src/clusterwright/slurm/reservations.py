"""Reservations as `scontrol show reservation -o` prints them, one on each line."""

from typing import Iterator, Tuple

from clusterwright.slurm.records import Record, split_lines


def parse_reservations(text: str) -> Iterator[Tuple[int, Record]]:
    """Yield (number of the line, fields) of each reservation in the output of client.show_reservations."""
    for number, line in enumerate(split_lines(text), 1):
        record = Record.parse(line)
        if record["ReservationName"]:
            yield number, record
