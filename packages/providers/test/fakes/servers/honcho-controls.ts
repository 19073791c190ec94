// A fake Honcho as a test sees it: what it holds, what can be set, and the state that its calls share.
import type { IncomingHttpHeaders } from "node:http";
import { type FakeReply, FakeServer } from "./fake-server.ts";
import {
  type Conclusion,
  type Flags,
  type Message,
  type NewConclusion,
  type NewMessage,
  Workspace,
} from "./honcho-store.ts";

export type HonchoQuestion = {
  readonly workspace: string;
  /** Undefined when the workspace is asked. */
  readonly peer: string | undefined;
  readonly target: string | undefined;
  readonly session: string | undefined;
  readonly query: string;
  readonly level: string | undefined;
};

export abstract class HonchoControls extends FakeServer {
  /** The answer of every chat. By default the representation of the target, null when it is empty. */
  chatAnswer: string | null | ((question: HonchoQuestion) => string | null) | undefined;
  /** What the server concludes from a message about its author, stored for each observer. By default nothing. */
  derive: ((message: Message) => readonly string[]) | undefined;
  /** Work in the background (conclusions from messages, deletion of a session) waits for `settle`. */
  settleByHand = false;
  /** False: a server with an older API, which answers 404 on every `/v3` path. */
  speaksV3 = true;
  protected readonly workspaces = new Map<string, Workspace>();
  protected readonly pending: (() => void)[] = [];
  protected done = 0;
  #lastNumber = 0;

  // ---- For tests

  settle(): void {
    for (const work of this.pending.splice(0)) {
      work();
      this.done += 1;
    }
  }

  stored(): unknown {
    return Object.fromEntries([...this.workspaces].map(([id, workspace]) => [id, workspace.stored()]));
  }

  messagesOf(workspace: string, session: string): readonly Message[] {
    return this.workspaces.get(workspace)?.sessions.get(session)?.messages ?? [];
  }

  sessionsOf(workspace: string): readonly string[] {
    return [...(this.workspaces.get(workspace)?.sessions.keys() ?? [])];
  }

  peersOf(workspace: string): readonly string[] {
    return [...(this.workspaces.get(workspace)?.peers.keys() ?? [])];
  }

  flagsOf(workspace: string, session: string, peer: string): Flags | undefined {
    return this.workspaces.get(workspace)?.sessions.get(session)?.members.get(peer);
  }

  cardOf(workspace: string, observer: string, target = observer): readonly string[] | null {
    return this.workspaces.get(workspace)?.cardOf(observer, target) ?? null;
  }

  conclusionsOf(workspace: string, observer: string, observed: string): readonly Conclusion[] {
    return this.workspaces.get(workspace)?.conclusionsOf(observer, observed) ?? [];
  }

  addPeer(workspace: string, peer: string): void {
    this.ensure(workspace).ensurePeer(peer);
  }

  /** Makes the peer a member of the session, with these flags. */
  join(workspace: string, session: string, peer: string, flags: Partial<Flags> = {}): void {
    const home = this.ensure(workspace);
    home.join(home.ensureSession(session), peer, flags);
  }

  addMessage(workspace: string, session: string, message: NewMessage): Message {
    return this.ensure(workspace).addMessage(session, message);
  }

  /** Creates its peers and its session. */
  addConclusion(workspace: string, conclusion: NewConclusion): Conclusion {
    const home = this.ensure(workspace);
    for (const peer of [conclusion.observer_id, conclusion.observed_id]) home.ensurePeer(peer);
    if (conclusion.session_id) home.ensureSession(conclusion.session_id);
    return home.addConclusion(conclusion);
  }

  setCard(workspace: string, observer: string, target: string, facts: readonly string[]): void {
    const home = this.ensure(workspace);
    for (const peer of [observer, target]) home.ensurePeer(peer);
    home.setCard(observer, target, facts);
  }

  setSummary(workspace: string, session: string, text: string): void {
    this.ensure(workspace).ensureSession(session).summary = text;
  }

  // ---- Server

  protected override isAuthorised(headers: IncomingHttpHeaders, token: string, path: string): boolean {
    return path === "/health" || headers.authorization === `Bearer ${token}`;
  }

  protected override refusal(): FakeReply {
    return { status: 401, body: { detail: "Invalid JWT" } };
  }

  protected ensure(id: string): Workspace {
    const known = this.workspaces.get(id);
    if (known !== undefined) return known;
    const workspace = new Workspace(id, () => {
      this.#lastNumber += 1;
      return this.#lastNumber;
    });
    this.workspaces.set(id, workspace);
    return workspace;
  }

  protected later(work: () => void): void {
    this.pending.push(work);
    if (!this.settleByHand) this.settle();
  }
}
