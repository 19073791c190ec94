// What the steps of the tour share: the home, the server, what earlier steps found out, and somebody who tells it.
import type { AgentOptions } from "@hermes-memory/agent/agent";
import type { CacheSavings, Usage } from "@hermes-memory/agent/models";
import { configure } from "./home.ts";
import { isReview, MODELS } from "./script.ts";
import type { ScriptedServer, ServedRequest } from "./server.ts";
import { Stage } from "./stage.ts";
import { type Shown, type Step, type StepName, takeStep } from "./step.ts";

export interface Narrator {
  session(number: number, about: string): void;
  said(who: "you" | "model", text: string): void;
  step(step: Step): void;
}

export type SceneOptions = {
  readonly home: string;
  readonly server: ScriptedServer;
  readonly signal: AbortSignal;
  readonly narrator: Narrator;
  readonly agent?: Partial<AgentOptions> | undefined;
};

/** What later steps go by. Absent where the step that finds it out failed. */
export type Known = {
  firstSession?: string;
  firstPrompt?: string;
  entry?: string;
  reviewChange?: string;
};

/** What a session used, as its agent counted it. */
export type Spent = {
  readonly session: number;
  readonly calls: readonly Usage[];
  readonly costUsd: number | null;
  readonly savings: CacheSavings | null;
};

export class Scene {
  readonly home: string;
  readonly server: ScriptedServer;
  readonly steps: Step[] = [];
  readonly known: Known = {};
  readonly spent: Spent[] = [];
  readonly #options: SceneOptions;

  constructor(options: SceneOptions) {
    this.home = options.home;
    this.server = options.server;
    this.#options = options;
  }

  /** Requests of conversations, without those of reviews, titles and summaries. */
  get conversation(): readonly ServedRequest[] {
    return this.server.requests.filter((request) => request.model === MODELS.chat && !isReview(request));
  }

  get reviews(): readonly ServedRequest[] {
    return this.server.requests.filter((request) => request.model === MODELS.chat && isReview(request));
  }

  async step(name: StepName, show: () => Promise<Shown>): Promise<void> {
    const step = await takeStep(name, show, this.#options.signal);
    this.steps.push(step);
    this.#options.narrator.step(step);
  }

  /** An agent that cannot be made is a failed step too. */
  async session(
    number: number,
    setting: { readonly kind: "long" | "small"; readonly about: string },
    play: (stage: Stage) => Promise<void>,
  ): Promise<void> {
    const { home, signal, agent, narrator } = this.#options;
    signal.throwIfAborted();
    narrator.session(number, setting.about);
    try {
      await configure(home, this.server.url, setting.kind);
      const said = (who: "you" | "model", text: string): void => narrator.said(who, text);
      await using stage = await Stage.open({ home, signal, agent, said });
      await play(stage);
      const { savings, cost_usd: costUsd } = await stage.agent.status();
      const calls = stage.all("usage").map(({ usage }) => usage);
      this.spent.push({ session: number, calls, costUsd, savings });
    } catch (cause) {
      signal.throwIfAborted();
      const name = { id: "session", session: number, layer: "session", title: "The session does not run." };
      await this.step(name, () => Promise.reject(cause));
    }
  }
}
