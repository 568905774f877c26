// The output of a run: it follows, has colours, and can be searched, copied and downloaded.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { send } from "../api";
import { count, visible } from "../words";
import { copy, say } from "./ui";

const MOST_LINES = 5000;
const FIRST_LINES = 2000;
const FEW_LINES = 200;
const LONGEST_LINE = 20_000;
const REDRAW_MS = 100;

type Stream = "stdout" | "stderr";

interface OutputProps {
  run: string;
  live: boolean;
  first?: Stream;
  isShort?: boolean;
}

export function Output({ run, live, first = "stdout", isShort = false }: OutputProps) {
  const [stream, setStream] = useState<Stream>(first);
  const [wanted, search] = useState("");
  const [wraps, setWraps] = useState(true);
  const [lines, problem] = useLines(run, stream, live, isShort ? FEW_LINES : FIRST_LINES);
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
    <div class={isShort ? "output short" : "output"}>
      <div class="row">
        <div class="tabs" role="group" aria-label="Stream">
          {(["stdout", "stderr"] as const).map((name) => (
            <button type="button" key={name} aria-pressed={name === stream} onClick={() => setStream(name)}>{name}</button>
          ))}
        </div>
        {!isShort && <Tools lines={lines} wanted={wanted} search={search} wraps={wraps} setWraps={setWraps} save={() => void download(run, stream)} />}
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {lines.length >= MOST_LINES && <p class="soft">Only the last {count(MOST_LINES)} lines are shown; download it for all.</p>}
      {wanted && <p class="soft" role="status">{count(shown.length)} of {count(lines.length)} lines match.</p>}
      <div class={wraps ? "lines wraps" : "lines"} ref={box} tabIndex={0} role="log" aria-label={stream} onScroll={scrolled}>
        {shown.map((line, index) => <div key={index}>{coloured(line)}</div>)}
        {!shown.length && !problem && <div class="soft">{wanted ? "No line matches." : live ? "Nothing yet." : "It printed nothing."}</div>}
      </div>
    </div>
  );
}

interface ToolProps {
  lines: string[];
  wanted: string;
  search: (text: string) => void;
  wraps: boolean;
  setWraps: (wraps: boolean) => void;
  save: () => void;
}

function Tools({ lines, wanted, search, wraps, setWraps, save }: ToolProps) {
  return (
    <>
      <input type="search" placeholder="Search in the output" aria-label="Search in the output" value={wanted} onInput={(event) => search(event.currentTarget.value)} />
      <label class="check"><input type="checkbox" checked={wraps} onChange={(event) => setWraps(event.currentTarget.checked)} /> wrap</label>
      <span class="grow" />
      <button type="button" onClick={() => copy(lines.map(plain).join("\n"))}>Copy</button>
      <button type="button" onClick={save}>Download</button>
    </>
  );
}

function useLines(run: string, stream: Stream, live: boolean, first: number): [string[], string | null] {
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
      const answer = await send(`/api/job-runs/${run}/logs/${stream}?follow=${live}&tail=${first}`, { signal: stop.signal });
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const found = (rest + part.value).split("\n");
        rest = found.pop()!.slice(-LONGEST_LINE);
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
  }, [run, stream, live, first]);
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
/** What a terminal would show of a line that begins again, as progress bars do. */
const settled = (line: string) => line.replace(/\r+$/, "").split("\r").at(-1)!;
const plain = (line: string) => visible(settled(line).replace(ESCAPES, ""));
const COLOURS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** A line with the colours that its escape sequences ask for. */
function coloured(whole: string) {
  const line = settled(whole.length > LONGEST_LINE ? `${whole.slice(0, LONGEST_LINE)} …` : whole);
  if (!line.includes("\x1b")) return visible(line) || "\u200b";
  const parts = [];
  let end = 0;
  let kind: string[] = [];
  for (const match of line.matchAll(ESCAPES)) {
    if (match.index > end) parts.push(<span key={end} class={kind.join(" ")}>{visible(line.slice(end, match.index))}</span>);
    end = match.index + match[0].length;
    if (match[1] !== undefined) kind = codes(match[1]).reduce(applied, kind);
  }
  parts.push(<span key={end} class={kind.join(" ")}>{visible(line.slice(end))}</span>);
  return parts;
}

/** The codes that name one of eight colours, or bold; a colour of 256 or more is left out with its numbers. */
function codes(text: string): number[] {
  const all = text.split(";").map(Number);
  const found: number[] = [];
  for (let at = 0; at < all.length; at++) {
    const code = all[at]!;
    if (code === 38 || code === 48) at += all[at + 1] === 5 ? 2 : 4;
    else found.push(code);
  }
  return found;
}

function applied(kind: string[], code: number): string[] {
  if (code === 0) return [];
  if (code === 1) return [...kind, "bold"];
  const colour = code >= 30 && code <= 37 ? COLOURS[code - 30] : code >= 90 && code <= 97 ? COLOURS[code - 90] : null;
  if (colour) return [...kind.filter((one) => !one.startsWith("ansi-")), `ansi-${colour}`];
  return code === 39 ? kind.filter((one) => !one.startsWith("ansi-")) : kind;
}
