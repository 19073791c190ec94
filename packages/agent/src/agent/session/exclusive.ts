// One thing at a time works on a conversation: a turn, a compaction, a change of session or model.
import { HermesError } from "@hermes-memory/core/lib";

export class Exclusive {
  #current: { readonly what: string; readonly end: Promise<void> } | undefined;

  /** Of what runs now; undefined when nothing does. Never rejects. */
  get end(): Promise<void> | undefined {
    return this.#current?.end;
  }

  /** Rejects with `agent-busy` when something else runs. */
  async run<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (this.#current !== undefined) throw busy(this.#current.what, what);
    const { promise: end, resolve } = Promise.withResolvers<void>();
    this.#current = { what, end };
    try {
      return await work();
    } finally {
      this.#current = undefined;
      resolve();
    }
  }
}

const BUSY_WITH: Readonly<Record<string, { readonly now: string; readonly hint: string }>> = {
  run: {
    now: "A turn is running",
    hint: "Await the running turn, call interrupt(), or hand the text to steer().",
  },
  compress: {
    now: "The conversation is being compacted",
    hint: "Await the compaction, or call interrupt().",
  },
};

function busy(running: string, wanted: string): HermesError {
  const { now, hint } = BUSY_WITH[running] ?? {
    now: `'${running}' is not done yet`,
    hint: "Await it first.",
  };
  return new HermesError("agent-busy", `${now}, so '${wanted}' has to wait.`, { hint });
}
