// Erasing at Honcho: conclusions and card lines can be deleted one by one, messages only with their whole session.
import type { ForgetReport } from "@hermes-memory/core/internal/providers";
import { reportOf as reported } from "../kit/networked/erasing.ts";
import type { Peers } from "./session.ts";
import type { HonchoWire, View } from "./wire.ts";

/** Whose memory is erased. */
export type Subject = {
  readonly peers: Peers;
  /** False: other users talk to the same agent peer, so what it thinks of itself is not this user's. */
  readonly hasOwnAgent: boolean;
};

/** Everything that these two peers think of each other and of themselves. */
export function viewsOf({ peers: { user, ai }, hasOwnAgent }: Subject): readonly View[] {
  return [
    { observer: ai, target: user },
    { observer: user, target: user },
    { observer: user, target: ai },
    ...(hasOwnAgent ? [{ observer: ai, target: ai }] : []),
  ];
}

// ---- One text ----

export async function forgetText(
  wire: HonchoWire,
  subject: Subject,
  {
    text,
    isDryRun,
    signal,
  }: { readonly text: string; readonly isDryRun: boolean; readonly signal: AbortSignal },
): Promise<ForgetReport> {
  let erased = 0;
  for (const view of viewsOf(subject)) {
    for (const { id, content } of await wire.conclusions(view, signal)) {
      if (!content.includes(text)) continue;
      erased += 1;
      if (!isDryRun) await wire.deleteConclusion(id, signal);
    }
    const card = await wire.card(view, signal);
    const kept = card.filter((fact) => !fact.includes(text));
    erased += card.length - kept.length;
    if (!isDryRun && kept.length < card.length) await wire.setCard(view, kept, signal);
  }
  const holding = await sessionsWith(wire, subject.peers, text, signal);
  return reported(erased, [holding.length > 0 && remainingIn(holding)]);
}

async function sessionsWith(
  wire: HonchoWire,
  { user }: Peers,
  text: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const holding: string[] = [];
  for (const session of await wire.sessionsOf(user, signal)) {
    const messages = await wire.newestMessages(session, Number.POSITIVE_INFINITY, signal);
    const { summary } = await wire.sessionContext(session, {}, signal);
    if (summary.includes(text) || messages.some(({ content }) => content.includes(text)))
      holding.push(session);
  }
  return holding;
}

function remainingIn(sessions: readonly string[]): string {
  return `Messages or summaries of ${sessions.length === 1 ? "one Honcho session hold" : `${sessions.length} Honcho sessions hold`} it: ${someOf(sessions)}. Honcho deletes messages only with their whole session, at its dashboard or with 'DELETE /v3/workspaces/{workspace}/sessions/{session}'.`;
}

// ---- Everything of a user ----

type Found = {
  readonly conclusions: readonly string[];
  readonly cards: readonly { readonly view: View; readonly facts: number }[];
  /** Sessions in which only this user and the agent take part. */
  readonly sessions: readonly { readonly id: string; readonly messages: number }[];
  /** Sessions with others. */
  readonly shared: readonly string[];
};

export async function eraseEverything(
  wire: HonchoWire,
  subject: Subject,
  { isDryRun, signal }: { readonly isDryRun: boolean; readonly signal: AbortSignal },
): Promise<ForgetReport> {
  const found = await findAll(wire, subject, signal);
  if (isDryRun) return reportOf(found, subject);
  for (const id of found.conclusions) await wire.deleteConclusion(id, signal);
  for (const { view } of found.cards) await wire.setCard(view, [], signal);
  for (const { id } of found.sessions) await wire.deleteSession(id, signal);
  return reportOf(found, subject);
}

async function findAll(wire: HonchoWire, subject: Subject, signal: AbortSignal): Promise<Found> {
  const { peers } = subject;
  const conclusions: string[] = [];
  const cards: { view: View; facts: number }[] = [];
  for (const view of viewsOf(subject)) {
    conclusions.push(...(await wire.conclusions(view, signal)).map(({ id }) => id));
    const facts = (await wire.card(view, signal)).length;
    if (facts > 0) cards.push({ view, facts });
  }
  const sessions: { id: string; messages: number }[] = [];
  const shared: string[] = [];
  for (const id of await wire.sessionsOf(peers.user, signal)) {
    const others = (await wire.peersIn(id, signal)).filter(
      (peer) => peer !== peers.user && peer !== peers.ai,
    );
    if (others.length > 0) shared.push(id);
    else sessions.push({ id, messages: await wire.countMessages(id, signal) });
  }
  return { conclusions, cards, sessions, shared };
}

function reportOf(
  { conclusions, cards, sessions, shared }: Found,
  { peers: { user, ai }, hasOwnAgent }: Subject,
): ForgetReport {
  const facts = cards.reduce((sum, card) => sum + card.facts, 0);
  const messages = sessions.reduce((sum, session) => sum + session.messages, 0);
  const erased = conclusions.length + facts + messages;
  return reported(erased, [
    shared.length > 0 &&
      `Honcho sessions that have other members stay: ${someOf(shared)}. Delete them at Honcho's dashboard.`,
    // A peer's name is made of the user's platform and id.
    erased + sessions.length > 0 &&
      `Honcho cannot delete peers: ${hasOwnAgent ? `'${user}' and '${ai}' stay there as empty names` : `'${user}' stays there as an empty name`}.`,
  ]);
}

function someOf(sessions: readonly string[]): string {
  const more = sessions.length > 5 ? ` and ${sessions.length - 5} more` : "";
  return `${sessions.slice(0, 5).join(", ")}${more}`;
}
