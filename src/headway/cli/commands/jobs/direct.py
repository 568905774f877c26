"""`headway direct`: the next slot, before the queue."""

from typing import TYPE_CHECKING, Annotated

import typer

from headway import protocol
from headway.cli import completion
from headway.cli.options import command, commands

if TYPE_CHECKING:
    from headway.cli.session import Session

app = commands()


@command(
    app,
    "direct",
    "headway direct story genre=horror length=100",
    'headway direct story --params \'{"genre": "horror"}\' --timeout 30s',
)
def direct(
    session: "Session",
    job_type: Annotated[
        str, typer.Argument(metavar="TYPE", help="Job type.", autocompletion=completion.job_types)
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE", help="Params; a value that is valid JSON is read as JSON."
        ),
    ] = None,
    params: Annotated[
        str | None, typer.Option("--params", metavar="JSON", help="All params as one object.")
    ] = None,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="SPAN", help="How long to wait for a slot.")
    ] = "5m",
) -> None:
    """Run a handler in the server's next slot and show its result."""
    from headway import wiring
    from headway.cli import values
    from headway.domain import errors
    from headway.domain.requests.job_requests import DirectBody
    from headway.domain.values import durations

    if wiring.server_url(session.settings) is None:
        raise errors.NeedsServer()
    body = DirectBody(
        params=values.read_params(words or [], params), wait_timeout_s=durations.parse(timeout)
    )
    answer = session.send(protocol.direct.run_direct, job_type=job_type, body=body)
    session.show(answer, lambda: session.screen.line(values.written(answer.result)))
