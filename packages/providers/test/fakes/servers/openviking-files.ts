// The calls of the fake OpenViking that concern files: listing, reading, writing and search, as one caller sees them.
import type { SeenRequest } from "./fake-server.ts";
import { BODIES, bodyOf, numberOf, PARAMETERS, queryOf, refuse } from "./openviking-bodies.ts";
import {
  type Caller,
  isAlwaysThere,
  isVisible,
  resolveUri,
  VikingError,
  type VikingProfile,
} from "./openviking-caller.ts";
import {
  type ArchiveMember,
  type ContextType,
  contextTypeOf,
  isWithin,
  ROOT,
  type VikingFile,
  type VikingTree,
} from "./openviking-tree.ts";

type WriteBody = {
  readonly uri: string;
  readonly content: string;
  readonly mode?: "create" | "replace" | "append";
  readonly wait?: boolean;
};

type FindBody = {
  readonly query: string;
  readonly target_uri?: string | readonly string[] | null;
  readonly limit?: number;
  readonly score_threshold?: number | null;
  readonly context_type?: string | readonly string[] | null;
  readonly level?: number | readonly number[] | null;
  readonly tags?: string | readonly string[] | null;
  readonly since?: string | null;
  readonly until?: string | null;
};

const WRITABLE_EXTENSIONS = /\.(md|txt|json|yaml|yml|toml|py|js|ts)$/;

/** Runs a job of the background now or later; a caller that waits gets it done. */
export type Later = (job: () => void, isAwaited?: boolean) => void;

export class VikingFiles {
  readonly #tree: VikingTree;
  readonly #caller: Caller;
  readonly #profile: VikingProfile;
  readonly #later: Later;

  constructor(tree: VikingTree, caller: Caller, profile: VikingProfile, later: Later) {
    this.#tree = tree;
    this.#caller = caller;
    this.#profile = profile;
    this.#later = later;
  }

