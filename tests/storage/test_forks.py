"""A store that was opened before a fork is refused in the child, and stays good in the parent."""

import json
import subprocess
import sys

# The main thread leaves its writes to another thread, which a child would not have.
PROGRAM = """
import json, os, sys
import headway
from headway.domain import errors

app = headway.App(db=sys.argv[1])

def attempt(work):
    try:
        work()
        return "done"
    except errors.HeadwayError as error:
        return error.code

def submit():
    app.submit("any")

def look():
    app.send(headway.protocol.jobs.list_jobs)

submit()
look()
child = os.fork()
if not child:
    told = [attempt(submit), attempt(look)]
    app.close()
    told += [attempt(submit), attempt(look)]
    app.close()
    print(json.dumps(told), flush=True)
    os._exit(0)
os.waitpid(child, 0)
submit()
print(app.send(headway.protocol.queue.get_scheduler_status).queue_length, flush=True)
app.close()
"""


def test_a_store_opened_before_a_fork_is_refused_in_the_child(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, url], capture_output=True, text=True, timeout=60, check=True
    )
    told, count = done.stdout.splitlines()
    refused = "opened_before_fork"
    assert json.loads(told) == [refused, refused, "done", "done"]
    assert count == "3"
