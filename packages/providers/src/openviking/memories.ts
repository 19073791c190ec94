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

  /** Where it is put now, and where an earlier version or setting has put it. */
  async urisOf(place: MemoryPlace): Promise<readonly string[]> {
    const roots = memoryRoots(await this.#server.info(), this.#layout);
    return roots.map((root) => `${root}/${memoryName(place)}`);
  }

  /** The answer to the write; undefined: the memory was there already. */
  async write(
    place: MemoryPlace,
    signal: AbortSignal,
  ): Promise<{ readonly uri: string; readonly answer: unknown }> {
    const [uri = ""] = await this.urisOf(place);
    try {
      const answer = await this.#server.record({
        method: "POST",
        path: "/api/v1/content/write",
        json: { uri, content: place.text, mode: "create", wait: false },
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

  /** What is not there counts as removed. */
  async remove(uri: string, signal: AbortSignal, isRecursive = false): Promise<void> {
    const query = { uri, recursive: isRecursive, wait: false };
    await this.#server.find({ method: "DELETE", path: "/api/v1/fs", query, isRepeatable: true, signal });
  }
}
