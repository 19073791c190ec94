// Hindsight: a memory server that extracts facts from conversations. In its cloud, on a server of the user's, or as a local daemon that
// this program starts.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { envFilePath, setEnvValue } from "@hermes-memory/core/internal/config";
import {
  err,
  HermesError,
  pyStrip,
  type Result,
  sha256,
  takeCodePoints,
} from "@hermes-memory/core/internal/lib";
import {
  type ConfigField,
  checkAnswer,
  type ForgetReport,
  type MemoryProvider,
  type PostSetupOptions,
  readSettings,
  type SessionSwitchOptions,
  writeSettings,
} from "@hermes-memory/core/internal/providers";
import { textIn } from "../kit/networked/answers.ts";
import { safeId } from "../kit/networked/identity.ts";
import { type NetworkedOptions, NetworkedProvider } from "../kit/networked/provider.ts";
import type {
  Connection,
  ConnectionContext,
  Entries,
  RecallAsk,
  Recalled,
  ServiceTool,
  Turn,
} from "../kit/networked/service.ts";
import type { Place, Values } from "../kit/networked/settings.ts";
import { activate, askField } from "../kit/networked/setup.ts";
import { requiredText, tool } from "../kit/networked/tools.ts";
import type { Batch, Delivery, NewItem } from "../kit/outbox/outbox.ts";
import { fitChars, modeSentence } from "../kit/provider-mode.ts";
import { HindsightApi } from "./api.ts";
import { type DaemonTimes, EmbeddedDaemon, throughDaemon } from "./daemon.ts";
import {
  baseUrlOf,
  DEPLOYMENTS,
  type Deployment,
  FACT_TYPES,
  FIELDS,
  HINDSIGHT_SETTINGS,
  type HindsightSettings,
  missingFor,
  parseTags,
  SETTINGS_FILE,
  savedValues,
} from "./settings.ts";
import { metadataOf, spokenText, type TurnBody, turnBody } from "./turns.ts";
import { type EraseTimes, eraseBank, forgetText, storedEntry, Writes } from "./writes.ts";

export function createHindsightProvider({
  times,
  ...options
}: NetworkedOptions & { readonly times?: HindsightTimes }): MemoryProvider {
  return new NetworkedProvider<HindsightSettings>(
    {
      name: "hindsight",
      label: "Hindsight",
      settings: HINDSIGHT_SETTINGS,
      missing: missingFor,
      connect: (settings, context) => new HindsightConnection(settings, context, times),
      backupPaths: (home) => [join(home, SETTINGS_FILE)],
      postSetup: async (...given) => (await import("./provider.ts")).setUpHindsight(...given),
    },
    options,
  );
}

// ---- The connection ----
// One agent's connection to Hindsight. A finished turn is appended to the document of its session. The outbox knows what was sent, so a
// turn is sent once; on a server that cannot append, each delivery is a document of its own.

/** For tests. */
export type HindsightTimes = { readonly daemon?: Partial<DaemonTimes>; readonly erase?: EraseTimes };

const NOTHING: Recalled = { text: "", count: 0 };
/** Turns in one request: what gathers during an outage needs few requests, and none of them is very long. */
const TURNS_AT_ONCE = 20;
/** Turns of a session that an undo can reach. */
const UNDO_DEPTH = 50;

export class HindsightConnection implements Connection {
  readonly tools: readonly ServiceTool[];
  readonly turnsAtOnce = TURNS_AT_ONCE;
  readonly #settings: HindsightSettings;
  readonly #context: ConnectionContext;
  readonly #api: HindsightApi;
  readonly #writes: Writes;
  readonly #eraseTimes: EraseTimes | undefined;
  #sessionId: string;
  /** By session. */
  readonly #parents = new Map<string, string>();
  /** Turns that wait until `retain_every_n_turns` are there, by session. */
  readonly #held = new Map<string, number>();
  /** Keys of the turns of this process, newest last, by session. */
  readonly #turns = new Map<string, string[]>();
  #turnIndex = 0;
  /** A turn began and was not stored yet: an undo takes back that one. */
  #isTurnOpen = false;

