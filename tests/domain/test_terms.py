"""The terms of a job are defined once: request, template and job have them by the same names."""

import msgspec

from headway.client.options import SubmitOptions
from headway.domain.jobs import Job, JobTerms, SharedTerms, Terms
from headway.domain.manage.templates import Template, defaults
from headway.domain.requests.job_requests import JobRequest, shared_terms
from headway.domain.requests.template_requests import TemplatePatch, TemplateRequest

SPANS = {
    "timeout_s": "timeout",
    "dedup_window_s": "dedup_window",
    "start_within_s": "start_within",
}


def test_a_shown_job_has_every_term() -> None:
    assert set(Terms.__struct_fields__) <= set(Job.__struct_fields__)


def test_a_template_can_be_changed_in_everything_it_is_made_of() -> None:
    assert set(TemplatePatch.__struct_fields__) == set(TemplateRequest.__struct_fields__)


def test_the_sdk_has_an_option_for_every_term() -> None:
    options = {SPANS.get(name, name) for name in JobTerms.__struct_fields__}
    assert options <= set(SubmitOptions.__annotations__)


def test_requests_and_templates_show_their_own_fields_before_the_shared_ones() -> None:
    for kind in (JobRequest, TemplateRequest, Template):
        names = kind.__struct_fields__
        assert names.index("job_type") < min(map(names.index, SharedTerms.__struct_fields__))


def _template(**given: object) -> Template:
    return msgspec.convert({**msgspec.to_builtins(defaults()), **given}, Template)


def test_the_request_s_terms_come_before_those_of_its_template() -> None:
    template = _template(timeout_s=60, webhook_url="https://a.example", tags=["a", "b"])
    request = JobRequest(template="x", timeout_s=5, tags=("b", "c"))
    both = shared_terms(request, template)
    assert both["timeout_s"] == 5
    assert both["webhook_url"] == "https://a.example"
    assert both["tags"] == ("a", "b", "c")
    alone = shared_terms(request, None)
    assert alone["webhook_url"] is None
    assert alone["tags"] == ("b", "c")