  /** The result of a call below fs, content or search; undefined: there is no such call. */
  call(name: string, request: SeenRequest): unknown {
    const body = <T>(check: (typeof BODIES)["find"]) => bodyOf<T>(request, this.#profile, check);
    switch (name) {
      case "GET fs/ls":
        return this.#list(request);
      case "GET fs/tree":
        return this.#listTree(request);
      case "GET fs/stat":
        return this.#tree.entry(this.#existing(request));
      case "POST fs/mkdir":
        return this.#makeFolder(body(BODIES.mkdir));
      case "DELETE fs":
        return this.#remove(request);
      case "GET content/abstract":
        return this.#tree.abstract(this.#folder(request));
      case "GET content/overview":
        return this.#tree.overview(this.#folder(request));
      case "GET content/read":
        return this.#read(request);
      case "POST content/write":
        return this.#write(body(BODIES.write));
      case "POST search/find":
        return this.#find(body(BODIES.find));
      case "POST search/search": {
        const asked = body<FindBody>(BODIES.search);
        const plan = { queries: [{ query: asked.query, context_type: null, intent: "search" }] };
        return { ...this.#find(asked), query_plan: plan };
      }
      case "POST search/grep":
        return this.#grep(body(BODIES.grep));
      case "POST search/glob":
        return this.#glob(body(BODIES.glob));
      default:
        return undefined;
    }
  }

  /** Puts the files of a resource below a folder, in place of what was there, and says which folder that is. */
  putResource(given: string, members: readonly ArchiveMember[], isAwaited: boolean): string {
    const root = this.#uri(given);
    if (!isWithin(root, "viking://resources") || root === "viking://resources")
      throw new VikingError("INVALID_ARGUMENT", `Resources go below viking://resources, not to ${root}`);
    this.#tree.remove(root);
    for (const { name, content } of members) {
      this.#tree.put(`${root}/${name}`, content, false);
      this.#index(`${root}/${name}`, isAwaited);
    }
    return root;
  }

  #isVisible(uri: string): boolean {
    return isVisible(uri, this.#caller, this.#profile);
  }

  #typeOf(uri: string): ContextType {
    return contextTypeOf(uri, this.#profile === "v03");
  }

  // ---- Files

  #uri(given: string | undefined): string {
    if (given === undefined || given === "")
      return refuse([{ loc: ["query", "uri"], msg: "Field required", type: "missing" }]);
    return resolveUri(given, this.#caller, this.#profile);
  }

  #existing(request: SeenRequest, names = PARAMETERS.uri): string {
    const uri = this.#uri(queryOf(request, this.#profile, names).uri);
    const isThere = this.#tree.kindOf(uri) !== undefined || isAlwaysThere(uri, this.#caller);
    if (!isThere || !this.#isVisible(uri)) throw new VikingError("NOT_FOUND", `Not found: ${uri}`);
    return uri;
  }

  #folder(request: SeenRequest, names = PARAMETERS.uri): string {
    const uri = this.#existing(request, names);
    if (this.#tree.kindOf(uri) === "file") wrongKind(uri, "directory", "file");
    return uri;
  }

  #list(request: SeenRequest): unknown {
    const uri = this.#folder(request, PARAMETERS.ls);
    const query = queryOf(request, this.#profile, PARAMETERS.ls);
    const entries = this.#entries(uri, query.recursive === "true" ? 1000 : 1, query);
    const isDescending = query.sort_order === "desc";
    if (query.sort_by === "mtime") entries.sort((a, b) => a.modTime.localeCompare(b.modTime));
    if (isDescending) entries.reverse();
    const from = numberOf(query.offset, 0);
    const page = entries.slice(from, from + numberOf(query.limit, entries.length));
    return query.simple === "true" ? page.map((entry) => entry.uri) : page;
  }

  #listTree(request: SeenRequest): unknown {
    const uri = this.#folder(request, PARAMETERS.tree);
    const query = queryOf(request, this.#profile, PARAMETERS.tree);
    return this.#entries(uri, numberOf(query.level_limit, 3), query);
  }

  #entries(uri: string, levels: number, query: Readonly<Record<string, string | undefined>>) {
    if (!["agent", "original"].includes(query.output ?? "agent"))
      refuse([
        { loc: ["query", "output"], msg: "Input should be 'agent' or 'original'", type: "literal_error" },
      ]);
    return this.#tree
      .below(uri, levels)
      .filter((entry) => this.#isVisible(entry.uri))
      .filter((entry) => query.show_all_hidden === "true" || !entry.name.startsWith("."))
      .slice(0, numberOf(query.node_limit, 1000))
      .map((entry) => ({ ...entry, abstract: entry.abstract.slice(0, numberOf(query.abs_limit, 256)) }));
  }

  #makeFolder({ uri: given, description }: { uri: string; description?: string | null }): unknown {
    const uri = this.#writable(given);
    if (this.#tree.kindOf(uri) !== undefined) throw new VikingError("ALREADY_EXISTS", `Exists: ${uri}`);
    this.#tree.makeFolder(uri, description ?? "");
    return { uri };
  }

  #remove(request: SeenRequest): unknown {
    const uri = this.#writable(this.#existing(request, PARAMETERS.remove));
    const isFolder = this.#tree.kindOf(uri) !== "file";
    if (isFolder && request.query.recursive !== "true")
      throw new VikingError("FAILED_PRECONDITION", `${uri} is a directory: it needs recursive=true`);
    this.#tree.remove(uri);
    return { uri };
  }

  #read(request: SeenRequest): string {
    const uri = this.#existing(request, PARAMETERS.read);
    const file = this.#tree.files.get(uri) ?? wrongKind(uri, "file", "directory");
    const query = queryOf(request, this.#profile, PARAMETERS.read);
    const [from, limit] = [numberOf(query.offset, 0), numberOf(query.limit, -1)];
    if (from === 0 && limit === -1) return file.content;
    return file.content
      .split("\n")
      .slice(from, limit === -1 ? undefined : from + limit)
      .join("\n");
  }

  /** The resolved URI of a place that the caller may change. */
  #writable(given: string): string {
    const uri = this.#uri(given);
    const isDeep = uri.slice(ROOT.length).includes("/");
    if (!isDeep || isWithin(uri, "viking://session") || !this.#isVisible(uri))
      throw new VikingError("PERMISSION_DENIED", `${uri} cannot be changed`);
    return uri;
  }

  #write({ uri: given, content, mode = "replace", wait = false }: WriteBody): unknown {
    const uri = this.#writable(given);
    const tree = this.#tree;
    const kind = tree.kindOf(uri);
    if (kind === "folder") wrongKind(uri, "file", "directory");
    if (mode === "create") {
      if (kind === "file") throw new VikingError("ALREADY_EXISTS", `File already exists: ${uri}`);
      if (!WRITABLE_EXTENSIONS.test(uri))
        throw new VikingError("INVALID_ARGUMENT", `A file with this extension cannot be created: ${uri}`);
    } else if (kind === undefined) throw new VikingError("NOT_FOUND", `File not found: ${uri}`);
    const before = mode === "append" ? (tree.files.get(uri)?.content ?? "") : "";
    tree.put(uri, before + content, false);
    this.#index(uri, wait);
    const status = wait ? "complete" : "queued";
    return {
      uri,
      root_uri: uri.split("/").slice(0, -1).join("/"),
      context_type: this.#typeOf(uri),
      mode,
      written_bytes: Buffer.byteLength(content),
      content_updated: true,
      semantic_status: status,
      vector_status: status,
      queue_status: null,
    };
  }

