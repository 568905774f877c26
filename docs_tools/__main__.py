"""`python -m docs_tools`."""

from docs_tools import write

write()
