// The output of a run: it follows, has colours, and can be searched, copied and downloaded.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { send } from "../api";
import { copy, say } from "./ui";

const MOST_LINES = 5000;
const FIRST_LINES = 2000;
const REDRAW_MS = 100;

type Stream = "stdout" | "stderr";

export function Output({ run, live }: { run: string; live: boolean }) {
  const [stream, setStream] = useState<Stream>("stdout");
  const [wanted, search] = useState("");
  const [wraps, setWraps] = useState(true);
  const [lines, problem] = useLines(run, stream, live);
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const shown = useMemo(
    () => (wanted ? lines.filter((line) => plain(line).toLowerCase().includes(wanted.toLowerCase())) : lines),
    [lines, wanted],
  );
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown]);
  const scrolled = () => {
    const at = box.current!;
    follows.current = at.scrollHeight - at.scrollTop - at.clientHeight < 40;
  };
  return (
    <div class="output">
      <div class="row">
        <div class="tabs" role="group" aria-label="Stream">
          {(["stdout", "stderr"] as const).map((name) => (
            <button type="button" key={name} aria-pressed={name === stream} onClick={() => setStream(name)}>{name}</button>
          ))}
        </div>
        <input type="search" placeholder="Search in the output" aria-label="Search in the output" value={wanted} onInput={(event) => search(event.currentTarget.value)} />
        <label class="check"><input type="checkbox" checked={wraps} onChange={(event) => setWraps(event.currentTarget.checked)} /> wrap</label>
        <button type="button" onClick={() => copy(lines.map(plain).join("\n"))}>Copy</button>
        <button type="button" onClick={() => void download(run, stream)}>Download</button>
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {lines.length >= MOST_LINES && <p class="soft">Only the last {MOST_LINES} lines are shown; download it for all.</p>}
      <div class={wraps ? "lines wraps" : "lines"} ref={box} tabIndex={0} role="log" aria-label={stream} onScroll={scrolled}>
        {shown.map((line, index) => <div key={index}>{coloured(line)}</div>)}
        {!shown.length && !problem && <div class="soft">{wanted ? "No line matches." : live ? "Nothing yet." : "It printed nothing."}</div>}
      </div>
    </div>
  );
}

function useLines(run: string, stream: Stream, live: boolean): [string[], string | null] {
  const [lines, setLines] = useState<string[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    let text: string[] = [];
    let rest = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    setLines([]);
    setProblem(null);
    const draw = () => {
      timer = undefined;
      setLines(rest ? [...text, rest] : [...text]);
    };
    const read = async () => {
      const answer = await send(`/api/job-runs/${run}/logs/${stream}?follow=${live}&tail=${FIRST_LINES}`, { signal: stop.signal });
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const found = (rest + part.value).split("\n");
        rest = found.pop()!;
        text = [...text, ...found].slice(-MOST_LINES);
        timer ??= setTimeout(draw, REDRAW_MS);
      }
    };
    read().catch((error: unknown) => {
      if (!stop.signal.aborted) setProblem(error instanceof Error ? error.message : String(error));
    });
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [run, stream, live]);
  return [lines, problem];
}

async function download(run: string, stream: Stream): Promise<void> {
  try {
    const answer = await send(`/api/job-runs/${run}/logs/${stream}`);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `${run}-${stream}.txt`;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), "bad");
  }
}

const ESCAPES = /\x1b\[([0-9;]*)m|\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07/g;
const plain = (line: string) => line.replace(ESCAPES, "");
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** A line with the colours that its escape sequences ask for. */
function coloured(line: string) {
  if (!line.includes("\x1b")) return line || "\u200b";
  const parts = [];
  let end = 0;
  let kind: string[] = [];
  for (const match of line.matchAll(ESCAPES)) {
    if (match.index > end) parts.push(<span key={end} class={kind.join(" ")}>{line.slice(end, match.index)}</span>);
    end = match.index + match[0].length;
    if (match[1] !== undefined) for (const code of match[1].split(";")) kind = applied(kind, Number(code || 0));
  }
  parts.push(<span key={end} class={kind.join(" ")}>{line.slice(end)}</span>);
  return parts;
}

function applied(kind: string[], code: number): string[] {
  if (code === 0) return [];
  if (code === 1) return [...kind, "bold"];
  const colour = code >= 30 && code <= 37 ? COLOURS[code - 30] : code >= 90 && code <= 97 ? COLOURS[code - 90] : null;
  if (colour) return [...kind.filter((one) => !one.startsWith("ansi-")), `ansi-${colour}`];
  return code === 39 ? kind.filter((one) => !one.startsWith("ansi-")) : kind;
}
