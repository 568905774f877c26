"""Files of a data directory: output, private files, its id and its token."""
