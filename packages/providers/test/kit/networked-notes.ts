// The smallest networked memory: notes on a loopback server, and a service for the base provider in front of it.
import type { IncomingHttpHeaders } from "node:http";
import { onTestFinished } from "vitest";
import type { InitializeOptions } from "../../../core/src/providers/contract.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { fieldsOf, recordsOf, textIn } from "../../src/kit/networked/answers.ts";
import { type NetworkedOptions, NetworkedProvider } from "../../src/kit/networked/provider.ts";
import {
  type CommonSettings,
  type Connection,
  type ConnectionContext,
  type Service,
  type ServiceTool,
  ToolRefusal,
} from "../../src/kit/networked/service.ts";
import { type FakeReply, FakeServer, rank, type SeenRequest } from "../fakes/servers/fake-server.ts";

export const KEY = "notes-key-0123456789abcdef";

/** Stores notes by id, so that a repeated write is stored once. */
export class NotesServer extends FakeServer {
  readonly notes = new Map<string, string>();

  protected handle({ method, path, query, body }: SeenRequest): FakeReply {
    const id = decodeURIComponent(path.split("/")[2] ?? "");
    if (method === "PUT") {
      const text = textIn(fieldsOf(body).text);
      if (text.includes("unwanted")) return { status: 422, body: { detail: "unwanted text" } };
      this.notes.set(id, text);
      return { status: 200, body: {} };
    }
    if (method === "DELETE") {
      for (const key of id === "" ? [...this.notes.keys()] : [id]) this.notes.delete(key);
      return { status: 200, body: {} };
    }
    const found = rank(String(query.q ?? ""), [...this.notes.values()], (text) => text);
    return { status: 200, body: { notes: found.map(({ item }) => ({ text: item })) } };
  }

  protected isAuthorised(headers: IncomingHttpHeaders, token: string): boolean {
    return headers.authorization === `Bearer ${token}`;
  }

  protected refusal(): FakeReply {
    return { status: 401, body: { detail: "wrong key" } };
  }

  texts(): readonly string[] {
    return [...this.notes.values()];
  }

  asked(method: string): readonly SeenRequest[] {
    return this.requests.filter((request) => request.method === method);
  }
}

type Settings = CommonSettings & { readonly url: string };

type NotesOptions = {
  readonly settings?: Partial<Settings>;
  /** Replaces members of the connection. */
  readonly change?: (connection: Connection, context: ConnectionContext) => Partial<Connection>;
};

function connect({ url }: Settings, context: ConnectionContext): Connection {
  const http = context.http({
    baseUrl: url,
    headers: () => ({ authorization: `Bearer ${KEY}` }),
    timeoutMs: 2_000,
  });
  const put = async (id: string, text: string, signal: AbortSignal): Promise<void> => {
    await http.send({ method: "PUT", path: `/notes/${id}`, json: { text }, isRepeatable: false, signal });
  };
  const search = async (query: string, signal: AbortSignal): Promise<readonly string[]> => {
    const answer = await http.send({
      method: "GET",
      path: "/notes",
      query: { q: query },
      isRepeatable: false,
      signal,
    });
    return recordsOf(fieldsOf(answer).notes).map(({ text }) => textIn(text));
  };
  const tools: readonly ServiceTool[] = [
    {
      definition: { name: "notes_search", description: "Search.", parameters: { type: "object" } },
      failure: "Search failed",
      run: async (args, signal) => {
        if (textIn(args.query) === "") throw new ToolRefusal("Missing required parameter: query");
        return { found: await search(textIn(args.query), signal) };
      },
    },
    {
      definition: { name: "notes_add", description: "Add.", parameters: { type: "object" } },
      isWriting: true,
      failure: "Adding failed",
      run: async (args, signal) => {
        await put("by-tool", textIn(args.text), signal);
        return { result: "stored" };
      },
    },
  ];
  return {
    promptBlock: () => "# Notes",
    tools,
    recall: async (query, { signal }) => {
      const texts = await search(query, signal);
      return { text: texts.join("\n"), count: texts.length };
    },
    turnItems: ({ user, assistant, sessionId }) => [
      { kind: "turn", sessionId, body: { text: `${user} / ${assistant}` } },
    ],
    deliver: async ({ id, items }, signal) => {
      for (const [index, { body }] of items.entries())
        await put(`${id}-${index}`, textIn(fieldsOf(body).text), signal);
      return undefined;
    },
    check: async (signal) => `${(await search("anything", signal)).length} notes`,
    entries: {
      add: async ({ text, id }, signal) => {
        await put(id, text, signal);
        return id;
      },
      remove: async (id, signal) =>
        void (await http.send({ method: "DELETE", path: `/notes/${id}`, signal })),
      find: async () => [],
      recalls: async (text, signal) => (await search(text, signal)).includes(text),
    },
    forget: async () => ({ erased: 0 }),
    eraseUser: async (isDryRun, signal) => {
      if (!isDryRun) await http.send({ method: "DELETE", path: "/notes", signal });
      return { erased: 100 };
    },
  };
}

export async function startNotes(): Promise<NotesServer> {
  const server = await new NotesServer().start();
  server.requireAuth(KEY);
  onTestFinished(() => server.stop());
  return server;
}

type Started = Partial<InitializeOptions> &
  NotesOptions & {
    readonly home?: string;
    readonly limits?: NetworkedOptions["limits"];
    readonly isInspection?: boolean;
  };

/** An initialised provider in front of the server. */
export function startProvider(server: NotesServer, { home = tempDirectory(), ...more }: Started = {}) {
  const { settings, change, limits, isInspection, ...options } = more;
  const log: { readonly level: string; readonly message: string }[] = [];
  const note = (level: string) => (message: string) => void log.push({ level, message });
  const service: Service<Settings> = {
    name: "notes",
    label: "Notes",
    settings: {
      fields: [],
      allFields: [],
      remarks: () => [],
      save: () => {},
      saved: () => ({}),
      read: () => ({
        mode: "hybrid",
        userScope: "platform",
        isMirroring: true,
        maxChars: 1_000,
        url: server.url,
        ...settings,
      }),
    },
    missing: ({ url }) => (url === "" ? "Notes has no address." : undefined),
    connect: (read, context) => {
      const connection = connect(read, context);
      return { ...connection, ...change?.(connection, context) };
    },
  };
  const provider = new NetworkedProvider(service, {
    home,
    env: {},
    log: { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error"), dropped: 0 },
    limits: {
      recallMs: 400,
      mirrorMs: 400,
      shutdownMs: 400,
      sessionEndMs: 1_000,
      pauses: { firstMs: 20, longestMs: 100, blockedMs: 100 },
      ...limits,
    },
  });
  onTestFinished(() => provider.shutdown());
  const all = { hermes_home: home, platform: "cli", ...options };
  if (isInspection === true) provider.initializeForInspection("a", all);
  else provider.initialize("a", all);
  const call = async (name: string, args: Readonly<Record<string, unknown>> = {}) =>
    JSON.parse(await provider.handleToolCall(name, args, {})) as Readonly<Record<string, unknown>>;
  return { provider, home, log, call };
}
