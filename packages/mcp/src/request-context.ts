// Shared by the handlers of all MCP requests: their dependencies, curated memory, and errors.
import { existsSync } from "node:fs";
import { type CommittedWrite, MEMORY_TARGETS, type MemoryTarget } from "@hermes-memory/core/internal/curated";
import { describeCause, HermesError } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { ifUsable, type Person } from "@hermes-memory/core/internal/memory";
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";

export type Log = Pick<Logger, "info" | "warn" | "error">;

export type Dependencies = {
  /** Whose memory is served: over standard input the administrator, over HTTP the caller. The home's config is read for each request. */
  readonly person: Person;
  readonly log: Log;
  /** Named by the command line; undefined for a client that was set up by hand. */
  readonly client?: string;
  /** Runs all work that reads or writes curated memory. */
  readonly inOrder: InOrder;
  /** Sends writes to the active memory provider, after the client has its answer. */
  readonly mirror: ProviderMirror;
};

export type ProviderMirror = {
  /** Returns at once. Failures are only logged: the file is written, and the client has its answer. */
  push(writes: readonly CommittedWrite[]): void;
  /** Waits until the provider has everything pushed so far, at most this long. */
  drained(timeoutMs: number): Promise<void>;
};

/** Runs work in the order of arrival: a client that adds and then reads without waiting still reads what it added. */
type InOrder = <T>(work: () => Promise<T>) => Promise<T>;

export function inOrder(): InOrder {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => undefined); // the caller gets the failure through `next`
    return next;
  };
}

// Curated memory for one request. Config and files are read each time, because a client has no frozen prompt.

/** An unreadable config hides no tool: calling one is how the client learns about it. */
export async function enabledTargets({ person }: Dependencies): Promise<readonly MemoryTarget[]> {
  const config = await ifUsable(person.memory.memoryConfig());
  if (config === undefined) return MEMORY_TARGETS;
  const isOn = { memory: config.memoryEnabled, user: config.userProfileEnabled };
  return MEMORY_TARGETS.filter((target) => isOn[target]);
}

export async function isMemoryOn(deps: Dependencies): Promise<boolean> {
  return (await enabledTargets(deps)).length > 0;
}

/** The blocks a system prompt would get. Does not create the home. */
export async function readBlocks(deps: Dependencies): Promise<ReadonlyMap<MemoryTarget, string>> {
  if (!existsSync(deps.person.memory.home)) return new Map();
  const store = await deps.person.curated({ log: (line) => deps.log.warn(line) });
  const blocks = MEMORY_TARGETS.flatMap((target) => {
    const block = store?.renderSnapshot(target);
    return block === undefined ? [] : [[target, block] as const];
  });
  return new Map(blocks);
}

// Failed requests, as an error response of the protocol.

/** The protocol's code for a missing resource; the SDK has no name for it. */
const RESOURCE_NOT_FOUND = -32002;

/** The SDK copies code and message into the error response. */
export class RequestRefused extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = "RequestRefused";
    this.code = code;
  }
}

export function invalidParams(message: string): RequestRefused {
  return new RequestRefused(ErrorCode.InvalidParams, message);
}

export function resourceNotFound(message: string): RequestRefused {
  return new RequestRefused(RESOURCE_NOT_FOUND, message);
}

/** The message and the hint of an error in one text. */
export function sentenceFor(cause: unknown): string {
  const message = describeCause(cause);
  return cause instanceof HermesError && cause.hint !== undefined ? `${message} ${cause.hint}` : message;
}
