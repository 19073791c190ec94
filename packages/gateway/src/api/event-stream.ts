// `/api/events`: what happens in the gateway, as server-sent events. A person sees their own events, an administrator all of them. A
// reader that is too slow loses events and is told how many.
import type { Gateway, GatewayEvent, RouteRequest, UserRef } from "../types.ts";

/** Proxies close connections that are silent for a minute. */
const BEAT_MS = 15_000;
/** Events that wait for a slow reader. */
const MOST_WAITING = 500;

export async function streamEvents(request: RouteRequest, gateway: Gateway): Promise<Response> {
  const { user, profile } = await request.person();
  const { caller, signal } = request;
  const isForAll = caller.kind === "token" && caller.rights.kind === "admin" && user === undefined;
  const isMine = (event: GatewayEvent): boolean =>
    isForAll || (event.profile === profile && isSameUser(event.user, user));
  const encoder = new TextEncoder();
  let stop = (): void => {};
  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let lost = 0;
        const send = (text: string): void => controller.enqueue(encoder.encode(text));
        const stopListening = gateway.events.listen((event) => {
          if (!isMine(event)) return;
          if ((controller.desiredSize ?? 0) <= 0) {
            lost += 1;
            return;
          }
          if (lost > 0) send(eventText({ type: "lost", count: lost }));
          lost = 0;
          send(eventText({ ...event, user: event.user ?? null, profile: event.profile ?? null }));
        });
        const beat = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) send(": beat\n\n");
        }, BEAT_MS);
        beat.unref();
        const end = (): void => {
          stop();
          controller.close();
        };
        stop = () => {
          stopListening();
          clearInterval(beat);
          signal.removeEventListener("abort", end);
          stop = () => {};
        };
        signal.addEventListener("abort", end, { once: true });
        send(": hello\n\n"); // so that fetch resolves at once
      },
      cancel: () => stop(),
    },
    { highWaterMark: MOST_WAITING },
  );
  return new Response(stream, {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" },
  });
}

function isSameUser(one: UserRef | undefined, other: UserRef | undefined): boolean {
  return one?.platform === other?.platform && one?.id === other?.id;
}

function eventText(event: Readonly<Record<string, unknown>>): string {
  return `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`;
}
