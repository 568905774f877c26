"""Schedules."""

from mutants.fault import Fault, NamedTest, Simulation

FAULTS = (
    Fault(
        name="sunday",
        section=10,
        promise="0 and 7 are Sunday",
        planted="7 is no day of the week",
        file="domain/manage/cron.py",
        text='_Field("day of week", 0, 7, _DAYS)',
        instead='_Field("day of week", 0, 6, _DAYS)',
        caught_by=NamedTest("tests/domain/test_cron.py::test_a_cron_expression_fires_next_at"),
    ),
    Fault(
        name="dst-lost",
        section=10,
        promise="a wall time that does not exist fires once at the next valid minute",
        planted="it is left out",
        file="domain/manage/cron.py",
        text="        wall += _MINUTE\n",
        instead="        wall += timedelta(days=1)\n",
        caught_by=NamedTest(
            "tests/domain/test_cron.py::test_a_wall_time_that_does_not_exist_fires_once_at_the_next_valid_minute"
        ),
    ),
    Fault(
        name="dst-twice",
        section=10,
        promise="one that happens twice fires once",
        planted="it fires twice",
        file="domain/manage/cron.py",
        text="if len(walls.hours) == 24:",
        instead="if len(walls.hours) >= 1:",
        caught_by=NamedTest(
            "tests/domain/test_cron.py::test_a_wall_time_that_happens_twice_fires_once"
        ),
    ),
    Fault(
        name="timezone",
        section=10,
        promise="per-schedule IANA timezone",
        planted="every schedule goes by UTC",
        file="domain/manage/cron.py",
        text="where = ZoneInfo(cron.timezone)",
        instead='where = ZoneInfo("UTC")',
        caught_by=NamedTest(
            "tests/domain/test_cron.py::test_a_wall_time_that_happens_twice_fires_once"
        ),
    ),
    Fault(
        name="catchup-skip",
        section=10,
        promise="`catchup`: `skip`",
        planted="missed fires are made up for",
        file="scheduler/upkeep/trigger.py",
        text="wanted = {Catchup.SKIP: 0,",
        instead="wanted = {Catchup.SKIP: 1,",
        caught_by=NamedTest(
            "tests/scheduler/test_schedules.py::test_fires_from_before_the_start_follow_catchup"
        ),
    ),
    Fault(
        name="catchup-one",
        section=10,
        promise="`one` (default: missed fires coalesce into one)",
        planted="two are made up for",
        file="scheduler/upkeep/trigger.py",
        text="Catchup.ONE: 1,",
        instead="Catchup.ONE: 2,",
        caught_by=NamedTest(
            "tests/scheduler/test_schedules.py::test_fires_from_before_the_start_follow_catchup"
        ),
    ),
    Fault(
        name="catchup-all",
        section=10,
        promise="`all` with `catchup_limit`",
        planted="the last missed fire alone is made up for",
        file="scheduler/upkeep/trigger.py",
        text="Catchup.ALL: schedule.catchup_limit}",
        instead="Catchup.ALL: 1}",
        caught_by=NamedTest(
            "tests/scheduler/test_schedules.py::test_fires_from_before_the_start_follow_catchup"
        ),
    ),
    Fault(
        name="overlap",
        section=10,
        promise="`overlap`: `skip` (recorded as an event)",
        planted="jobs of a schedule overlap",
        file="scheduler/upkeep/trigger.py",
        text="if overlaps and schedules.has_active_job(tx, schedule.schedule_id):",
        instead="if overlaps and not schedule.schedule_id:",
        caught_by=Simulation(),
    ),
    Fault(
        name="fired-twice",
        section=10,
        promise="two servers, a restart or a clock step never fire it twice",
        planted="a fire that was given away is made again",
        file="scheduler/upkeep/trigger.py",
        text="if not schedules.take_fire(tx, schedule.schedule_id, fire_time):",
        instead="if schedules.take_fire(tx, schedule.schedule_id, fire_time) is None:",
        caught_by=NamedTest(
            "tests/scheduler/test_schedules.py::test_a_clock_that_steps_back_fires_nothing_twice"
        ),
    ),
    Fault(
        name="fire-not-unique",
        section=10,
        promise="A fire is identified by (schedule, fire time) under a unique index",
        planted="the database keeps two fires of one time",
        file="storage/sqlite/migrations/0001_first_tables.sql",
        text=(
            "    job_number  INTEGER,\n    PRIMARY KEY (schedule_id, fire_time)\n) WITHOUT ROWID;"
        ),
        instead="    job_number  INTEGER\n);",
        caught_by=NamedTest(
            "tests/storage/test_uniqueness.py::test_the_database_itself_refuses_a_second_one"
        ),
    ),
    Fault(
        name="fire-left-out",
        section=10,
        promise="a late timekeeper fires each due fire",
        planted="one of several late fires is made",
        file="scheduler/upkeep/trigger.py",
        text="return missed + cron.missed(times, before_start, tx.now, MOST_LATE)",
        instead="return missed + cron.missed(times, before_start, tx.now, 1)",
        caught_by=NamedTest(
            "tests/scheduler/test_schedules.py::test_a_late_timekeeper_fires_each_due_fire_once"
        ),
    ),
    Fault(
        name="fire-stops",
        section=10,
        promise="Archived or missing template: no job, an error event, the schedule goes on",
        planted="one schedule's trouble stops the others",
        file="scheduler/upkeep/trigger.py",
        text="    except errors.HeadwayError as error:\n        facts |=",
        instead="    except errors.NotFound as error:\n        facts |=",
        caught_by=NamedTest(
            "tests/scheduler/test_schedules.py::test_an_archived_template_makes_an_event_and_the_schedule_goes_on"
        ),
    ),
    Fault(
        name="disabled-fires",
        section=10,
        promise="`enabled`",
        planted="a disabled schedule fires",
        file="scheduler/manage/schedules.py",
        text="next_trigger_at=upcoming if schedule.enabled else None",
        instead="next_trigger_at=upcoming",
        caught_by=NamedTest(
            "tests/scheduler/test_schedules.py::test_a_disabled_schedule_does_not_fire"
        ),
    ),
)