  constructor(settings: HindsightSettings, context: ConnectionContext, times: HindsightTimes = {}) {
    this.#settings = settings;
    this.#context = context;
    this.#eraseTimes = times.erase;
    this.#sessionId = context.sessionId;
    this.#parents.set(context.sessionId, context.options.parent_session_id ?? "");
    this.#api = connect(settings, context, times.daemon);
    this.#writes = new Writes(this.#api, settings, context.log);
    this.tools = hindsightTools({
      retain: (memory, signal) => this.#retainByTool(memory, signal),
      recall: (query, signal) => this.#recallTexts(this.#bank, query, signal),
      reflect: (query, signal) => this.#reflect(this.#bank, query, signal),
    });
  }

  promptBlock(): string {
    const { mode, budget } = this.#settings;
    const tools =
      "hindsight_recall searches it, hindsight_reflect answers a question from many memories, hindsight_retain stores something.";
    return [
      "# Hindsight Memory",
      `Long-term memory across sessions (mode ${mode}, bank ${this.#bank}, budget ${budget}).`,
      modeSentence(mode),
      ...(mode === "context" ? [] : [tools]),
    ].join("\n");
  }

  // ---- Recall ----

  async recall(query: string, { sessionId, signal }: RecallAsk): Promise<Recalled> {
    const { isRecalling, recallMaxInputChars, recallMethod, preamble } = this.#settings;
    const asked = recallMaxInputChars > 0 ? takeCodePoints(query, recallMaxInputChars) : query;
    if (!isRecalling) return NOTHING;
    const bank = this.#bankOf(sessionId);
    const texts =
      recallMethod === "reflect"
        ? [await this.#reflect(bank, asked, signal)].filter((text) => text !== "")
        : await this.#recallTexts(bank, asked, signal);
    if (texts.length === 0) return NOTHING;
    const lines = recallMethod === "reflect" ? texts : texts.map((text) => `- ${text}`);
    return { text: `${preamble}\n\n${lines.join("\n")}`, count: texts.length };
  }

  async #recallTexts(bank: string, query: string, signal: AbortSignal): Promise<readonly string[]> {
    const { budget, recallMaxTokens, recallTypes, recallTags, recallTagsMatch } = this.#settings;
    const hasTags = recallTags.length > 0;
    const facts = await this.#api.recall(
      bank,
      {
        query,
        types: recallTypes,
        budget,
        max_tokens: recallMaxTokens,
        tags: hasTags ? recallTags : undefined,
        tags_match: hasTags ? recallTagsMatch : undefined,
      },
      signal,
    );
    return facts.map(({ text }) => pyStrip(spokenText(textIn(text)))).filter((text) => text !== "");
  }

  async #reflect(bank: string, query: string, signal: AbortSignal): Promise<string> {
    return pyStrip(await this.#api.reflect(bank, { query, budget: this.#settings.budget }, signal));
  }

  // ---- Turns ----

  onTurnStart(): void {
    this.#isTurnOpen = true;
  }

  turnItems(turn: Turn): readonly NewItem[] {
    this.#isTurnOpen = false;
    const { isRetaining, retainEvery } = this.#settings;
    if (!isRetaining) return [];
    const { sessionId } = turn;
    this.#turnIndex = turn.number;
    const key = randomUUID();
    this.#turns.set(sessionId, [...(this.#turns.get(sessionId) ?? []), key].slice(-UNDO_DEPTH));
    const body = turnBody(turn, {
      settings: this.#settings,
      options: this.#context.options,
      bank: this.#bankOf(sessionId),
      key,
      parent: this.#parents.get(sessionId) ?? "",
    });
    const count = (this.#held.get(sessionId) ?? 0) + 1;
    const isDue = count >= retainEvery;
    this.#held.set(sessionId, isDue ? 0 : count);
    if (isDue && retainEvery > 1) this.#context.outbox.release(sessionId);
    return [{ kind: "turn", sessionId, body, isHeld: !isDue }];
  }

  /** Nothing closes a conversation at the server; the base has released its turns. */
  endItems(sessionId: string): readonly NewItem[] {
    this.#held.delete(sessionId);
    return [];
  }

  onSessionSwitch(newSessionId: string, options: SessionSwitchOptions, oldSessionId: string): void {
    if (options.rewound === true) {
      this.#withdrawLast(newSessionId, options.undone_turns ?? 1);
      return;
    }
    const parent = options.parent_session_id || (this.#parents.get(oldSessionId) ?? "");
    this.#parents.set(newSessionId, parent === newSessionId ? "" : parent);
    this.#sessionId = newSessionId;
    this.#turnIndex = 0;
    this.#isTurnOpen = false;
  }

  /** A turn that was sent stays: the server cannot cut a document. */
  #withdrawLast(sessionId: string, undone: number): void {
    const stored = undone - (this.#isTurnOpen ? 1 : 0);
    this.#isTurnOpen = false;
    const keys = this.#turns.get(sessionId) ?? [];
    const last = keys.splice(Math.max(0, keys.length - stored));
    if (last.length === 0 || !this.#context.isWriting) return;
    const withdrawn = this.#context.outbox.withdraw(
      ({ kind, body }) => kind === "turn" && last.includes((body as TurnBody).key),
    );
    const held = this.#held.get(sessionId) ?? 0;
    this.#held.set(sessionId, Math.max(0, held - withdrawn));
  }

  // ---- Curated entries ----

  readonly entries: Entries = {
    about: () => ({ sessionId: "", body: { bank: this.#bank } }),
    add: (entry, signal) => this.#writes.addEntry(entry, signal),
    remove: (stored, signal) => this.#writes.removeEntry(stored, signal),
    find: async (entry) => [storedEntry(textIn(entry.body.bank), entry)],
    // The server's model may have reworded the text; the number in it stays.
    recalls: async (text, signal) => {
      const { budget, recallMaxTokens } = this.#settings;
      const ask = { query: text, types: FACT_TYPES, budget, max_tokens: recallMaxTokens };
      const id = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(text)?.[0] ?? text;
      return (await this.#api.recall(this.#bank, ask, signal)).some((fact) => textIn(fact.text).includes(id));
    },
    appearsLater: "Hindsight extracts facts in the background.",
  };

  async deliver(batch: Batch, signal: AbortSignal): Promise<Delivery> {
    if (batch.kind === "turn") return await this.#writes.sendTurns(batch, signal);
    throw new Error(`Hindsight does not know the kind '${batch.kind}'.`);
  }

  async #retainByTool(memory: NewMemory, signal: AbortSignal): Promise<void> {
    const { retainTags, retainSource, retainContext } = this.#settings;
    const at = this.#context.clock.now().toISOString();
    const about = { at, sessionId: this.#sessionId, messageCount: 1, turnIndex: this.#turnIndex };
    const item = {
      content: memory.content,
      context: memory.context || retainContext,
      metadata: metadataOf(retainSource, this.#context.options, about),
      tags: [...new Set([...retainTags, ...memory.tags])],
    };
    await this.#writes.retain(this.#bank, item, randomUUID(), signal);
  }

  // ---- Checks ----

  async check(signal: AbortSignal): Promise<string> {
    await this.#api.checkKey(signal);
    const { version } = await this.#api.server(signal);
    return `Hindsight ${version ?? "(version unknown)"} answers at ${this.#api.url}; the bank is ${this.#bank}.`;
  }

  // ---- Erasing ----

  async forget(text: string, isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const report = await forgetText(this.#place(), text, { isDryRun, signal });
    return this.#withOtherSessions(report);
  }

  async eraseUser(isDryRun: boolean, signal: AbortSignal): Promise<ForgetReport> {
    const report = await eraseBank(this.#place(), { isDryRun, signal });
    if (!isDryRun) this.#writes.forgetMission(this.#bank);
    return this.#withOtherSessions(report);
  }

  #place() {
    return { api: this.#api, bank: this.#bank, times: this.#eraseTimes };
  }

  #withOtherSessions(report: ForgetReport): ForgetReport {
    if (!isPerSession(this.#settings)) return report;
    const others = `Each session has a bank of its own (bank_id_template), and only ${this.#bank} was searched: delete the others in Hindsight.`;
    const remaining = report.remaining === undefined ? others : `${report.remaining} ${others}`;
    return { ...report, remaining };
  }

  // ---- Small parts ----

  get #bank(): string {
    return this.#bankOf(this.#sessionId);
  }

  #bankOf(session: string): string {
    const { options, user } = this.#context;
    return bankIdOf(this.#settings, {
      profile: options.agent_identity ?? "",
      workspace: options.agent_workspace ?? "hermes",
      platform: options.platform ?? "cli",
      session,
      user,
    });
  }
}

function connect(
  settings: HindsightSettings,
  context: ConnectionContext,
  times: Partial<DaemonTimes> | undefined,
): HindsightApi {
  const { deployment, apiKey, timeoutS, embedded } = settings;
  const timeoutMs = timeoutS * 1_000;
  const { log, options, isWriting, inBackground } = context;
  const onOld = () =>
    log.warn("This Hindsight server cannot append to a document, so every delivery becomes a document.");
  if (deployment !== "local_embedded") {
    const headers = (): Record<string, string> =>
      apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` };
    const http = context.http({ baseUrl: baseUrlOf(settings), headers, timeoutMs });
    return new HindsightApi(http, timeoutMs, onOld);
  }
  const { agent_context = "primary", platform = "cli" } = options;
  const isLooking = !isWriting && agent_context === "primary" && platform !== "cron";
  const daemon = new EmbeddedDaemon({ settings: embedded, context, mayStart: !isLooking, times });
  if (!isLooking)
    inBackground("Starting the Hindsight daemon", async (signal) => {
      const started = await daemon.ready(signal);
      if (!started.ok) throw new Error(started.error);
    });
  const http = context.http({ baseUrl: daemon.url, headers: () => ({}), timeoutMs });
  return new HindsightApi(throughDaemon(http, daemon, timeoutMs), timeoutMs, onOld);
}

// ---- Tools ----
// The three tools of Hindsight: store, search, and an answer that the server reasons out.

/** What the tools need of a connection. */
type ToolWork = {
  readonly retain: (memory: NewMemory, signal: AbortSignal) => Promise<void>;
  /** The texts of the facts, best first. */
  readonly recall: (query: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly reflect: (query: string, signal: AbortSignal) => Promise<string>;
};

type NewMemory = { readonly content: string; readonly context: string; readonly tags: readonly string[] };

/** About 10,000 tokens: more than the default `recall_max_tokens`. */
const ANSWER_MAX_CHARS = 40_000;
const NOTHING_FOUND = "No relevant memories found.";

const query = { type: "string", description: "What to look for, in whole words or as a question." };

export function hindsightTools(work: ToolWork): readonly ServiceTool[] {
  return [
    tool({
      name: "hindsight_retain",
      description:
        "Store something in long-term memory for later conversations. The server extracts facts and entities from it by itself, " +
        "so write whole sentences that make sense without this conversation.",
      properties: {
        content: { type: "string", description: "The information to store." },
        context: {
          type: "string",
          description: "A few words on where it comes from, for example 'project decision'.",
        },
        tags: { type: "array", items: { type: "string" }, description: "Tags to store it with." },
      },
      required: ["content"],
      isWriting: true,
      failure: "Failed to store memory",
      run: async (args, signal) => {
        const content = requiredText(args, "content");
        const context = pyStrip(textIn(args.context));
        await work.retain({ content, context, tags: parseTags(args.tags) }, signal);
        return { result: "Memory stored successfully." };
      },
    }),
    tool({
      name: "hindsight_recall",
      description:
        "Search long-term memory: meaning, words and the graph of entities together. Returns stored facts, the best match first.",
      properties: { query },
      required: ["query"],
      failure: "Failed to search memory",
      run: async (args, signal) => {
        const texts = await work.recall(requiredText(args, "query"), signal);
        const lines = texts.map((text, index) => `${index + 1}. ${text}`);
        return answer(lines.join("\n"));
      },
    }),
    tool({
      name: "hindsight_reflect",
      description:
        "Ask long-term memory a question whose answer has to be reasoned out of many memories: a summary, a comparison, a tendency. " +
        "Slower than hindsight_recall and returns one text.",
      properties: { query },
      required: ["query"],
      failure: "Failed to reflect",
      run: async (args, signal) => answer(await work.reflect(requiredText(args, "query"), signal)),
    }),
  ];
}

function answer(text: string): { readonly result: string } {
  return { result: fitChars(text, ANSWER_MAX_CHARS) || NOTHING_FOUND };
}

// ---- The bank ----
// Which bank a conversation uses. The configured bank belongs to the owner of the home; every user of a gateway has a bank of their own,
// whose name holds the user, also where the template does not name one.

type BankParts = {
  readonly profile: string;
  readonly workspace: string;
  readonly platform: string;
  readonly session: string;
  /** Undefined for the owner. */
  readonly user: string | undefined;
};

type BankSettings = Pick<HindsightSettings, "bankId" | "bankTemplate" | "userScope">;

const FOREIGN = /[^A-Za-z0-9_-]/;
const HASH_DIGITS = 12;
const RULES = { foreign: FOREIGN, replacement: "-", maxChars: 80 };

export function bankIdOf(settings: BankSettings, parts: BankParts): string {
  const { user } = parts;
  const owners = bankOfOwner(settings, parts);
  if (user === undefined) return owners;
  const rendered = render(settings.bankTemplate, {
    ...parts,
    user: settings.userScope === "id" ? pythonId(user) : safeId(user, RULES),
  });
  if (rendered === "" || !settings.bankTemplate.includes("{user}"))
    return `${rendered || settings.bankId}-${safeId(user, RULES)}`;
  // A user whose id makes the owner's bank, or that of a user to whom this has happened, has an id of their own.
  const reserved = [owners, bankOfOwner(settings, { ...parts, platform: "cli" }), settings.bankId];
  return reserved.some((bank) => rendered === bank || rendered.startsWith(`${bank}-user-`))
    ? `${rendered}-user-${sha256(user).slice(0, HASH_DIGITS)}`
    : rendered;
}

function bankOfOwner({ bankId, bankTemplate }: BankSettings, parts: BankParts): string {
  return render(bankTemplate, { ...parts, user: "" }) || bankId;
}

/** Whether each session has a bank of its own. */
export function isPerSession({ bankTemplate }: Pick<HindsightSettings, "bankTemplate">): boolean {
  return bankTemplate.includes("{session}");
}

/** "" for an empty result, an unknown placeholder or a brace that is left over. */
function render(template: string, values: Readonly<Record<string, string>>): string {
  let isKnown = true;
  const filled = template.replace(/\{([^{}]*)\}/g, (_all, name: string) => {
    if (!Object.hasOwn(values, name)) isKnown = false;
    return sanitize(values[name] ?? "");
  });
  if (!isKnown || /[{}]/.test(filled)) return "";
  return trimmed(filled.replace(/-{2,}/g, "-").replace(/_{2,}/g, "_"));
}

function sanitize(value: string): string {
  return trimmed(value.replace(new RegExp(`${FOREIGN.source}+`, "g"), "-"));
}

function trimmed(text: string): string {
  return text.replace(/^[-_]+|[-_]+$/g, "");
}

/** As the Python edition names a user. One without a usable character would get the owner's bank, so that one gets a hash. */
function pythonId(user: string): string {
  return sanitize(user) === "" ? safeId(user, RULES) : user;
}

// ---- Setup ----
// `hermes memory setup hindsight`: where Hindsight runs, then only the questions of that place. An empty answer keeps the value that is
// there. Keys go into `.env`, everything else into `hindsight/config.json`.

/** Asked at the terminal, after the mode. The other settings have defaults that few users change; `--set` changes them. */
const ASKED: Readonly<Record<Deployment, readonly string[]>> = {
  cloud: ["api_key"],
  local_external: ["api_url", "api_key"],
  local_embedded: ["llm_provider", "llm_model", "llm_base_url", "llm_api_key", "profile"],
};
const ASKED_ALWAYS = ["bank_id", "memory_mode", "recall_budget"];

export async function setUpHindsight(place: Place, options: PostSetupOptions): Promise<void> {
  const { home, env } = place;
  const answers = await collectAnswers(place, options);
  const fields = FIELDS.filter(({ key }) => answers.has(key));
  const settings = fields.filter(({ secret }) => secret !== true);
  const own = readSettings(home, SETTINGS_FILE);
  // The file of an older installation would no longer be read once there is one in the home.
  if (own.problem === undefined && Object.keys(own.values).length === 0)
    saveRaw(savedValues(home, env).values, home);
  const texts = settings.map(({ key }) => [key, answers.get(key) ?? ""] as const);
  HINDSIGHT_SETTINGS.save(Object.fromEntries(texts), home);
  for (const { key, env_var, secret } of fields) {
    const value = answers.get(key) ?? "";
    if (env_var === undefined || value === "") continue;
    const saved = setEnvValue(envFilePath(home), env_var, value);
    if (!saved.ok)
      throw new HermesError("settings-not-saved", `${env_var} is not saved. ${saved.error.message}`);
    Object.assign(env, { [env_var]: value }); // the check after setup reads this environment
    // A key in the file would win over the one in `.env`.
    if (secret === true) saveRaw({ [key]: undefined, [camelCase(key)]: undefined }, home);
  }
  const { deployment, embedded } = HINDSIGHT_SETTINGS.read(place);
  // The daemon's profile is written at its start, which compares the two to see whether a running daemon needs a restart.
  if (deployment === "local_embedded" && embedded.program === undefined)
    options.print(
      "Neither hindsight-embed nor uvx is on the PATH. Install one of them: until then Hindsight stays off.",
    );
  await activate(home, "hindsight");
  options.print(`The settings are in ${join(home, SETTINGS_FILE)}.`);
}

/** The older name of a secret in the file. */
function camelCase(key: string): string {
  return key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** New values by key. A question that was answered with nothing has none, unless it is new and has a default. */
async function collectAnswers(
  place: Place,
  { ask, print, values }: PostSetupOptions,
): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const [key, text] of Object.entries(values)) {
    const checked = check(key, text);
    if (!checked.ok) throw new HermesError("bad-setting", `${key} ${checked.error}. Nothing was saved.`);
    answers.set(key, checked.value);
  }
  const saved = HINDSIGHT_SETTINGS.saved(place);
  const current = (key: string): string => answers.get(key) ?? String(saved[key] ?? "");
  const question = async (key: string): Promise<void> => {
    const field = FIELDS.find((each) => each.key === key);
    if (field === undefined || answers.has(key)) return;
    const standard = current(key) || standardOf(field, current);
    const answer =
      ask === undefined
        ? standard
        : await askField(field, standard, { ask, print }, (text) => check(key, text));
    if (answer !== "" && answer !== String(saved[key] ?? "")) answers.set(key, answer);
  };
  await question("mode");
  const mode = current("mode") === "local" ? "local_embedded" : current("mode");
  const deployment = DEPLOYMENTS.find((each) => each === mode) ?? "cloud";
  for (const key of [...ASKED[deployment], ...ASKED_ALWAYS]) await question(key);
  return answers;
}

function standardOf({ default: standard, default_from }: ConfigField, current: (key: string) => string) {
  return default_from === undefined
    ? (standard ?? "")
    : (default_from.map[current(default_from.field)] ?? "");
}

/** `local` is the older name of a mode. Only a text may be emptied. */
function check(key: string, text: string): Result<string, string> {
  const field = FIELDS.find((each) => each.key === key);
  if (field === undefined) return err("is no setting of Hindsight");
  const isAlias = key === "mode" && pyStrip(text).toLowerCase() === "local";
  const required = field.choices !== undefined || field.type !== undefined;
  return checkAnswer({ ...field, required }, isAlias ? "local_embedded" : text);
}

function saveRaw(changes: Values, home: string): void {
  if (Object.keys(changes).length === 0) return;
  const written = writeSettings(home, SETTINGS_FILE, changes);
  if (!written.ok) throw new HermesError("settings-not-saved", written.error);
}
