"""Jobs from a web application: `pip install fastapi`, then `uvicorn examples.fastapi_app:web`.

A request submits a job and answers at once; the browser asks for the result later. Run the jobs
with `headway serve --app examples.demo:app` beside it.
"""

from typing import Any

from examples.demo import app, story
from fastapi import FastAPI, HTTPException

import headway

web = FastAPI()


@web.post("/stories", status_code=202)
async def order(genre: str, length: int = 3) -> dict[str, int]:
    """Submit a story; when this answers, the job is on disk."""
    job = await story.submit_async(genre=genre, length=length)
    return {"job": job.number}


@web.get("/stories/{job}")
async def fetch(job: int) -> dict[str, Any]:
    """The story, or how far it has got."""
    try:
        found = await app.send_async(headway.protocol.jobs.get_job, id=job)
    except headway.HeadwayError as error:
        raise HTTPException(error.http_status, error.detail) from None
    if found.status is not headway.JobStatus.SUCCEEDED:
        return {"status": found.status, "progress": found.progress and found.progress.fraction}
    result = await app.send_async(headway.protocol.jobs.get_result, id=job)
    return {"status": found.status, "story": result.result_data}
