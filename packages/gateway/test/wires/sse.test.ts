// The bytes of server-sent events: every split gives the same events, and no byte is lost.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type SseEvent, SseEvents } from "../../src/wires/sse.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (events: readonly SseEvent[]): string =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(events.map((event) => event.bytes)));

function read(chunks: readonly Uint8Array[], mostBytes?: number): SseEvent[] {
  const parser = new SseEvents(mostBytes === undefined ? {} : { mostBytes });
  const events = chunks.flatMap((chunk) => parser.push(chunk));
  const last = parser.end();
  return last === undefined ? events : [...events, last];
}

const said = (events: readonly SseEvent[]) =>
  events.filter(({ data }) => data !== undefined).map(({ name, data }) => [name, data]);

describe("a stream of events", () => {
  it.each([
    ["line feeds", "event: a\ndata: 1\n\ndata: 2\n\n"],
    ["carriage returns with line feeds", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n"],
    ["carriage returns", "event: a\rdata: 1\r\rdata: 2\r\r"],
    ["a byte order mark", "\ufeffevent: a\ndata: 1\n\ndata: 2\n\n"],
    ["comments and unknown fields", ": hi\n\nid: 7\nevent: a\n: more\nretry: 5\ndata: 1\n\ndata:2\n\n"],
    ["no blank line at the end", "event: a\ndata: 1\n\ndata: 2"],
    ["empty lines in between", "\n\nevent: a\ndata: 1\n\n\n\ndata: 2\n\n"],
  ])("with %s has two events", (_, stream) => {
    const events = read([bytes(stream)]);
    expect(said(events)).toEqual([
      ["a", "1"],
      ["", "2"],
    ]);
    expect(text(events)).toBe(stream);
  });

  it("joins lines of data", () => {
    expect(said(read([bytes("data: {\ndata:  1\ndata\ndata: }\n\n")]))).toEqual([["", "{\n 1\n\n}"]]);
  });

  it("gives out an event as soon as its blank line is there", () => {
    const parser = new SseEvents();
    expect(parser.push(bytes("data: 1\r\n\r"))).toHaveLength(1);
    expect(said(parser.push(bytes("\ndata: 2\r\n\r\n")))).toEqual([["", "2"]]);
    expect(parser.end()).toBeUndefined();
  });

  it("passes an event that is too long on without reading it", () => {
    const stream = `data: ${"x".repeat(100)}\n\ndata: 2\n\n`;
    const chunks = [...bytes(stream)].map((byte) => Uint8Array.of(byte));
    const events = read(chunks, 20);
    expect(said(events)).toEqual([["", "2"]]);
    expect(text(events)).toBe(stream);
  });

  it("is the same for every split of its bytes", () => {
    const line = fc.oneof(
      fc.constantFrom(
        "",
        "data: 1",
        'data: {"a":"ü€😀"}',
        "data",
        "event: x",
        ": c",
        "id: 1",
        "\ufeffdata: 3",
      ),
      fc.string({ unit: "grapheme", maxLength: 8 }),
    );
    const stream = fc
      .array(fc.tuple(line, fc.constantFrom("\n", "\r", "\r\n")), { maxLength: 20 })
      .map((lines) => lines.map((pair) => pair.join("")).join(""));
    fc.assert(
      fc.property(stream, fc.array(fc.nat()), (given, cuts) => {
        const all = bytes(given);
        const whole = read([all]);
        const places = [0, ...cuts.map((cut) => cut % (all.length + 1)), all.length].sort((a, b) => a - b);
        const pieces = places.slice(1).map((end, index) => all.slice(places[index], end));
        const split = read(pieces);
        expect(said(split)).toEqual(said(whole));
        expect(Buffer.concat(split.map((event) => event.bytes))).toEqual(Buffer.from(all));
      }),
    );
  });
});
