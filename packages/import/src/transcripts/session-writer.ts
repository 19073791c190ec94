// One session on its way from a transcript into the store: messages arrive one by one, are compared with what an earlier import stored,
// and only what is new or different is written.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { codePointLength, takeCodePoints, withoutUndefined } from "@hermes-memory/core/internal/lib";
import { chatSessionId } from "@hermes-memory/core/internal/memory";
import { strippedUserText } from "@hermes-memory/core/internal/security";
import {
  type TranscriptFinish,
  type TranscriptInput,
  type TranscriptOrigin,
  type TranscriptPlace,
  type TranscriptRow,
  type TranscriptWrite,
  transcriptSessionId,
} from "@hermes-memory/core/internal/sessions";
import { isOfMemoryTool, isOptedOut } from "./injected.ts";
import type { KnownTranscripts } from "./ledger.ts";
import { type Likeness, likenessOf, mergeFollowed } from "./merge-followed.ts";
import { madeId, type PrepareOptions, prepared, soundId } from "./prepare.ts";
import type { SessionFacts, TranscriptMessage, TranscriptReader, Usage } from "./reader.ts";
import { type ImportTarget, transcriptRows } from "./target.ts";

/** What is written in one transaction. Larger sessions take several, so that other programs can write in between. */
const BATCH_CHARS = 1_000_000;
const BATCH_MESSAGES = 2000;
/** Added to the time of the message before, for one without a time. */
const MICROSECOND = 1e-6;
const EARLIEST_TIME = Date.UTC(1990, 0, 1) / 1000;
const DAY_SECONDS = 86_400;
const FINGERPRINT_MESSAGES = 3;
/** A request of the program is being stored; that takes milliseconds. */
const MOST_ATTEMPTS = 20;
const BUSY_PAUSE_MS = 100;
/** Chats of programs that name no session in their requests. */
const UNNAMED = "chat.conversation-";
/** In seconds, between the moments at which a program and a gateway note the same words. */
const MOST_APART = 120;
/** Why a session was skipped that holds the tag against being indexed. */
export const OPTED_OUT = "opted out";

export type SessionWriterDeps = {
  readonly reader: Pick<TranscriptReader, "source">;
  /** The version of the reader and the options, which change what is stored. */
  readonly parser: string;
  readonly target: ImportTarget;
  readonly known: KnownTranscripts;
  readonly prepare: PrepareOptions;
  /** The file of the unit, and when it was last changed, in seconds. */
  readonly path: string;
  readonly fileTime: number;
  /** In seconds. */
  readonly now: number;
  /** Whether an earlier import stored the session, so that its absence means it was deleted here. */
  readonly wasStored: (id: string) => Promise<boolean>;
  /** Written even if another file holds the same session: this one was found to have more messages. */
  readonly isPreferred: (id: string) => boolean;
  /** Undefined if the session is wanted; otherwise why it is left out. Asked again when more is known. */
  readonly leftOut: (
    facts: SessionFacts,
    times: { readonly first: number; readonly last?: number },
  ) => string | undefined;
};

export type SessionOutcome =
  | {
      readonly kind: "added" | "updated";
      readonly id: string;
      readonly added: number;
      readonly changed: number;
    }
  | { readonly kind: "unchanged"; readonly id: string }
  | { readonly kind: "skipped"; readonly id: string; readonly reason: string }
  /** The file must be read a second time, because it has more of the session than the file it was imported from. */
  | { readonly kind: "longer"; readonly id: string };

type Prepared = TranscriptInput & {
  readonly isBranch: boolean;
  /** False where the transcript gives the message no time. */
  readonly isTimed: boolean;
};

