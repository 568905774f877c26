"use strict";
// Jobs as they are, redrawn when an event tells that something changed; one job in detail.

const FILTERS = { All: "", Active: "active", Running: "running", Failed: "failed,timeout,blocked_by_dependency", Ended: "ended" };
const GOOD = ["SUCCEEDED", "SKIPPED"];
const BAD = ["FAILED", "TIMEOUT", "BLOCKED_BY_DEPENDENCY", "BLOCKED_BY_APPROVAL"];
const ENDED = [...GOOD, ...BAD, "CANCELLED"];
const MOST_OUTPUT = 200_000;
const PAUSE_MS = 400, REDRAW_MS = 2000, AGAIN_MS = 3000;

const $ = id => document.getElementById(id);
let token = sessionStorage.getItem("token");
let filter = "All", limit = 50, chosen = null, stream = "stdout", log = null;

function make(name, text = "", kind = "") {
  const one = document.createElement(name);
  one.textContent = text;
  if (kind) one.className = kind;
  return one;
}

// ---- asking the server

class Locked extends Error {}

async function request(path, options = {}) {
  const headers = { authorization: "Bearer " + token, ...options.headers };
  const answer = await fetch(path, { ...options, headers });
  if (answer.status === 401) { forget(); throw new Locked(); }
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer;
}

const ask = async path => (await request(path)).json();
const tell = async (path, body = {}) => { await request(path, { method: "POST", body: JSON.stringify(body) }); await draw(); };

function forget() { token = null; sessionStorage.removeItem("token"); }
function remember(given) { token = given; sessionStorage.setItem("token", given); }

async function useCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", "/");
  const answer = await fetch("/dashboard/session", { method: "POST", body: JSON.stringify({ code }) });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail);
  remember(body.token);
}

// ---- words

function span(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 1) return `${Math.round(ms)} ms`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}
const ago = moment => span(Date.now() - new Date(moment));
const colour = status => GOOD.includes(status) ? "good" : BAD.includes(status) ? "bad" : status === "RUNNING" ? "busy" : ENDED.includes(status) ? "" : "wait";
const status = job => make("span", job.status.toLowerCase().replaceAll("_", " "), colour(job.status));

// Ids of jobs become their numbers, moments those of the reader's clock.
const UUID = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const MOMENT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z/g;
const numbers = new Map();

function learn(jobs) { for (const job of jobs) numbers.set(job.job_id, job.number); }

function words(text) {
  return text
    .replace(UUID, id => numbers.get(id) ?? (lookUp(id), "…"))
    .replace(MOMENT, moment => new Date(moment).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }));
}

function lookUp(id) {
  numbers.set(id, "…");
  ask("/api/jobs/" + id).then(job => learn([job]), () => numbers.set(id, id)).then(draw);
}

function work(job) {
  if (job.job_type === "command" && Array.isArray(job.params.argv)) return job.params.argv.join(" ");
  const params = Object.entries(job.params).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [job.job_type, ...params].join(" ");
}

// ---- the list

function row(job) {
  const line = make("tr", "", job.number === chosen ? "chosen" : "");
  const cells = Array.from({ length: 5 }, () => line.appendChild(make("td")));
  const open = cells[0].appendChild(make("button", String(job.number)));
  open.setAttribute("aria-label", `Show job ${job.number}`);
  open.dataset.job = job.number;
  cells[1].append(status(job));
  if (job.status === "RUNNING" && job.progress?.fraction != null) {
    const bar = make("progress");
    bar.value = job.progress.fraction;
    cells[1].append(" ", bar);
  }
  cells[2].append(make("div", work(job), "work"));
  cells[2].firstChild.title = work(job);
  const more = job.wait_reason?.detail || (job.status === "RUNNING" && job.progress?.message) || "";
  if (more) cells[2].append(make("div", words(more), "soft"));
  cells[3].textContent = job.queue;
  cells[4].textContent = ago(job.created_at);
  cells[4].title = job.created_at;
  line.onclick = () => choose(job.number);
  return line;
}

