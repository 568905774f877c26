"""The folder that jobs work in, with its files and its git repository."""

from headway.workspace.workspace import Workspace

__all__ = ["Workspace"]
