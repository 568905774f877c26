"""Writes the pages that are drawn from the code: `python -m docs_tools`."""

from pathlib import Path

from docs_tools import errors, lifecycle, proof, python_api, schema, settings

DOCS = Path(__file__).parent.parent / "docs"


def pages() -> dict[str, str]:
    """Every page that is generated, or has a part that is, by its name under `docs/`."""
    return {
        "lifecycle.md": lifecycle.page(),
        "errors.md": errors.page(),
        "schema.sql": schema.page(),
        "settings.md": settings.page(),
        "python.md": python_api.page(),
        "proof.md": proof.page((DOCS / "proof.md").read_text(encoding="utf-8")),
    }


def write() -> None:
    """Write every generated page."""
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
