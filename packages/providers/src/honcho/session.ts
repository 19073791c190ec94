// One conversation at Honcho: its session and two peers, made when they are first needed, and the observation flags that the server has.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errnoCode, pyStrip } from "@hermes-memory/core/internal/lib";
import type { Logger } from "@hermes-memory/core/internal/logger";
import { ServiceError } from "../kit/http.ts";
import type { HonchoSettings, Observation } from "./settings.ts";
import { MEMORY_FILES, type MemoryFile, priorMemory } from "./texts.ts";
import type { HonchoWire, Upload, View } from "./wire.ts";

export type Peers = { readonly user: string; readonly ai: string };

/** Set when the session is ready. */
export type ReadySession = {
  readonly name: string;
  readonly observation: Observation;
  /** Nobody has written to it yet. */
  readonly isEmpty: boolean;
};

export type SessionDeps = {
  readonly wire: HonchoWire;
  readonly peers: Peers;
  readonly settings: HonchoSettings;
  readonly log: Logger;
};

/**
 * Creates what is missing and reads back what the server has. Adding the peers creates session, peers and workspace on servers that do
 * so; only a server that answers 404 is asked for each of them. Failures after that are logged: the session is usable.
 */
export async function startSession(
  name: string,
  { wire, peers, settings, log }: SessionDeps,
  signal: AbortSignal,
): Promise<ReadySession> {
  const { observation } = settings;
  const flags = { [peers.user]: observation.user, [peers.ai]: observation.ai };
  try {
    await wire.addPeers(name, flags, signal);
  } catch (cause) {
    if (!(cause instanceof ServiceError) || cause.failure.kind !== "not-found") throw cause;
    await wire.ensureWorkspace(signal);
    await wire.ensurePeer(peers.user, signal);
    await wire.ensurePeer(peers.ai, signal);
    await wire.ensureSession(name, signal);
    await wire.addPeers(name, flags, signal);
  }
  return await inspectSession(name, { wire, peers, settings, log }, signal);
}

/** Only reads, for agents that must not write. */
export async function inspectSession(
  name: string,
  { wire, peers, settings: { observation, contextTokens }, log }: SessionDeps,
  signal: AbortSignal,
): Promise<ReadySession> {
  const orElse = async <T>(what: string, work: Promise<T>, standard: T): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      if (!(cause instanceof ServiceError) || signal.aborted) throw cause;
      if (cause.failure.kind !== "not-found")
        log.warn(`${what} failed: ${cause.failure.message}`, { provider: "honcho" });
      return standard;
    }
  };
  const [user, ai, context] = await Promise.all([
    orElse(
      "Reading the observation flags",
      wire.peerFlags(name, peers.user, observation.user, signal),
      observation.user,
    ),
    orElse(
      "Reading the observation flags",
      wire.peerFlags(name, peers.ai, observation.ai, signal),
      observation.ai,
    ),
    orElse("Reading the session", wire.sessionContext(name, { tokens: contextTokens }, signal), undefined),
  ]);
  const isEmpty = context !== undefined && context.messages.length === 0 && context.summary === "";
  return { name, observation: { user, ai }, isEmpty };
}

/** Through whose eyes a peer is seen: its own, or those of an agent that observes others. */
export function viewOf(peer: string, { user: _, ai }: Peers, observation: Observation): View {
  if (peer === ai) return { observer: ai, target: ai };
  if (observation.ai.observeOthers) return { observer: ai, target: peer };
  return { observer: peer, target: undefined };
}

// ---- Files from before Honcho ----

export type PriorFile = { readonly file: MemoryFile; readonly upload: Omit<Upload, "peerId"> };

/** Files that exist and are not blank. */
export function priorFiles(directories: {
  readonly user: string;
  readonly ai: string;
}): readonly PriorFile[] {
  return MEMORY_FILES.flatMap((file) => {
    const text = readOrBlank(join(directories[file.peer], file.name));
    if (pyStrip(text) === "") return [];
    const metadata = { source: "local_memory", original_file: file.name, target_peer: file.peer };
    return [{ file, upload: { fileName: file.uploadName, text: priorMemory(file, text), metadata } }];
  });
}

function readOrBlank(path: string): string {
  try {
    return readFileSync(path, "utf8").toWellFormed();
  } catch (cause) {
    if (errnoCode(cause) === undefined) throw cause;
    return ""; // missing or unreadable: the upload is a convenience
  }
}
