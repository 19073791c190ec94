// Measures browsing, listing and scrolling in a full database.
import { openSessionStore, type SessionStore } from "@hermes-memory/core/internal/sessions";
import { progress } from "./progress.ts";
import { type Milliseconds, repeat } from "./timing.ts";

/** A message to scroll around. */
export type Anchor = { readonly sessionId: string; readonly messageId: number };

export type Reads = Readonly<Record<"browse" | "browseTool" | "list" | "scroll", Milliseconds>>;

export async function measureReads(path: string, anchors: readonly Anchor[]): Promise<Reads> {
  await using store = await openSessionStore({ path });
  const browsing = (options: Parameters<SessionStore["listSessionsRich"]>[0]) =>
    repeat(50, () => store.listSessionsRich(options));
  const browse = await browsing({ orderByLastActive: true, limit: 20 });
  // The same call as the search tool without a query.
  const browseTool = await browsing({
    orderByLastActive: true,
    limit: 10,
    excludeSources: ["subagent", "tool"],
  });
  const list = await browsing({});
  // A large prime step visits the anchors in an order that does not profit from caches.
  const scroll = await repeat(200, async (i) => {
    const anchor = anchors[(i * 7_919) % anchors.length];
    if (anchor) await store.getMessagesAround(anchor.sessionId, anchor.messageId, { window: 5 });
  });
  progress("reads measured");
  return { browse, browseTool, list, scroll };
}
