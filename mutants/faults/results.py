"""Results that flow from job to job."""

from mutants.fault import Fault, NamedTest

TESTS = "tests/scheduler/test_taken_results.py"

FAULTS = (
    Fault(
        name="result-without-after",
        section=24,
        promise="A step's `.value` may stand in another's params; the dependency follows from it",
        planted="params that take a result make no dependency",
        file="domain/requests/after_requests.py",
        text="for one in taken]",
        instead="for one in taken[:0]]",
        caught_by=NamedTest(
            f"{TESTS}::test_a_result_of_the_same_batch_is_filled_in_when_the_job_starts"
        ),
    ),
    Fault(
        name="missing-path-retried",
        section=24,
        promise="a `path` that does not exist fails the job for good",
        planted="a job whose params cannot be filled in is tried again",
        file="scheduler/finish/finish.py",
        text="error=error, retry=False)",
        instead="error=error)",
        caught_by=NamedTest(f"{TESTS}::test_a_path_that_does_not_exist_fails_the_job_for_good"),
    ),
    Fault(
        name="results-are-looked-at",
        section=24,
        promise="`$result` is resolved when the job starts, and seen resolved in `params_snapshot`",
        planted="a result that looks like a reference is taken for one",
        file="storage/payloads.py",
        text='"refers": 0}',
        instead='"refers": 1}',
        caught_by=NamedTest(f"{TESTS}::test_a_result_that_looks_like_a_reference_is_none"),
    ),
    Fault(
        name="foreign-results",
        section=24,
        promise="a worker's token takes only results that it may see",
        planted="a child takes the result of any job",
        file="operations/work/children.py",
        text="for one in _taken(request) if",
        instead="for one in () if",
        caught_by=NamedTest("tests/http/test_children.py::test_it_learns_of_no_other_job"),
    ),
)
