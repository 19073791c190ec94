// A reply of ours on its way to a client, in the words of its wire: of the agent, or of a model that speaks another protocol.
import { shownProblem } from "./problem.ts";
import type { ModelTurn } from "./types.ts";
import type { Reply, ReplyEvent, ReplyStart } from "./wires/wire.ts";

/** A client waits this long for the next byte at most. */
const PING_MS = 15_000;

/** What is known when it has ended. */
export type Said = Omit<Reply, keyof ReplyStart>;

type StreamOptions = {
  /** Asked when the first bytes are sent. */
  readonly start: () => ReplyStart & { readonly headers: Readonly<Record<string, string>> };
  readonly pingMs?: number | undefined;
};

/** Events may be written at any time; they are read once, or never: if the request is refused first, or asks for one body. */
export class ReplyStream {
  readonly #turn: ModelTurn;
  readonly #waiting: ReplyEvent[] = [];
  readonly #begun = Promise.withResolvers<void>();
  #send: ((event: ReplyEvent) => void) | undefined;
  #ping: ReturnType<typeof setTimeout> | undefined;
  #isOver: boolean;

  constructor(turn: ModelTurn) {
    this.#turn = turn;
    this.#isOver = !turn.request.isStream;
  }

  write(event: ReplyEvent): void {
    if (this.#isOver) return;
    if (this.#send === undefined) this.#waiting.push(event);
    else this.#send(event);
    this.#begun.resolve();
  }

  /** Rejects if the turn fails before its first word: then the status is an error's. Later, the stream says it. */
  async response(running: Promise<Said>, { start, pingMs = PING_MS }: StreamOptions): Promise<Response> {
    const { wire, request } = this.#turn;
    if (!request.isStream) {
      const said = await running;
      const { headers, ...begin } = start();
      return Response.json(wire.render({ ...begin, ...said }, request), { headers });
    }
    const silence = setTimeout(() => this.#begun.resolve(), pingMs);
    await Promise.race([this.#begun.promise, running]).finally(() => clearTimeout(silence));
    void running.then(
      ({ toolCalls, finish, usage, metadata }) => {
        for (const { id, name, arguments: given } of toolCalls)
          this.write({ type: "tool-call", id, name, arguments: given });
        this.write({ type: "end", finish, usage, metadata });
      },
      (cause: unknown) => {
        const { identity, gateway } = this.#turn;
        const shown = { isTrusted: identity.user === undefined, log: gateway.log, about: {} };
        this.write({ type: "problem", problem: shownProblem(cause, shown) });
      },
    );
    const { headers, ...begin } = start();
    const writer = wire.writer(begin, request);
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const put = (text: string): void => {
          if (text !== "") controller.enqueue(encoder.encode(text));
        };
        const rest = (): void => {
          clearTimeout(this.#ping);
          if (this.#isOver) return;
          this.#ping = setTimeout(() => {
            put(writer.write({ type: "ping" }));
            rest();
          }, pingMs);
          this.#ping.unref();
        };
        put(writer.open());
        this.#send = (event) => {
          put(writer.write(event));
          if (event.type === "end" || event.type === "problem") {
            this.#isOver = true;
            clearTimeout(this.#ping);
            controller.close();
          } else rest();
        };
        for (const event of this.#waiting.splice(0)) this.#send(event);
        rest();
      },
      cancel: () => {
        this.#isOver = true;
        clearTimeout(this.#ping);
      },
    });
    return new Response(body, {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
        ...headers,
      },
    });
  }
}
