// Memories as files of OpenViking: where each is, by version, user and agent. The name of a file is derived from its text, so that storing
// a text twice makes one file, and a removed text is found without having kept its address.
import { sha256 } from "@hermes-memory/core/internal/lib";
import { type HttpFailure, ServiceError } from "../kit/http.ts";
import { codeOf, type ServerInfo, type VikingServer } from "./server.ts";
import type { VikingSettings } from "./settings.ts";

export const CATEGORY_FOLDERS: Readonly<Record<string, string>> = {
  preference: "preferences",
  entity: "entities",
  event: "events",
  case: "cases",
  pattern: "patterns",
};

export const DEFAULT_FOLDER = "preferences";

/** Where a memory is put. `origin` keeps mirrored entries and memories of the tool apart, also with the same text. */
export type MemoryPlace = {
  readonly folder: string;
  readonly origin: "mirror" | "tool";
  readonly text: string;
};

export type Layout = Pick<VikingSettings, "agent" | "isPeerMemory">;

/** The folders that may hold memories of the user, the one for new ones first. */
function memoryRoots({ wire, user }: Pick<ServerInfo, "wire" | "user">, layout: Layout): readonly string[] {
  const home = `viking://user/${user}`;
  const own = `${home}/memories`;
  const ofAgent = `${home}/agent/${layout.agent}/memories`;
  const ofPeer = `${home}/peers/${layout.agent}/memories`;
  if (wire !== "0.4") return [ofAgent, own, ofPeer];
  return layout.isPeerMemory ? [ofPeer, own, ofAgent] : [own, ofPeer, ofAgent];
}

/** `<folder>/mem_<12 hex digits>.md` */
function memoryName({ folder, origin, text }: MemoryPlace): string {
  return `${folder}/mem_${sha256(`${origin}\0${text}`).slice(0, 12)}.md`;
}

export class VikingMemories {
  readonly #server: VikingServer;
  readonly #layout: Layout;

  constructor(server: VikingServer, layout: Layout) {
    this.#server = server;
    this.#layout = layout;
  }

  async uriOf(place: MemoryPlace): Promise<string> {
    const [root = ""] = memoryRoots(await this.#server.info(), this.#layout);
    return `${root}/${memoryName(place)}`;
  }

  /** The answer to the write; undefined: the memory was there already. */
  async write(
    place: MemoryPlace,
    { signal, isIndexed = false }: { readonly signal: AbortSignal; readonly isIndexed?: boolean },
  ): Promise<{ readonly uri: string; readonly answer: unknown }> {
    const uri = await this.uriOf(place);
    try {
      const answer = await this.#server.record({
        method: "POST",
        path: "/api/v1/content/write",
        json: { uri, content: place.text, mode: "create", wait: isIndexed },
        isRepeatable: true, // a second one is answered with 409
        signal,
      });
      return { uri, answer };
    } catch (cause) {
      if (!(cause instanceof ServiceError) || !(await this.#isThere(uri, cause.failure, signal))) throw cause;
      return { uri, answer: undefined };
    }
  }

  /** 409 stands for more than a file that exists. */
  async #isThere(uri: string, failure: HttpFailure, signal: AbortSignal): Promise<boolean> {
    if (failure.kind !== "conflict") return false;
    if (codeOf(failure) === "ALREADY_EXISTS") return true;
    const stat = { method: "GET", path: "/api/v1/fs/stat", query: { uri }, signal } as const;
    return await this.#server.call(stat).then(
      () => true,
      () => false, // the conflict is what is reported
    );
  }

  /** Removes a memory wherever an earlier version or setting has put it. */
  async removePlace(place: MemoryPlace, signal: AbortSignal): Promise<void> {
    const roots = memoryRoots(await this.#server.info(), this.#layout);
    for (const root of roots) if (await this.remove(`${root}/${memoryName(place)}`, signal)) return;
  }

  /** Whether there was something to remove. */
  async remove(uri: string, signal: AbortSignal, isRecursive = false): Promise<boolean> {
    try {
      await this.#server.call({
        method: "DELETE",
        path: "/api/v1/fs",
        query: { uri, recursive: isRecursive, wait: false },
        isRepeatable: true,
        signal,
      });
      return true;
    } catch (cause) {
      if (isMissing(cause)) return false;
      throw cause;
    }
  }
}

/** The server says that the place or session does not exist; a 404 of something else in between is not that. */
export function isMissing(cause: unknown): boolean {
  return (
    cause instanceof ServiceError &&
    cause.failure.kind === "not-found" &&
    ["NOT_FOUND", "SESSION_EXPIRED"].includes(codeOf(cause.failure))
  );
}
