"""Handler processes: children of the server in which handlers run, so that it runs none itself."""
