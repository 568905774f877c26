"""What only a server does: no function is bound to these, the server itself serves them."""

from headway.domain.answers import DashboardCode, DirectAnswer
from headway.domain.manage.tokens import Role
from headway.domain.requests.job_requests import DirectBody
from headway.protocol.operation import Opens, operation

run_direct = operation(
    "POST",
    "/api/direct/{job_type}",
    Role.SUBMIT,
    body=DirectBody,
    answer=DirectAnswer,
    opens=Opens.LATER,
    needs_server=True,
    takes_its_time=True,
)
create_dashboard_code = operation(
    "POST",
    "/dashboard/codes",
    Role.ADMIN,
    answer=DashboardCode,
    opens=Opens.LATER,
    needs_server=True,
)
