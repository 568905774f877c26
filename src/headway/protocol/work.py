"""The worker protocol: claim, prepare, lease, heartbeat, release, output, leave."""

from headway.domain.answers import JobType
from headway.domain.jobs import Job
from headway.domain.leases import Lease
from headway.domain.manage.tokens import Role
from headway.domain.steps import Step
from headway.domain.workers import Worker
from headway.protocol.jobs import Steps
from headway.protocol.operation import Nothing, Opens, Operation, Page, operation
from headway.protocol.work_shapes import (
    BriefClaimed,
    ClaimBody,
    Claimed,
    DrainBody,
    HeartbeatAnswer,
    HeartbeatBody,
    Heartbeats,
    ItemAnswers,
    LeaseAnswer,
    LeaseBody,
    LogAnswer,
    LogBody,
    LogPieces,
    ReleaseAnswer,
    ReleaseBody,
    Releases,
    StepBody,
    StepItems,
    SuspendAnswer,
    SuspendBody,
    WorkerBody,
)

claim: Operation[ClaimBody, Nothing, Claimed | BriefClaimed | None] = Operation(
    method="POST",
    path="/api/claims",
    role=Role.WORK,
    body=ClaimBody,
    query=Nothing,
    answer=Claimed,
    also=(204,),
    opens=Opens.WRITE_APART,
    noted=False,
    safe_to_repeat=False,
)
preparing = operation(
    "POST",
    "/api/jobs/{id}/preparing",
    Role.WORK,
    body=WorkerBody,
    answer=Job,
    noted=False,
    safe_to_repeat=True,
)
request_lease = operation(
    "POST",
    "/api/leases",
    Role.WORK,
    body=LeaseBody,
    answer=LeaseAnswer,
    status=201,
    also=(200,),
    noted=False,
)
get_lease = operation("GET", "/api/leases/{id}", Role.WORK, answer=Lease)
heartbeat = operation(
    "POST",
    "/api/leases/{id}/heartbeat",
    Role.WORK,
    body=HeartbeatBody,
    answer=HeartbeatAnswer,
    opens=Opens.WRITE_BESIDE,
    noted=False,
    safe_to_repeat=True,
)
heartbeats = operation(
    "POST",
    "/api/leases/heartbeats",
    Role.WORK,
    body=Heartbeats,
    answer=ItemAnswers,
    opens=Opens.WRITE_BESIDE,
    noted=False,
    safe_to_repeat=True,
)
release = operation(
    "POST",
    "/api/leases/{id}/release",
    Role.WORK,
    body=ReleaseBody,
    answer=ReleaseAnswer,
    opens=Opens.WRITE_BESIDE,
    noted=False,
    safe_to_repeat=True,
)
releases = operation(
    "POST",
    "/api/leases/releases",
    Role.WORK,
    body=Releases,
    answer=ItemAnswers,
    opens=Opens.WRITE_BESIDE,
    noted=False,
    safe_to_repeat=True,
)
add_step = operation(
    "POST",
    "/api/leases/{id}/steps",
    Role.WORK,
    body=StepBody,
    answer=Step,
    status=201,
    also=(200,),
    opens=Opens.WRITE_BESIDE,
    noted=False,
    safe_to_repeat=True,
)
add_steps = operation(
    "POST",
    "/api/leases/steps",
    Role.WORK,
    body=StepItems,
    answer=ItemAnswers,
    opens=Opens.WRITE_BESIDE,
    noted=False,
    safe_to_repeat=True,
)
list_steps_of_lease = operation("GET", "/api/leases/{id}/steps", Role.WORK, answer=Steps)
suspend = operation(
    "POST",
    "/api/leases/{id}/suspend",
    Role.WORK,
    body=SuspendBody,
    answer=SuspendAnswer,
    noted=False,
)
send_log = operation(
    "POST",
    "/api/leases/{id}/logs",
    Role.WORK,
    body=LogBody,
    answer=LogAnswer,
    opens=Opens.BLOCKING,
    safe_to_repeat=True,
)
send_logs = operation(
    "POST",
    "/api/leases/logs",
    Role.WORK,
    body=LogPieces,
    answer=ItemAnswers,
    opens=Opens.BLOCKING,
    safe_to_repeat=True,
)
list_job_types = operation("GET", "/api/job-types", Role.READ, answer=Page[JobType])
list_workers = operation("GET", "/api/workers", Role.READ, answer=Page[Worker])
drain_worker = operation(
    "POST",
    "/api/workers/{id}/drain",
    Role.ADMIN,
    body=DrainBody,
    answer=Worker,
    safe_to_repeat=True,
)
leave = operation("DELETE", "/api/workers/{id}", Role.WORK, answer=WorkerBody, safe_to_repeat=True)