  #index(uri: string, isAwaited: boolean): void {
    const tree = this.#tree;
    this.#later(() => {
      const file = tree.files.get(uri);
      if (file !== undefined) file.isIndexed = true;
    }, isAwaited);
  }

  // ---- Search

  #find(body: FindBody) {
    const targets = listed(body.target_uri)
      .filter((target) => target !== "")
      .map((target) => this.#uri(target));
    const types: readonly string[] = listed(body.context_type);
    const levels = listed(body.level);
    const [since, until] = [momentOf(body.since, "since"), momentOf(body.until, "until")];
    const isWanted = (file: VikingFile) =>
      this.#isVisible(file.uri) &&
      (targets.length === 0 || targets.some((target) => isWithin(file.uri, target))) &&
      (types.length === 0 || types.includes(this.#typeOf(file.uri))) &&
      (levels.length === 0 || levels.includes(2)) &&
      listed(body.tags).length === 0 && // nothing here has tags
      Date.parse(file.modTime) >= (since ?? 0) &&
      Date.parse(file.modTime) <= (until ?? Number.POSITIVE_INFINITY);
    const found = this.#tree
      .find(body.query, isWanted)
      .filter(({ score }) => score >= (body.score_threshold ?? 0))
      .slice(0, body.limit ?? 10)
      .map(({ item: file, score }) => ({
        context_type: this.#typeOf(file.uri),
        uri: file.uri,
        level: 2,
        score,
        abstract: this.#tree.abstract(file.uri),
        ...(this.#profile === "v04"
          ? { tags: [] }
          : { overview: null, category: "", match_reason: "", relations: [] }),
      }));
    const only = (type: string) => found.filter((context) => context.context_type === type);
    return {
      memories: only("memory"),
      resources: only("resource"),
      skills: only("skill"),
      total: found.length,
    };
  }

  #grep(body: { uri: string; pattern: string; case_insensitive?: boolean; node_limit?: number | null }) {
    const pattern = new RegExp(body.pattern, body.case_insensitive === true ? "i" : "");
    const matches = this.#visibleFiles(body.uri).flatMap(({ uri, content }) =>
      content
        .split("\n")
        .flatMap((line, index) => (pattern.test(line) ? [{ uri, line: index + 1, content: line }] : [])),
    );
    const kept = matches.slice(0, body.node_limit ?? 256);
    return { matches: kept, count: kept.length };
  }

  #glob(body: { pattern: string; uri?: string; node_limit?: number | null }) {
    const parts = body.pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`(^|/)${parts.join("[^/]*")}$`);
    const uris = this.#visibleFiles(body.uri ?? ROOT).map(({ uri }) => uri);
    const kept = uris.filter((uri) => pattern.test(uri)).slice(0, body.node_limit ?? 256);
    return { matches: kept, count: kept.length };
  }

  #visibleFiles(below: string): readonly VikingFile[] {
    const folder = this.#uri(below);
    return [...this.#tree.files.values()].filter(({ uri }) => isWithin(uri, folder) && this.#isVisible(uri));
  }
}

function wrongKind(uri: string, expected: string, actual: string): never {
  throw new VikingError("INVALID_ARGUMENT", `${uri} is a ${actual}, not a ${expected}`, { expected, actual });
}

function listed<T>(value: T | readonly T[] | null | undefined): readonly T[] {
  return value === null || value === undefined ? [] : ([value].flat() as readonly T[]);
}

function momentOf(value: string | null | undefined, name: string): number | undefined {
  if (value === null || value === undefined) return undefined;
  const time = Date.parse(value);
  if (Number.isNaN(time)) refuse([{ loc: ["body", name], msg: `Not a time: ${value}`, type: "value_error" }]);
  return time;
}
