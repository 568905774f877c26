"""A data directory has one id, whoever asks first."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from headway.files import data_id


def test_the_id_is_made_once_and_stays(tmp_path: Path) -> None:
    assert data_id.read(tmp_path) is None
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(data_id.ensure, [tmp_path] * 8))
    assert made == {data_id.read(tmp_path)}
    assert [one.name for one in tmp_path.iterdir()] == [data_id.NAME]
