// A fake RetainDB as a test sees it: what it holds, what can be set, and the state that its calls share.
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer } from "./fake-server.ts";
import type { MEMORY_TYPES } from "./retaindb-wire.ts";

export type RetainDbEdition = "cloud" | "open" | "local";
type MemoryType = (typeof MEMORY_TYPES)[number];

export type RetainDbMemory = {
  readonly id: string;
  readonly project: string;
  readonly user: string | undefined;
  readonly session: string | undefined;
  readonly content: string;
  readonly type: MemoryType;
  readonly importance: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
};

type NewMemory = {
  readonly content: string;
  readonly memory_type?: MemoryType | undefined;
  readonly user_id?: string | undefined;
  readonly session_id?: string | undefined;
  readonly importance?: number | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** For tests that need a memory with a known id. */
  readonly id?: string;
};

export type RetainDbMessage = { readonly role: string; readonly content: string; readonly timestamp: string };

export type RetainDbFile = {
  readonly id: string;
  readonly path: string;
  readonly name: string;
  readonly mimeType: string;
  readonly scope: "USER" | "PROJECT" | "ORG";
  readonly project: string | undefined;
  readonly content: string;
  memoryId: string | null;
};

export type RetainDbQuestion = {
  readonly project: string;
  readonly user: string;
  readonly query: string;
  readonly level: string;
};

export type RetainDbAgentModel = {
  readonly persona: string | null;
  readonly persistent_instructions: readonly string[];
  readonly working_style: string | null;
  readonly memory_count: number;
};

export abstract class RetainDbControls extends FakeServer {
  edition: RetainDbEdition;
  /** Which paths exist for adding, deleting and listing: `/v1/memory`, `/v1/memories` (older servers), or both. */
  memoryPaths: "both" | "memory" | "memories" = "both";
  /** The answer to every question about a user. By default the memories that share a word with it. */
  answer: string | ((question: RetainDbQuestion) => string) | undefined;
  /** True: sync writes are refused with 403 SYNC_WRITE_RESTRICTED. */
  restrictsSyncWrites = false;
  /** Where the content of a file is: the server redirects there (302) instead of sending it. */
  storageUrl: string | undefined;
  protected allMemories: RetainDbMemory[] = [];
  protected allFiles: RetainDbFile[] = [];
  protected readonly allMessages = new Map<string, RetainDbMessage[]>();
  protected readonly seeds: {
    project: string;
    agent: string;
    content: string;
    source: string | undefined;
  }[] = [];
  protected readonly models = new Map<string, RetainDbAgentModel>();
  #lastNumber = 0;

  constructor({ edition = "cloud" }: { readonly edition?: RetainDbEdition } = {}) {
    super();
    this.edition = edition;
  }

  // ---- For tests

  /** Everything without times and ids. */
  stored(): unknown {
    return {
      memories: this.allMemories.map(({ id: _, createdAt: __, ...memory }) => memory),
      messages: Object.fromEntries(
        [...this.allMessages].map(([key, messages]) => [
          key,
          messages.map(({ role, content }) => ({ role, content })),
        ]),
      ),
      seeds: [...this.seeds],
      files: this.allFiles.map(({ id: _, memoryId, ...file }) => ({
        ...file,
        isIngested: memoryId !== null,
      })),
    };
  }

  /** The memories of a user in all projects, or in one; pending ones as well. */
  memories(user: string, project?: string): readonly RetainDbMemory[] {
    return this.allMemories.filter(
      (each) => each.user === user && (project === undefined || each.project === project),
    );
  }

  /** What was ingested into a session, in the order of arrival. */
  messagesOf(project: string, session: string): readonly RetainDbMessage[] {
    return this.allMessages.get(`${project} ${session}`) ?? [];
  }

  seedsOf(
    project: string,
    agent: string,
  ): readonly { readonly content: string; readonly source: string | undefined }[] {
    return this.seeds.filter((each) => each.project === project && each.agent === agent);
  }

  files(): readonly RetainDbFile[] {
    return this.allFiles;
  }

  addMemory(project: string, memory: NewMemory): RetainDbMemory {
    const stored: RetainDbMemory = {
      id: memory.id ?? this.newId("mem"),
      project,
      user: memory.user_id,
      session: memory.session_id,
      content: memory.content,
      type: memory.memory_type ?? "factual",
      importance: memory.importance ?? 0.5,
      metadata: memory.metadata ?? {},
      createdAt: new Date().toISOString(),
    };
    this.allMemories.push(stored);
    return stored;
  }

  addFile(file: Omit<RetainDbFile, "id" | "memoryId"> & { readonly id?: string }): RetainDbFile {
    const stored: RetainDbFile = { ...file, id: file.id ?? this.newId("file"), memoryId: null };
    this.allFiles.push(stored);
    return stored;
  }

  setAgentModel(project: string, agent: string, model: RetainDbAgentModel): void {
    this.models.set(`${project} ${agent}`, model);
  }

  // ---- Server

  protected override isAuthorised(headers: IncomingHttpHeaders, token: string, path: string): boolean {
    if (path === "/health") return true;
    const second = headers["x-api-key"];
    return headers.authorization === `Bearer ${token}` && (second === undefined || second === token);
  }

  protected override refusal(): FakeReply {
    return { status: 401, body: { error: "Invalid API key" } };
  }

  /** Other users and projects are never visible. */
  protected visible(project: string, user: string | undefined): readonly RetainDbMemory[] {
    return this.allMemories.filter(
      (each) => each.project === project && (user === undefined || each.user === user),
    );
  }

  protected newId(kind: string): string {
    this.#lastNumber += 1;
    return `${kind}_fake${this.#lastNumber}`;
  }
}
