from collections.abc import Callable

import psycopg


def test_a_fresh_database_answers(fresh_database: Callable[[], str]) -> None:
    with psycopg.connect(fresh_database()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_each_fresh_database_is_another_one(fresh_database: Callable[[], str]) -> None:
    with psycopg.connect(fresh_database()) as connection:
        connection.execute("CREATE TABLE only_here (id int)")
    with psycopg.connect(fresh_database()) as connection:
        found = connection.execute("SELECT to_regclass('only_here')").fetchone()
    assert found == (None,)
