// SPDX-License-Identifier: Apache-2.0
// Types of pawl.mjs.
export const VERSION: string;
export const FINAL: readonly string[];

export type State = 'deferred' | 'blocked' | 'ready' | 'held' | 'running' | 'paused' | 'halted'
  | 'retrying' | 'done' | 'failed' | 'rejected' | 'cancelled';

export interface JobFields {
  queue?: string;
  priority?: number;
  delay?: string | number;
  run_at?: string;
  max_retries?: number;
  tags?: string[];
  idempotencyKey?: string;
  [field: string]: unknown;
}

export interface NewJob extends JobFields {
  type: string;
  payload?: unknown;
}

export interface JobInfo {
  id: string;
  type: string;
  state: State;
  attempt: number;
  error: string | null;
  payload: string | Uint8Array | null;
  result?: string | Uint8Array | null;
  [field: string]: unknown;
}

export interface ClientOptions {
  tenant?: string;
  timeout?: number;
  retryFor?: number;
  keyless?: boolean;
  tls?: object;
}

export class PawlError extends Error {
  constructor(code: string, detail: string, status?: number, more?: object);
  code: string;
  detail: string;
  status: number;
  hint?: string;
  ids: (string | null)[];
  errors: [number, { code: string; detail: string }][];
  sent: boolean;
}

export class Retry extends Error {}
export class Fail extends Error {}
export class Snooze extends Retry {
  constructor(seconds: number, why?: string);
}

export function parse(text: string): unknown;
export function stringify(value: unknown): string | undefined;

export class Client {
  constructor(url?: string, token?: string, options?: ClientOptions);
  readonly jobs: JobInfo[] | undefined;
  add(type: string, payload?: unknown, fields?: JobFields): Promise<string>;
  addMany(jobs: NewJob[], options?: { idempotencyKey?: string }): Promise<string[]>;
  add_many: Client["addMany"];
  get(id: string): Promise<JobInfo>;
  result(id: string): Promise<string | Uint8Array | null>;
  wait(id: string, timeout?: number): Promise<JobInfo>;
  cancel(id: string, reason?: string): Promise<JobInfo>;
  close(): void;
}

export class Job {
  readonly id: string;
  readonly type: string;
  readonly attempt: number;
  readonly payload: string | Uint8Array | null;
  readonly fields: JobInfo;
  readonly signal: AbortSignal;
  readonly cancelled: boolean;
  json(): any;
  progress(percent: number, message?: string): void;
  add(type: string, payload?: unknown, fields?: JobFields): void;
}

export interface WorkerOptions {
  queues?: string[];
  lease?: number;
  poll?: number;
  name?: string;
  log?: (message: string) => void;
}

export class Worker {
  constructor(client: Client, handlers: { [type: string]: (job: Job) => unknown },
    concurrency?: number, options?: WorkerOptions);
  run(options?: { signals?: boolean }): Promise<void>;
  stop(): void;
}
