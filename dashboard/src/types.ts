// The answers of the API, as far as the page shows them.

import type { Schema } from "./parts/form";

export type Role = "read" | "submit" | "work" | "admin";

export interface Page<T> {
  items: T[];
  next_cursor?: string | null;
}

export interface Me {
  name: string;
  role: Role;
  now: string;
}

export interface Progress {
  fraction: number | null;
  message: string | null;
}

export interface WaitReason {
  kind: string;
  detail: string;
}

export interface After {
  job: string;
  number: number;
  policy: string;
}

export interface JobLock {
  key: string;
  mode: string;
}

export interface Job {
  job_id: string;
  number: number;
  job_type: string;
  queue: string;
  params: Record<string, unknown>;
  omitted?: string[];
  priority: number;
  queue_position: number | null;
  status: string;
  wait_reason: WaitReason | null;
  scheduled_for: string | null;
  template_id: string | null;
  schedule_id: string | null;
  group_id: string | null;
  parent_id: string | null;
  retry_of: string | null;
  retried_by: string | null;
  chain_id: string;
  attempt: number;
  generation: number;
  retry_state: string;
  after: After[];
  needs: string[];
  produces: string[];
  locks: JobLock[];
  approval: string | null;
  cost_units: number;
  requires: string[];
  limits: Record<string, number>;
  timeout_s: number | null;
  unique_key: string | null;
  tags: string[];
  created_at: string;
  queued_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  worker_id: string | null;
  run_id: string | null;
  exit_code: number | null;
  error: string | null;
  cancel_requested: boolean;
  progress: Progress | null;
}

export interface Run {
  run_id: string;
  job_id: string;
  attempt: number;
  generation: number;
  status: string | null;
  params_snapshot: Record<string, unknown>;
  worker_id: string | null;
  started_at: string;
  finished_at: string | null;
  duration_ms: number | null;
  exit_code: number | null;
  error: string | null;
  result: unknown;
  omitted?: Record<string, number>;
}

export interface Step {
  kind: string;
  name: string;
  index: number;
  attempt: number;
  run_id: string | null;
  started_at: string;
  finished_at: string | null;
  duration_ms: number | null;
  result: unknown;
  timed_out: boolean;
}

export interface Blocker {
  kind: string;
  id: string;
  status?: string | null;
  detail?: string | null;
}

export interface GateRow {
  gate: string;
  state: "open" | "closed" | "not_reached";
  detail?: string | null;
  blockers: Blocker[];
}

export interface Why {
  job_id: string;
  number: number;
  status: string;
  startable: boolean;
  gates: GateRow[];
  ahead: number;
}

export interface EventLine {
  seq: number;
  at: string;
  kind: string;
  job_id: string | null;
  number: number | null;
  data: Record<string, unknown>;
}

export interface CurrentJob {
  job_id: string;
  number: number;
}

export interface SchedulerStatus {
  running: boolean;
  current_jobs: CurrentJob[];
  queue_length: number;
  totals: Record<string, number>;
}

export interface Paused {
  queue: string | null;
  job_type: string | null;
  since: string;
}

export interface QueueCount {
  queue: string;
  status: string;
  reason: string | null;
  count: number;
  oldest: string;
}

export interface QueueStatus {
  length: number;
  as_of: string;
  paused: Paused[];
  waiting: QueueCount[];
}

export interface Worker {
  worker_id: string;
  host: string;
  pid: number;
  built_in: boolean;
  queues: string[] | null;
  job_types: string[] | null;
  capabilities: string[];
  slots: number;
  first_seen: string;
  last_seen: string;
  alive: boolean;
  gone: boolean;
  holds: string[];
  full_since: string | null;
  draining_since: string | null;
}

export interface Schedule {
  schedule_id: string;
  template_id: string;
  name: string | null;
  cron: string | null;
  every: string | number | null;
  at: string | null;
  timezone: string;
  enabled: boolean;
  params: Record<string, unknown>;
  catchup: string;
  overlap: string;
  created_at: string;
  last_triggered_at: string | null;
  next_trigger_at: string | null;
}

export interface Fire {
  at: string;
  weekday: string;
}

export interface JobType {
  job_type: string;
  description: string | null;
  form: Schema | null;
  workers: number;
}

export interface Template {
  template_id: string;
  name: string;
  job_type: string;
  queue: string;
  params: Record<string, unknown>;
  description: string | null;
  status: string;
}

export interface Member {
  job_id: string;
  number: number;
  status: string;
}

export interface Group {
  group_id: string;
  name: string | null;
  mode: string;
  on_failure: string;
  status: string;
  members: Member[];
  created_at: string;
}

export interface Limit {
  name: string;
  size: number | null;
  rate: string | null;
  used: number;
  started: number | null;
}

export interface LockHolder {
  job_id: string;
  number: number;
  mode: string;
  since: string;
}

export interface Lock {
  key: string;
  holders: LockHolder[];
  waiting: number;
}

export interface Webhook {
  webhook_id: string;
  url: string;
  events: string[];
  created_at: string;
  secret?: string | null;
}

export interface Delivery {
  delivery_id: string;
  url: string;
  event: string;
  job_id: string;
  status: string;
  attempts: number;
  next_attempt_at: string | null;
  last_error: string | null;
  response_status: number | null;
  created_at: string;
}

export interface Token {
  token_id: string;
  name: string;
  role: Role;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  token?: string | null;
}

export interface AuditEntry {
  entry_id: string;
  at: string;
  actor: string;
  role: string | null;
  action: string;
  target: string | null;
}

export interface Node {
  id: string;
  number: number;
  status: string;
  command: string;
  wait?: string | null;
}

export interface Edge {
  from: string;
  to: string;
  after?: { policy: string };
  artifact?: string;
  status?: string;
}

export interface Graph {
  nodes: Node[];
  edges: Edge[];
}

export interface RewindReport {
  requested_job: string;
  retry_root: string;
  reset: string[];
}
