"""A wheel carries the built dashboard; an editable install is built by `script/_setup`."""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DashboardHook(BuildHookInterface[Any]):
    """Builds the page before a wheel is packed."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called once for each wheel."""
        if version == "editable":
            return
        file = Path(self.root) / "dashboard" / "build.py"
        spec = importlib.util.spec_from_file_location("dashboard_build", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.main(module.OUT)
