"""llmpedia/config/kinds.py: one of several sections by ``kind``, and one line where it is wrong."""

from typing import Annotated, Literal

import pytest
from pydantic import Field

from llmpedia.config.base import Section
from llmpedia.config.files import parse_as
from llmpedia.config.kinds import ByKind, kind_of
from llmpedia.errors import ConfigError
from tests.support.builders.runs import one_line


class Vehicle(Section):
    """What all have."""

    kind: str
    seats: int = 1


class Car(Vehicle):
    """With a key of its own."""

    kind: Literal["car"] = "car"
    doors: int = 4


class Boat(Vehicle):
    """With another."""

    kind: Literal["boat"] = "boat"
    sails: int = 1


AnyVehicle = Annotated[Vehicle, ByKind((Car, Boat), default=Car)]


class Trip(Section):
    """Holds one, several by name, or perhaps one."""

    by: AnyVehicle = Car()
    named: dict[str, AnyVehicle] = Field(default_factory=dict)
    spare: AnyVehicle | None = None


def parse(data) -> Trip:
    return parse_as(Trip, data, "trip.yaml")


def test_the_kind_chooses_and_the_default_is_meant_without_it():
    trip = parse({"by": {"kind": "boat", "sails": 3}, "named": {"a": {"doors": 2}}, "spare": {"kind": "car"}})
    assert trip == Trip(by=Boat(sails=3), named={"a": Car(doors=2)}, spare=Car())
    assert parse({}).spare is None


def test_a_section_goes_to_json_and_back_whole():
    trip = Trip(by=Boat(sails=3), named={"a": Car(doors=2)})
    assert Trip.model_validate_json(trip.model_dump_json()) == trip
    assert trip.model_dump()["by"] == {"kind": "boat", "seats": 1, "sails": 3}


@pytest.mark.parametrize(
    ("data", "parts"),
    [
        ({"by": {"kind": "bike"}}, ["trip.yaml: by.kind: 'bike'", "one of car, boat", "change it"]),
        ({"by": {"kind": None}}, ["by.kind: None", "one of car, boat"]),
        ({"by": {"kind": ["car"]}}, ["by.kind: ['car']", "one of car, boat"]),
        ({"by": {"kind": 7}}, ["by.kind: 7", "one of car, boat"]),
        ({"by": 7}, ["by = 7", "valid dictionary"]),
        ({"by": None}, ["by = None", "valid dictionary"]),
        ({"by": {"kind": "boat", "doors": 2}}, ["by.doors = 2", "known keys: kind, seats, sails"]),
        ({"by": {"kind": "boat", "sail": 2}}, ["by.sail = 2", "did you mean sails?"]),
        ({"named": {"a": {"kind": "boat", "sails": "x"}}}, ["named.a.sails = 'x'", "valid integer"]),
        ({"named": {"a": {"kind": "bike"}}}, ["named.a.kind: 'bike'", "one of car, boat"]),
        ({"spare": {"kind": "bike"}}, ["spare.kind: 'bike'", "one of car, boat"]),
    ],
)
def test_a_fault_is_one_line_with_the_users_own_path(data, parts):
    with pytest.raises(ConfigError) as caught:
        parse(data)
    one_line(caught, *parts)


def test_another_rule_is_told_where_there_is_one():
    class Race(Section):
        by: Annotated[Vehicle, ByKind((Boat,), default=Boat, rule="it is on water; use boat")] = Boat()

    with pytest.raises(ConfigError) as caught:
        parse_as(Race, {"by": {"kind": "car"}}, "race.yaml")
    one_line(caught, "by.kind: 'car'", "it is on water; use boat")


def test_kind_of_a_section():
    assert kind_of(Boat) == "boat"