function total(name, count, kind) {
  const pair = make("div");
  pair.append(make("dt", name), make("dd", String(count), count ? kind : ""));
  return pair;
}

async function drawList() {
  const query = new URLSearchParams({ limit, ...(FILTERS[filter] && { status: FILTERS[filter] }) });
  const [jobs, whole] = await Promise.all([ask("/api/jobs?" + query), ask("/api/scheduler/status")]);
  learn(jobs.items);
  const focused = document.activeElement?.dataset.job;
  $("jobs").replaceChildren(...jobs.items.map(row));
  if (focused) document.querySelector(`[data-job="${focused}"]`)?.focus({ preventScroll: true });
  $("none").hidden = jobs.items.length > 0;
  $("more").hidden = !jobs.next_cursor || limit >= 200;
  const { succeeded, failed, timeout, blocked } = whole.totals;
  $("totals").replaceChildren(
    total("waiting", whole.queue_length, "wait"), total("running", whole.current_jobs.length, "busy"),
    total("succeeded", succeeded, "good"), total("failed", failed + timeout + blocked, "bad"));
}

function drawFilters() {
  $("filters").replaceChildren(...Object.keys(FILTERS).map(name => {
    const one = make("button", name);
    one.setAttribute("aria-pressed", name === filter);
    one.onclick = () => { filter = name; drawFilters(); draw(); };
    return one;
  }));
}

// ---- one job

function choose(number) {
  chosen = number;
  $("main").classList.toggle("open", number !== null);
  $("detail").hidden = number === null;
  log?.abort();
  log = null;
  if (number !== null) { $("output").textContent = ""; scrollTo(0, 0); }
  draw();
}

function link(blocker) {
  const item = make("li");
  if (blocker.kind === "job" || blocker.kind === "cause") {
    const where = blocker.kind === "cause" ? "root cause: job " : "job ";
    const one = item.appendChild(make("a", where + words(blocker.id)));
    one.href = "#";
    one.onclick = event => { event.preventDefault(); if (numbers.get(blocker.id) > 0) choose(numbers.get(blocker.id)); };
  } else item.append(blocker.kind === "circle" ? "circle" : `${blocker.kind} ${blocker.id}`);
  const said = [blocker.status?.toLowerCase().replaceAll("_", " "), blocker.detail && words(blocker.detail)];
  if (said.some(Boolean)) item.append(": " + said.filter(Boolean).join(", "));
  return item;
}

function gate(one) {
  const mark = { open: "✓", closed: "✗", not_reached: "·" }[one.state];
  const kind = { open: "good", closed: "bad", not_reached: "soft" }[one.state];
  const item = make("li");
  item.append(make("span", mark + " ", kind), make("span", one.gate.replaceAll("_", " "), one.state === "closed" ? "" : "soft"));
  if (one.detail) item.append(" – " + words(one.detail));
  if (one.blockers.length) item.appendChild(make("ul")).append(...one.blockers.slice(0, 10).map(link));
  return item;
}

function action(name, run) {
  const one = make("button", name);
  one.onclick = () => run().catch(report);
  return one;
}

function actions(job) {
  const path = `/api/jobs/${job.number}`;
  const found = [];
  if (job.status === "WAITING_ON_APPROVAL") {
    found.push(action("Approve", () => tell(path + "/approve")), action("Reject", () => tell(path + "/reject")));
  }
  if (!ENDED.includes(job.status)) found.push(action("Cancel", () => tell(path + "/cancel")));
  else if (!GOOD.includes(job.status)) found.push(action("Retry this job and everything downstream", () => tell(path + "/retry")));
  return found;
}

