"""Jobs from a plain script, with no server: `python examples/plain_script.py [DATA]`.

The jobs are stored in `./.headway` and wait there for the next `headway serve`.
"""

import sys

import headway

app = headway.App(data=sys.argv[1] if len(sys.argv) > 1 else None)


@app.job(retries=3, timeout="10m")
def fetch(url: str) -> int:
    """Fetch a page and say how long it is."""
    import urllib.request

    with urllib.request.urlopen(url) as answer:
        return len(answer.read())


@app.job
def report(title: str, lengths: list[int]) -> str:
    """Write a report."""
    return f"# {title}: {sum(lengths)} bytes"


def main() -> None:
    """Submit two pages to fetch, and a report that gets what both come to."""
    with app.pipeline() as flow:
        pages = flow.map(fetch, url=["http://127.0.0.1:8000/a", "http://127.0.0.1:8000/b"])
        flow.add(report.options(tags=["weekly"]), title="This week", lengths=pages.values)
    for handle in flow.handles:
        print(f"job {handle.number} is {handle.status}")
    app.close()


if __name__ == "__main__":
    main()
