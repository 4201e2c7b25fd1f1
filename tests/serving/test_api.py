"""Schemathesis against the OpenAPI document of the application: no 500, nothing that the document
does not tell.
"""

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.builders.serving import KEY, Served

schema = schemathesis.openapi.from_asgi("/openapi.json", Served().app)
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@schema.parametrize()
@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_whatever_the_document_allows_or_forbids(case):
    response = case.call(headers={"Authorization": f"Bearer {KEY}"})
    case.validate_response(response, checks=CHECKS)