function facts(job, run) {
  const took = job.started_at && span(new Date(job.finished_at || Date.now()) - new Date(job.started_at));
  const progress = job.progress && [job.progress.fraction != null && Math.round(job.progress.fraction * 100) + " %", job.progress.message].filter(Boolean).join(" ");
  const pairs = {
    work: work(job), reason: job.wait_reason && words(job.wait_reason.detail), queue: job.queue, priority: job.priority || null, progress,
    submitted: ago(job.created_at) + " ago", "not before": job.started_at || !job.scheduled_for ? null : words(job.scheduled_for), [job.finished_at ? "took" : "running for"]: took,
    "exit code": job.exit_code, worker: job.worker_id, tags: job.tags.join(", "),
    result: run?.result == null ? null : JSON.stringify(run.result).slice(0, 2000), error: run?.error?.trim(),
  };
  return Object.entries(pairs).filter(([, value]) => value != null && value !== "").flatMap(([name, value]) => [make("dt", name), make("dd", String(value))]);
}

async function drawJob() {
  if (chosen === null) return;
  const number = chosen;
  const path = `/api/jobs/${number}`;
  const [job, why, runs] = await Promise.all([ask(path), ask(path + "/why"), ask(path + "/runs")]);
  if (number !== chosen) return;
  $("title").replaceChildren(`Job ${number} `, status(job));
  $("actions").replaceChildren(...actions(job));
  const last = runs.items.find(one => one.run_id === job.run_id); // the others are of before a rewind
  $("facts").replaceChildren(...facts(job, last));
  $("gates").replaceChildren(...why.gates.map(gate));
  const run = last?.run_id;
  $("said").hidden = !run;
  if (run && log?.run !== run) follow(run).catch(report);
}

async function follow(run) {
  log?.abort();
  const mine = log = new AbortController();
  mine.run = run;
  $("output").textContent = "";
  drawStreams(run);
  try {
    const answer = await request(`/api/job-runs/${run}/logs/${stream}?follow=true&tail=500`, { signal: mine.signal });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) append(part.value);
  } catch (error) { if (error.name !== "AbortError") throw error; }
}

function append(text) {
  const box = $("output");
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 30;
  box.textContent = (box.textContent + text).slice(-MOST_OUTPUT);
  if (atEnd) box.scrollTop = box.scrollHeight;
}

function drawStreams(run) {
  $("streams").replaceChildren(...["stdout", "stderr"].map(name => {
    const one = make("button", name);
    one.setAttribute("aria-pressed", name === stream);
    one.onclick = () => { stream = name; follow(run).catch(report); };
    return one;
  }));
}

// ---- staying up to date

function report(error) {
  const locked = error instanceof Locked || !token;
  $("door").hidden = !locked;
  $("main").hidden = locked;
  const text = locked ? (error instanceof Locked ? "" : error.message) : error.message;
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

let drawing = null;
function draw() {
  // Two drawings at once could show the older state last.
  drawing = (drawing ?? Promise.resolve()).then(async () => {
    if (!token) throw new Locked();
    await Promise.all([drawList(), drawJob()]);
    $("door").hidden = $("problem").hidden = true;
    $("main").hidden = false;
  }).catch(report);
  return drawing;
}

const pause = ms => new Promise(done => setTimeout(done, ms));

async function watch() {
  for (;;) {
    try {
      if (token) {
        const answer = await request("/api/events", { headers: { accept: "text/event-stream" } });
        const reader = answer.body.getReader();
        $("live").textContent = "live";
        $("live").className = "on";
        while (!(await reader.read()).done) { await draw(); await pause(PAUSE_MS); }
      }
    } catch (error) { report(error); }
    $("live").textContent = token ? "server not responding" : "";
    $("live").className = "";
    await pause(AGAIN_MS);
  }
}

$("door").onsubmit = event => { event.preventDefault(); remember($("token").value.trim()); $("token").value = ""; draw(); };
$("close").onclick = () => choose(null);
$("more").onclick = () => { limit += 50; draw(); };
drawFilters();
useCode().then(draw, report).then(watch);
setInterval(() => { if (token && !document.hidden) draw(); }, REDRAW_MS);