export class SessionWriter {
  readonly #deps: SessionWriterDeps;
  #facts: SessionFacts;
  #buffer: Prepared[] = [];
  #bufferChars = 0;
  #mode: "undecided" | "later" | "compare" | "append" | "count" | "merge" = "undecided";
  /** The session that the transcript is merged with, and whether it is not yet known as the one of this conversation. */
  #merged: { readonly session: string; readonly isClaimed: boolean } | undefined;
  #skipped: string | undefined;
  #isCreated = false;
  #isWithdrawn = false;
  #storedCount = 0;
  /** Rows that are not compared yet, and the id of the last one that was. */
  #stored: AsyncGenerator<TranscriptRow, undefined> | undefined;
  #comparedId = 0;
  #ordinal = 0;
  #prepared = 0;
  #added = 0;
  #changed = 0;
  #lastTime = 0;
  #firstTime: number | undefined;
  /** Whether a message had a time that can be true. */
  #isTimed = false;
  /** Of the last message that was compared or written. */
  #writtenTime: number | undefined;
  #firstId: string | undefined;
  #model: string | undefined;
  #branchModel: string | undefined;
  /** The first texts of the user. */
  readonly #userTexts: { timestamp: number; readonly text: string }[] = [];
  readonly #ids = new Set<string>();
  readonly #toolNames = new Map<string, string>();
  readonly #branches = new Set<string>();
  #usage: Record<keyof Usage, number> = {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
  };
  /** The origin that the store had before this import. */
  #before: TranscriptOrigin | undefined;

  constructor(facts: SessionFacts, deps: SessionWriterDeps) {
    this.#facts = facts;
    this.#deps = deps;
  }

  get id(): string {
    return this.#facts.id ?? transcriptSessionId(this.#deps.reader.source, this.#facts.nativeId);
  }

  /** The full id of a related session. */
  idOf(nativeId: string): string {
    return this.#facts.id === undefined ? transcriptSessionId(this.#deps.reader.source, nativeId) : nativeId;
  }

  get facts(): SessionFacts {
    return this.#facts;
  }

  learn(facts: SessionFacts): void {
    const known = Object.entries(facts).filter(([, value]) => value !== undefined);
    this.#facts = { ...this.#facts, ...Object.fromEntries(known) };
  }

  skip(reason: string): void {
    this.#skipped ??= reason;
    this.#buffer = [];
  }

  /** The session says that it does not want to be here: what an earlier import stored goes too. */
  withdraw(reason: string): void {
    this.skip(reason);
    this.#isWithdrawn = true;
  }

  leaveBranches(ids: readonly string[]): void {
    for (const id of ids) this.#branches.add(soundId(id));
  }

  async add(message: TranscriptMessage): Promise<void> {
    if (this.#skipped !== undefined) return;
    if (isOptedOut(message.text)) return this.withdraw(OPTED_OUT);
    if (this.#userTexts.length === 0 && message.role === "user" && isOfMemoryTool(message.text))
      return this.withdraw("written by a memory tool");
    const ordinal = this.#ordinal;
    this.#ordinal += 1;
    const id = this.#freeId(soundId(message.id ?? madeId(ordinal, message)));
    this.#firstId ??= message.id ?? id;
    const timestamp = this.#timeOf(message.at);
    this.#learnFrom(message, timestamp);
    for (const call of message.toolCalls ?? []) this.#toolNames.set(call.id, call.name);
    const toolName = message.toolName ?? this.#toolNames.get(message.toolCallId ?? "");
    const stored = prepared({ ...message, toolName }, this.#deps.prepare);
    if (stored === undefined) return;
    const isBranch = message.isActive === false;
    if (isBranch) {
      if (!this.#deps.prepare.includeBranches) return;
      this.#branches.add(id);
    }
    const path = stored.path === this.#deps.path ? undefined : stored.path;
    const isTimed = this.#believable(message.at) !== undefined;
    this.#buffer.push({ ...stored, path, platformMessageId: id, timestamp, isBranch, isTimed });
    this.#bufferChars += stored.content.length + (stored.toolCalls?.length ?? 0);
    if (this.#bufferChars >= BATCH_CHARS || this.#buffer.length >= BATCH_MESSAGES) await this.#flush();
  }

  /** After the last message. */
  async finish(): Promise<SessionOutcome> {
    const { id } = this;
    const last = Math.max(this.#end(), this.#lastTime);
    const reason =
      this.#skipped ?? (this.#userTexts.length > 0 ? this.#leftOut(last) : "no text of the user");
    if (reason !== undefined) this.skip(reason);
    else await this.#flush(true);
    if (this.#skipped !== undefined) {
      if (this.#isCreated || (await this.#mustGo())) {
        await this.#deps.target.discard(id);
        this.#deps.known.forget(id);
      }
      return { kind: "skipped", id, reason: this.#skipped };
    }
    if (this.#mode === "count")
      return this.#prepared > this.#storedCount ? { kind: "longer", id } : { kind: "unchanged", id };
    if (this.#isCreated) return { kind: "added", id, added: this.#added, changed: 0 };
    if (this.#added === 0 && this.#changed === 0) return { kind: "unchanged", id };
    return { kind: "updated", id, added: this.#added, changed: this.#changed };
  }

  /** Whether an earlier import stored what must not stay: a part, because it was cut off, or what is withdrawn now. */
  async #mustGo(): Promise<boolean> {
    const state = await this.#deps.target.getTranscriptState(this.id);
    return state.kind === "imported" && (this.#isWithdrawn || state.origin.digest === undefined);
  }

  #leftOut(last: number | undefined): string | undefined {
    const { leftOut, fileTime } = this.#deps;
    return leftOut(this.#facts, { first: this.#firstTime ?? fileTime, ...withoutUndefined({ last }) });
  }

  /** Of the last message; made-up times say less about it than the time at which the product changed the session. */
  #end(): number {
    const { endedAt, hasSyntheticTimes } = this.#facts;
    const last = this.#writtenTime ?? this.#lastTime;
    return hasSyntheticTimes ? Math.max(this.#believable(endedAt) ?? last, last) : last;
  }

  /** Two messages of a damaged transcript may have the same id; both are kept. */
  #freeId(wanted: string): string {
    let id = wanted;
    for (let copy = 2; this.#ids.has(id); copy += 1) id = `${wanted}#${copy}`;
    this.#ids.add(id);
    return id;
  }

  /** Never earlier than the message before, because conversations are replayed in order of time. */
  #timeOf(given: number | undefined): number {
    const at = this.#believable(given);
    if (this.#firstTime === undefined) {
      const { fileTime, now } = this.#deps;
      const start = at ?? this.#believable(this.#facts.startedAt) ?? Math.min(fileTime, now);
      this.#firstTime = start;
      this.#lastTime = start;
    } else {
      if (at !== undefined && !this.#isTimed) this.#moveBefore(at);
      this.#lastTime = at === undefined ? this.#lastTime + MICROSECOND : Math.max(at, this.#lastTime);
    }
    this.#isTimed ||= at !== undefined;
    return this.#lastTime;
  }

  #believable(at = 0): number | undefined {
    return at >= EARLIEST_TIME && at <= this.#deps.now + DAY_SECONDS ? at : undefined;
  }

  /** Messages without a time have got one from the file, which is later than the first true one: they came just before it. */
  #moveBefore(at: number): void {
    const shift = at - MICROSECOND - this.#lastTime;
    if (shift >= 0 || this.#firstTime === undefined || this.#mode !== "undecided") return;
    this.#firstTime += shift;
    this.#lastTime += shift;
    this.#buffer = this.#buffer.map((one) => ({ ...one, timestamp: one.timestamp + shift }));
    for (const one of this.#userTexts) one.timestamp += shift;
  }

  #learnFrom(message: TranscriptMessage, timestamp: number): void {
    const { role, model, isActive } = message;
    if (role === "assistant" && model !== undefined && model !== "<synthetic>") {
      if (isActive === false) this.#branchModel = model;
      else this.#model = model;
    }
    for (const [key, value] of Object.entries(message.usage ?? {}))
      if (typeof value === "number" && value > 0) this.#usage[key as keyof Usage] += value;
    if (role !== "user") return;
    const isNeeded = this.#userTexts.length < FINGERPRINT_MESSAGES;
    const text = isNeeded ? strippedUserText(message.text).trim() : "";
    if (text !== "") this.#userTexts.push({ timestamp, text });
  }

  get #isTimeless(): boolean {
    return this.#facts.hasSyntheticTimes === true || !this.#isTimed;
  }

  /** The same for a conversation that two products have stored. Undefined when too little is known. */
  #fingerprint(isWhole: boolean): string | undefined {
    const texts = this.#userTexts;
    if (this.#isTimeless || texts.length === 0) return undefined;
    if (texts.length < FINGERPRINT_MESSAGES && !isWhole) return undefined;
    const lines = texts.map(({ timestamp, text }) => `${Math.round(timestamp * 1000)} ${text}`);
    return createHash("sha256").update(lines.join("\u0000")).digest("hex").slice(0, 16);
  }

  async #decide(isWhole: boolean): Promise<void> {
    const { target, known, reader, path, isPreferred, wasStored } = this.#deps;
    const { id } = this;
    const early = this.#leftOut(isWhole ? this.#end() : undefined);
    if (early !== undefined) return this.skip(early);
    const state = await target.getTranscriptState(id);
    if (state.kind === "own") return this.skip("a session with this id exists here");
    if (state.kind === "continued") return this.skip("continued here");
    if (state.kind === "followed") {
      this.#before = state.origin;
      this.#merged = { session: state.session, isClaimed: false };
      this.#mode = "merge";
      return;
    }
    if (state.kind === "none" && (await wasStored(id))) return this.skip("deleted here");
    // A transcript that became shorter: what was imported of it stays.
    const isShorter = state.kind === "imported" && isWhole && state.messages > this.#buffer.length;
    const chats = isShorter ? [] : await this.#gatewayChats(isWhole);
    if (chats.length > 0 && !isWhole) {
      this.#mode = "later";
      return;
    }
    const chat = await this.#sameChat(chats);
    if (chat !== undefined) {
      known.claim(chat);
      this.#merged = { session: chat, isClaimed: true };
      this.#mode = "merge";
      return;
    }
    if (state.kind === "none") {
      const fingerprint = this.#fingerprint(isWhole);
      if (fingerprint !== undefined && known.twinOf(id, reader.source, fingerprint) !== undefined)
        return this.skip("imported from another product");
      this.#mode = "append";
      this.#isCreated = true;
      return;
    }
    this.#before = state.origin;
    this.#storedCount = state.messages;
    const holder = state.origin.path;
    const isElsewhere = holder !== undefined && holder !== path && existsSync(holder);
    this.#mode = isElsewhere && !isPreferred(id) ? "count" : "compare";
    if (this.#mode === "compare") this.#stored = transcriptRows(target, id);
  }

  /**
   * Chats that a gateway stored without knowing whose transcript it is, and that may be this one: 0.3.0 gave it another id, or the program
   * names no session in its requests.
   */
  async #gatewayChats(isWhole: boolean): Promise<readonly string[]> {
    const { known, target, fileTime } = this.#deps;
    const first = (this.#firstTime ?? fileTime) - MOST_APART;
    const end = this.#isTimeless ? fileTime : this.#lastTime;
    const last = isWhole ? Math.max(end, this.#lastTime) + MOST_APART : Number.POSITIVE_INFINITY;
    const named = chatSessionId(undefined, this.id);
    const chats = await known.unclaimed(target);
    if (chats.some(({ id }) => id === named)) return [named];
    return chats
      .filter(({ id, startedAt, endedAt }) => id.startsWith(UNNAMED) && endedAt > first && startedAt < last)
      .map(({ id }) => id);
  }

  /** The one that has most of it, then the nearest. */
  async #sameChat(chats: readonly string[]): Promise<string | undefined> {
    const { target } = this.#deps;
    let best: (Likeness & { readonly id: string }) | undefined;
    for (const id of chats) {
      if (!id.startsWith(UNNAMED)) return id;
      const found = likenessOf(await target.getMessages(id), this.#buffer);
      if (found === undefined || found.apart > MOST_APART) continue;
      const more = found.count - (best?.count ?? 0);
      if (best === undefined || more > 0 || (more === 0 && found.apart < best.apart)) best = { ...found, id };
    }
    return best?.id;
  }

  /** Chats that hold what came after a compaction of the program itself. */
  async #rests(): Promise<NonNullable<TranscriptWrite["claim"]>> {
    const { target } = this.#deps;
    const rests: { readonly id: string; readonly rows: number }[] = [];
    for (const id of await this.#gatewayChats(true)) {
      if (!id.startsWith(UNNAMED)) continue;
      const rows = await target.getMessages(id, { includeInactive: true });
      const found = likenessOf(rows, this.#buffer);
      if (found?.isRest && found.apart <= MOST_APART) rests.push({ id, rows: rows.length });
    }
    return rests;
  }

  async #flush(isLast = false): Promise<void> {
    if (this.#mode === "undecided" || (this.#mode === "later" && isLast)) await this.#decide(isLast);
    if (this.#skipped !== undefined || this.#mode === "later") return;
    if (this.#mode === "merge") return isLast ? this.#merge() : undefined;
    const batch = this.#buffer;
    this.#buffer = [];
    this.#bufferChars = 0;
    this.#prepared += batch.length;
    if (this.#mode === "count") return;
    const change = await this.#compared(batch);
    // A transcript that became shorter: what was stored stays as it is.
    if (isLast && this.#mode === "compare" && (await this.#stored?.next())?.value !== undefined)
      isLast = false;
    const finish = isLast ? this.#finishing() : undefined;
    const { append, update, moved } = change;
    const isSame = append.length + update.length + moved.length === 0 && change.removeAfter === undefined;
    const session = this.#session(finish);
    if (isSame && (!isLast || this.#before?.digest === session.origin.digest)) return;
    const found = await this.#deps.target.writeTranscript({ session, ...change, ...(finish && { finish }) });
    if (found === "own" || found === "continued" || found === "followed" || found === "busy") {
      this.#isCreated = false; // someone writes to it already, so it must not go
      return this.skip("continued here");
    }
    this.#added += change.append.length;
    this.#changed += change.update.length;
    if (isLast) this.#deps.known.remember(this.id, session.origin);
  }

  /** A gateway stores the session too, from the requests of the program: the whole transcript is compared with its rows. */
  async #merge(): Promise<void> {
    const { target } = this.#deps;
    const { session: into = this.id, isClaimed = false } = this.#merged ?? {};
    const messages = this.#buffer.map((message) => this.#inOrder(message));
    const finish = this.#finishing();
    const session = this.#session(finish);
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
      const rests = await this.#rests();
      const rows = await target.getMessages(into, { includeInactive: true });
      const claim = [...(isClaimed ? [{ id: into, rows: rows.length }] : []), ...rests];
      const merge = mergeFollowed(rows, messages);
      const added = merge.order.filter((item) => typeof item !== "number").length;
      const isSame = added === 0 && merge.known.length === 0;
      if (isSame && claim.length === 0 && this.#before?.digest === session.origin.digest) return;
      const found = await target.writeTranscript({ session, merge, claim, finish });
      if (found === "followed") {
        for (const rest of rests) this.#deps.known.claim(rest.id);
        this.#added += added;
        this.#changed += merge.known.length;
        this.#deps.known.remember(this.id, session.origin);
        return;
      }
      if (found !== "busy") return this.skip("continued here");
      await sleep(BUSY_PAUSE_MS);
    }
    this.skip("in use here");
  }

  /** What must be written so that the store has these messages after the ones before. */
  async #compared(batch: readonly Prepared[]): Promise<{
    readonly append: readonly Prepared[];
    readonly update: NonNullable<TranscriptWrite["update"]>;
    readonly moved: NonNullable<TranscriptWrite["moved"]>;
    readonly removeAfter?: number;
  }> {
    const update: (Prepared & { id: number })[] = [];
    const moved: (TranscriptPlace & { id: number })[] = [];
    const rest = (from: number): Prepared[] => batch.slice(from).map((message) => this.#inOrder(message));
    if (this.#mode === "append") return { append: rest(0), update, moved };
    for (const [at, given] of batch.entries()) {
      const row = (await this.#stored?.next())?.value;
      if (row?.platform_message_id !== given.platformMessageId) {
        this.#mode = "append";
        // From here on the transcript took another course than the one that was stored.
        const removeAfter = row === undefined ? {} : { removeAfter: this.#comparedId };
        return { append: rest(at), update, moved, ...removeAfter };
      }
      this.#comparedId = row.id;
      const message = this.#inOrder(this.#withStoredTime(given, row));
      const place = { line: message.line ?? null, path: message.path ?? null };
      if (!isEqual(row, message)) update.push({ ...message, id: row.id });
      else if (row.line !== place.line || row.path !== place.path) moved.push({ ...place, id: row.id });
    }
    return { append: [], update, moved };
  }

  /**
   * A message without a time of its own was given one that depends on when its file was last changed. It keeps the one it has, so that
   * a growing file does not move the whole conversation to today.
   */
  #withStoredTime(message: Prepared, row: TranscriptRow): Prepared {
    const versionIn = (parser: unknown): string | undefined => String(parser).split(" ", 1)[0];
    const isOtherReader = versionIn(this.#before?.parser) !== versionIn(this.#deps.parser);
    return message.isTimed || isOtherReader ? message : { ...message, timestamp: row.timestamp };
  }

  #inOrder(message: Prepared): Prepared {
    const timestamp = Math.max(message.timestamp, this.#writtenTime ?? 0);
    if (this.#writtenTime === undefined) this.#firstTime = timestamp;
    this.#writtenTime = timestamp;
    return timestamp === message.timestamp ? message : { ...message, timestamp };
  }

  #session(finish: TranscriptFinish | undefined): TranscriptWrite["session"] {
    const { reader, parser, path } = this.#deps;
    const { nativeId, visibility, parent, continues } = this.#facts;
    const forkedFrom = continues?.how === "fork" ? (continues.session ?? continues.messageId) : undefined;
    const isSubagent = visibility === "subagent";
    const origin: TranscriptOrigin = {
      source: reader.source,
      native_id: nativeId,
      path,
      parser,
      ...withoutUndefined({
        cli_version: this.#facts.cliVersion,
        git_branch: this.#facts.gitBranch,
        provider: this.#facts.provider,
        forked_from: forkedFrom,
        times: this.#isTimeless ? "synthetic" : undefined,
        partial: this.#facts.isPartial,
        first: this.#firstId,
        mark: finish === undefined ? undefined : this.#facts.mark,
        fingerprint: this.#fingerprint(finish !== undefined),
      }),
    };
    const digest = createHash("sha256")
      .update(JSON.stringify([origin, finish]))
      .digest("hex")
      .slice(0, 16);
    return {
      id: this.id,
      source: isSubagent
        ? "subagent"
        : visibility === "hidden"
          ? "tool"
          : (this.#facts.source ?? reader.source),
      // Without a digest the next import writes the end again, in case this one is cut off.
      origin: finish === undefined ? origin : { ...origin, digest },
      delegateFrom: isSubagent && parent !== undefined ? this.idOf(parent) : undefined,
      startedAt: this.#firstTime ?? this.#deps.fileTime,
    };
  }

  #finishing(): TranscriptFinish {
    const facts = this.#facts;
    const { source } = this.#deps.reader;
    const title = facts.title?.trim() || null;
    return {
      title,
      otherTitle: title === null ? null : withSuffix(title, ` (${source} ${facts.nativeId.slice(0, 8)})`),
      model: this.#model ?? facts.model ?? this.#branchModel ?? null,
      cwd: facts.cwd ?? null,
      gitBranch: facts.gitBranch ?? null,
      startedAt: this.#firstTime ?? this.#deps.fileTime,
      endedAt: this.#end() || this.#deps.fileTime,
      branches: [...this.#branches],
      usage: { ...this.#usage, ...withoutUndefined(facts.usage ?? {}) },
    };
  }
}

function isEqual(row: TranscriptRow, message: Prepared): boolean {
  return (
    row.role === message.role &&
    (row.content ?? "") === message.content &&
    row.timestamp === message.timestamp &&
    (row.tool_calls ?? undefined) === message.toolCalls &&
    (row.tool_call_id ?? undefined) === message.toolCallId &&
    (row.tool_name ?? undefined) === message.toolName &&
    (row.finish_reason ?? undefined) === message.finishReason &&
    (row.reasoning ?? undefined) === message.reasoning
  );
}

const MAX_TITLE = 100;

function withSuffix(title: string, suffix: string): string {
  return takeCodePoints(title, MAX_TITLE - codePointLength(suffix)).trimEnd() + suffix;
}
