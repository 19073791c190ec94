// One agent's connection to RetainDB: recall, what turns and curated entries put into the outbox, how the outbox is delivered, erasing.
import { statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codePointLength, pyStrip, readTextFile, sha256 } from "@hermes-memory/core/internal/lib";
import type { ForgetReport, SessionSwitchOptions } from "@hermes-memory/core/internal/providers";
import { readSettings as readFile, writeSettings } from "@hermes-memory/core/internal/providers";
import { ServiceError } from "../kit/http.ts";
import { fieldsOf, recordsOf } from "../kit/networked/answers.ts";
import { eraseListed, reportOf } from "../kit/networked/erasing.ts";
import { safeId } from "../kit/networked/identity.ts";
import { uploadPolicy } from "../kit/networked/local-files.ts";
import type {
  Connection,
  ConnectionContext,
  Entries,
  RecallAsk,
  Recalled,
  ServiceTool,
  Turn,
} from "../kit/networked/service.ts";
import type { Batch, NewItem } from "../kit/outbox/outbox.ts";
import { eraseFiles, type FilePlace, fileTools } from "./file-tools.ts";
import { countRows, moveRows, type TurnBody } from "./python-queue.ts";
import { type RetainDbSettings, SETTINGS_FILE } from "./settings.ts";
import { contentOf, levelFor, overlayOf, promptBlock, selfModelOf, synthesisOf } from "./texts.ts";
import { DEFAULT_IMPORTANCE, memoryTools } from "./tools.ts";
import { BESIDE, MEMORY_UNITS, memoryIdIn, RetainDbWire, TIMEOUT_MS } from "./wire.ts";

/** The user of the Python edition when it is given none: the owner of the home. */
const OWNER = "default";
const AGENT = "hermes";
const USER_RULES = { foreign: /[^\w.:@+-]/u, replacement: "_", maxChars: 128 };
/** The answer of a language model is worth waiting for after a turn, not while the user waits. */
const WAITING_USER_MS = 2_000;
const PYTHON_ROWS_MS = 65_000;

type SeedBody = { readonly content: string };

export class RetainDbConnection implements Connection {
  readonly tools: readonly ServiceTool[];
  readonly #settings: RetainDbSettings;
  readonly #context: ConnectionContext;
  readonly #wire: RetainDbWire;
  readonly #files: FilePlace;
  readonly #isOwner: boolean;
  /** The user's id in rows of the Python edition, which does not know platforms. */
  readonly #pythonUser: string;
  #sessionId: string;
  /** Recalls of each session, for the cadence of questions. */
  readonly #recalls = new Map<string, number>();

