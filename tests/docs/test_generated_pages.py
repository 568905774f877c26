"""The pages that are drawn from the code say what the code says."""

import re
from pathlib import Path

import docs_tools
import pytest
from tests.docs.fences import ROOT

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]


@pytest.mark.parametrize("name", docs_tools.pages())
def test_a_generated_page_is_what_the_code_would_write(name: str) -> None:
    written = (docs_tools.DOCS / name).read_text(encoding="utf-8")
    assert written == docs_tools.pages()[name], "run: python -m docs_tools"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
