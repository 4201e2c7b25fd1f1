"""Settings of the web: search engines are those that there are, and what is wrong names its key."""

import pytest

from llmpedia.errors import ConfigError
from llmpedia.web.guard import Policy
from llmpedia.web.search import backends
from llmpedia.web.settings import WebSection
from tests.support.builders.audit import audit_config
from tests.support.builders.runs import one_line


def test_every_search_engine_may_be_named():
    assert [WebSection(backend=name).backend for name in (*backends(), None)] == [*backends(), None]


def test_an_engine_that_there_is_not_is_refused_with_those_there_are():
    with pytest.raises(ConfigError) as caught:
        audit_config(web={"backend": "bing"})
    one_line(caught, "web.backend", "'bing'", *backends())


def test_caps_of_fetching_and_reading_are_those_of_the_section():
    web = WebSection(timeout_s=7.0, max_bytes=12_345, extractors=3, extract_s=4.0)
    caps = web.fetching(web.reach().policy)
    reading = web.extracting()
    assert (caps.timeout_s, caps.max_bytes) == (7.0, 12_345)
    assert (reading.extractors, reading.extract_s) == (3, 4.0)


def test_loopback_is_reached_only_where_it_is_allowed():
    address = "http://127.0.0.1:8123"
    closed = WebSection(base_url=address).reach()
    opened = WebSection(base_url=address, allow_loopback=True).reach()
    assert (closed.policy, dict(closed.scores)) == (Policy(), {})
    assert set(opened.scores) == {"127.0.0.1"}
    assert opened.policy.allowed_ports == frozenset({8123})
    assert all(network.is_loopback for network in opened.policy.allowed_networks)
