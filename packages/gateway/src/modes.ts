// The two modes of a server, loaded after it has begun to listen: they bring the model SDKs, and the first request is seldom that early.
import type { Modes } from "./answer.ts";
import type { Answer, Gateway } from "./types.ts";

export type LoadedModes = Modes & {
  /** Begins to load them, and with the agent mode the watcher of expired sessions. Never rejects. */
  load(): void;
  /** Interrupts running turns, which store what they have. */
  close(): Promise<void>;
};

type Parts = Modes & { close(): Promise<void> };

export function lazyModes(gateway: Gateway): LoadedModes {
  let parts: Promise<Parts> | undefined;
  const loaded = (): Promise<Parts> => {
    parts ??= open(gateway);
    return parts;
  };
  const answer =
    (mode: keyof Modes): Answer =>
    async (turn) =>
      (await loaded())[mode](turn);
  return {
    agent: answer("agent"),
    proxy: answer("proxy"),
    auxiliary: answer("auxiliary"),
    countTokens: answer("countTokens"),
    load: () =>
      void loaded().catch((cause: unknown) => gateway.log.error("A mode cannot be loaded", { cause })),
    close: async () => {
      if (parts !== undefined) await (await parts).close();
    },
  };
}

async function open(gateway: Gateway): Promise<Parts> {
  const [{ AgentMode }, { createProxyMode }] = await Promise.all([
    import("./agent-mode/agent-mode.ts"),
    import("./proxy/answer-as-proxy.ts"),
  ]);
  const [agent, proxy] = [new AgentMode(gateway), createProxyMode(gateway)];
  return {
    agent: agent.answer,
    proxy: proxy.answer,
    auxiliary: proxy.answerAuxiliary,
    countTokens: proxy.countTokens,
    close: async () => {
      proxy.close();
      await agent.close();
    },
  };
}