  constructor(settings: RetainDbSettings, context: ConnectionContext) {
    const http = context.http({
      baseUrl: settings.baseUrl,
      headers: () => ({ authorization: `Bearer ${settings.apiKey}`, "x-sdk-runtime": "hermes-plugin" }),
      timeoutMs: TIMEOUT_MS.standard,
    });
    this.#settings = settings;
    this.#context = context;
    this.#sessionId = context.sessionId;
    this.#pythonUser = context.options.user_id || OWNER;
    const { project } = settings;
    this.#wire = new RetainDbWire(http, settings.apiKey, {
      project,
      user: userId(context.user),
      agent: AGENT,
    });
    this.#isOwner = context.user === undefined;
    const uploads = uploadPolicy(context, settings.uploadRoots);
    this.#files = { wire: this.#wire, isOwner: this.#isOwner, uploads };
    this.tools = [
      ...memoryTools(this.#wire, {
        sessionId: () => this.#sessionId,
        owns: async (id, signal) =>
          this.#isOwner || (await this.#wire.memories(signal)).found.some((memory) => memory.id === id),
      }),
      ...fileTools(this.#files),
    ];
    if (context.isWriting) this.#begin();
  }

  promptBlock(): string {
    return promptBlock(this.#settings);
  }

  #begin(): void {
    const soul = this.#soulItem();
    if (soul !== undefined) void this.#context.outbox.add(soul);
    // Without a durable outbox the rows are safer where they are.
    if (this.#context.options.outbox !== false)
      this.#context.inBackground("Moving the queue of the Python edition", (signal) =>
        this.#movePythonRows(signal),
      );
  }

  // ---- Recall ----

  async recall(query: string, { sessionId, turn, shownInTurn, signal }: RecallAsk): Promise<Recalled> {
    const number = this.#recalls.get(sessionId) ?? 0;
    this.#recalls.set(sessionId, number + 1);
    const { dialecticCadence: cadence } = this.#settings;
    const isAsking = cadence > 0 && number % cadence === 0;
    const question = isAsking ? this.#wire.ask(query, levelFor(codePointLength(query)), signal) : undefined;
    const [found, profile, model, answer] = await Promise.allSettled([
      this.#wire.context(query, sessionId, signal),
      this.#wire.profile(signal, BESIDE),
      this.#wire.agentModel(signal),
      shownInTurn === turn ? inTime(question, WAITING_USER_MS) : question,
    ]);
    if (found.status === "rejected" && profile.status === "rejected") throw found.reason;
    const overlay = overlayOf(settled(profile), settled(found));
    const parts = [overlay.text, synthesisOf(settled(answer)), selfModelOf(settled(model))];
    const text = parts.filter((part) => part !== "").join("\n\n");
    return { text, count: text === "" ? 0 : Math.max(1, overlay.count) };
  }

  onSessionSwitch(newSessionId: string, { rewound }: SessionSwitchOptions): void {
    this.#sessionId = newSessionId;
    if (rewound !== true) this.#recalls.clear();
  }

  // ---- The outbox ----

  turnItems({ sessionId, user, assistant, at }: Turn): readonly NewItem[] {
    if (user === "") return [];
    const messages = [
      { role: "user", content: user, timestamp: at },
      ...(assistant === "" ? [] : [{ role: "assistant", content: assistant, timestamp: at }]),
    ];
    return [{ kind: "turn", sessionId, body: { user: this.#wire.scope.user, messages } satisfies TurnBody }];
  }

  async deliver({ id, kind, sessionId, items: [{ body }] }: Batch, signal: AbortSignal): Promise<undefined> {
    if (kind === "turn") await this.#wire.ingest(sessionId || OWNER, body as TurnBody, id, signal);
    else if (kind === "seed") await this.#seed(body as SeedBody, id, signal);
    else throw new Error(`RetainDB has no use for an item of the kind '${kind}'.`);
  }

  readonly entries: Entries = {
    about: () => ({ sessionId: this.#sessionId }),
    add: async ({ target, text: content, id, attempt, sessionId }, signal) => {
      const length = `RetainDB takes memories of at most ${MEMORY_UNITS} characters`;
      if (content.length > MEMORY_UNITS)
        throw new ServiceError({
          kind: "refused",
          status: 413,
          message: `${length}, and this entry has ${content.length}.`,
        });
      // An earlier attempt may have reached a server that does not know the key.
      const known = attempt > 1 ? await this.#wire.idOf(content, signal) : undefined;
      if (known !== undefined) return known;
      const type = target === "user" ? "preference" : "factual";
      const memory = { content, type, importance: DEFAULT_IMPORTANCE, sessionId } as const;
      return memoryIdIn(await this.#wire.add(memory, id, signal)); // "": it is stored later
    },
    remove: async (id, signal) => await this.#wire.deleteIfThere(id, signal),
    find: async ({ text }, signal) => {
      const id = await this.#wire.idOf(text, signal);
      return id === undefined ? [] : [id];
    },
    recalls: async (text, signal) => {
      const found = await this.#wire.context(text, this.#sessionId, signal);
      return recordsOf(fieldsOf(found).results).some((record) => contentOf(record) === text);
    },
  };

  // ---- SOUL.md: the server's model of the agent begins with it ----

  /** Undefined when there is none, or when this server and project know it. */
  #soulItem(): NewItem | undefined {
    const path = join(this.#context.home, "SOUL.md");
    const read = readTextFile(path);
    const content = read.ok ? pyStrip((read.value ?? "").toWellFormed()) : "";
    if (content === "" || this.#isSeeded(content)) return undefined;
    // The time tells a text that came back from one that was sent before.
    const changedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    const dedupeKey = `seed ${this.#soulPlace()} ${sha256(content)} ${changedAt}`;
    return { kind: "seed", sessionId: "", body: { content } satisfies SeedBody, dedupeKey };
  }

  async #seed({ content }: SeedBody, key: string, signal: AbortSignal): Promise<void> {
    if (this.#isSeeded(content)) return; // by the agent of another user
    if (!(await this.#wire.seed(content, "soul_md", key, signal))) return;
    const soul_sha256 = { ...this.#soulHashes(), [this.#soulPlace()]: sha256(content) };
    const written = writeSettings(this.#context.home, SETTINGS_FILE, { soul_sha256 });
    if (!written.ok)
      this.#context.log.warn(`SOUL.md will be sent again: ${written.error}`, { provider: "retaindb" });
  }

  #isSeeded(content: string): boolean {
    return this.#soulHashes()[this.#soulPlace()] === sha256(content);
  }

  #soulHashes(): Readonly<Record<string, unknown>> {
    return fieldsOf(readFile(this.#context.home, SETTINGS_FILE).values.soul_sha256);
  }

  #soulPlace(): string {
    return `${this.#wire.baseUrl} ${this.#settings.project}`;
  }

  // ---- Rows of the Python edition ----

  async #movePythonRows(signal: AbortSignal): Promise<void> {
    const { home, outbox, clock, log } = this.#context;
    for (;;) {
      let [after, young] = [0, 0];
      for (let hasMore = true; hasMore; ) {
        const user = this.#pythonUser;
        const pass = await moveRows(home, { user, after, outbox, now: clock.now().getTime() });
        if (pass.moved + pass.unreadable > 0)
          log.info("Turns that the Python edition left in retaindb_queue.db were moved to the outbox.", {
            moved: pass.moved,
            unreadable: pass.unreadable,
          });
        if (pass.stopped !== undefined) throw new Error(pass.stopped);
        ({ hasMore, last: after } = pass);
        young += pass.young;
        await sleep(0, undefined, { signal });
      }
      if (young === 0) return;
      await sleep(PYTHON_ROWS_MS, undefined, { signal, ref: false });
    }
  }

  // ---- Erasing ----

  async forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const { erased, isWhole } = await this.#erase(text, isDryRun, signal);
    return reportOf(erased, [
      this.#pythonRowsLeft(text),
      !isWhole && "RetainDB did not list all memories; those it left out may hold it.",
      "RetainDB has no call that deletes messages of conversations or searches in files: what it keeps of them has to be deleted in its dashboard.",
    ]);
  }

  async eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const { erased, isWhole } = await this.#erase("", isDryRun, signal);
    const files = this.#isOwner ? 0 : await eraseFiles(this.#files, isDryRun, signal);
    return reportOf(erased + files, [
      this.#pythonRowsLeft(""),
      !isWhole && "RetainDB did not list all memories.",
      "RetainDB has no call that deletes messages of conversations: what it keeps of them has to be deleted in its dashboard.",
      this.#isOwner && "Files of the project were not deleted.",
    ]);
  }

  /** Every memory contains "". */
  async #erase(text: string, isDryRun: boolean, signal: AbortSignal) {
    return await eraseListed((memory) => memory.text.includes(text), isDryRun, {
      list: () => this.#wire.memories(signal, text),
      remove: (id) => this.#wire.deleteIfThere(id, signal),
    });
  }

  /** Rows that were too young to be moved, or cannot be read. */
  #pythonRowsLeft(text: string): string | false {
    const rows = countRows(this.#context.home, this.#pythonUser, text);
    const which = text === "" ? "of this user" : "that hold it";
    return rows > 0 && `retaindb_queue.db of the Python edition has ${rows} unsent turns ${which}.`;
  }

  // ---- Checks ----

  async check(signal: AbortSignal): Promise<string> {
    await this.#wire.check(signal);
    const { project, user } = this.#wire.scope;
    return `${this.#wire.baseUrl} accepts the key (project ${project}, user ${user}).`;
  }
}

/** Undefined when it takes longer. */
function inTime<T>(work: Promise<T> | undefined, ms: number): Promise<T | undefined> {
  return Promise.race([Promise.resolve(work), sleep(ms, undefined, { ref: false })]);
}

function settled(result: PromiseSettledResult<unknown>): unknown {
  return result.status === "fulfilled" ? result.value : undefined;
}

/** The owner has the Python edition's `default`, and `.` and `..` name other folders: no user of a gateway may be called so. */
function userId(user: string | undefined): string {
  if (user === undefined) return OWNER;
  const id = safeId(user, USER_RULES);
  return [OWNER, ".", ".."].includes(id) ? `${id}_${sha256(user).slice(0, 12)}` : id;
}
