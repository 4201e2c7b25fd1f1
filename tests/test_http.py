"""Pauses that servers ask for, in every form that a header can have."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from llmpedia.http import MAX_PAUSE_S, pause_of, retry_after


def date_in(seconds, usegmt=True):
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=usegmt)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("1.5", 1.5), ("-3", 0.0), ("99999", MAX_PAUSE_S), (None, None), ("", None)],
)
def test_a_number_of_seconds(value, seconds):
    assert retry_after(value) == seconds


@pytest.mark.parametrize("usegmt", [True, False])
def test_a_date_is_waited_for(usegmt):
    """RFC 9110, 10.2.3: a server may say until when, not only how long."""
    assert 55 < retry_after(date_in(60, usegmt)) <= 60


def test_a_date_without_a_zone_is_read_as_utc():
    assert 55 < retry_after(date_in(60, usegmt=False).replace("+0000", "-0000")) <= 60


def test_a_date_that_has_passed_asks_for_nothing_more():
    assert retry_after("Fri, 31 Dec 1999 23:59:59 GMT") == 0.0


def test_a_far_date_is_cut_to_the_longest_pause():
    assert retry_after(date_in(86400)) == MAX_PAUSE_S


@pytest.mark.parametrize("value", ["soon", "nan", "inf", "Fri, 99 Dec 1999 23:59:59 GMT", "12 o'clock"])
def test_what_is_neither_says_nothing(value):
    assert retry_after(value) is None


@pytest.mark.parametrize(
    "value", [f"Wed, 21 Oct 2099 {'9' * 20}:28:00 GMT", f"Wed, 21 Oct 2099 07:28:00 +{'9' * 20}"]
)
def test_numbers_that_no_clock_holds_raise_nothing(value):
    """Any web page may send them, and a fetch never raises for what a server does."""
    assert retry_after(value) is None


def test_a_pause_for_all_may_be_a_date_too():
    assert 25 < pause_of({"Retry-After": date_in(30)}) <= 30
