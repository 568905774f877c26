"""How one run is really executed: in a thread, in a process of its own, or as a command.

Nothing is imported here, so that a child process starts quickly.
"""
