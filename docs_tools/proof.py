"""The part of the page on proof that lists the negative controls, from the list of faults."""

from mutants import ALL, results
from mutants.fault import Fault
from mutants.results import Result

from docs_tools.tables import WRITTEN_BY, table

BEGIN, END = "<!-- negative controls -->", "<!-- end of negative controls -->"

PART = """\
{begin}
{written_by} There are {count} faults; {caught} were caught when they were last run, {played} of \
them by the first 300 plays of the simulation.

{faults}
{end}"""


def page(written: str) -> str:
    """The page as it is, with this part as the list and the last run have it."""
    before, _, rest = written.partition(BEGIN)
    _, _, behind = rest.partition(END)
    return before + _part() + behind


def _part() -> str:
    kept = results.read()
    found = [(fault, results.of(fault, kept)) for fault in ALL]
    seen = [one for _, one in found if one is not None]
    return PART.format(
        begin=BEGIN,
        end=END,
        written_by=WRITTEN_BY,
        count=len(ALL),
        caught=len(seen),
        played=len([one for one in seen if one.seed is not None]),
        faults=table(
            ("§", "Promise", "Planted fault", "Caught by", "Seconds", "Play"),
            [_row(fault, one) for fault, one in found],
        ),
    )


def _row(fault: Fault, seen: Result | None) -> tuple[object, ...]:
    seconds = "not run yet" if seen is None else f"{seen.seconds:.1f}"
    play = "" if seen is None or seen.seed is None else seen.seed
    catcher = str(fault.caught_by).replace("_", " ")
    return fault.section, _cell(fault.promise), _cell(fault.planted), catcher, seconds, play


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
