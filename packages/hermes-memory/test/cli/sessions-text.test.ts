import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { linesOf, lineText } from "../../src/cli/sessions/input-lines.ts";
import { sessionTable } from "../../src/cli/sessions/list.ts";
import { progressDisplay } from "../../src/cli/sessions/progress.ts";
import { messageText, originOf, toolCalls } from "../../src/cli/sessions/show.ts";
import {
  absoluteTime,
  cutToWidth,
  displayWidth,
  fitToWidth,
  relativeTime,
} from "../../src/cli/text-layout.ts";
import { listed } from "./sessions-rows.ts";

const NOW = new Date("2026-03-10T12:00:00");
const SECONDS = NOW.getTime() / 1000;
const DAY = 86_400;

describe("a time ago", () => {
  it.each([
    [0, "just now"],
    [59, "just now"],
    [-600, "just now"],
    [60, "1m ago"],
    [3599, "59m ago"],
    [3600, "1h ago"],
    [DAY - 1, "23h ago"],
    [DAY, "yesterday"],
    [2 * DAY - 1, "yesterday"],
    [2 * DAY, "2d ago"],
    [7 * DAY - 1, "6d ago"],
    [7 * DAY, "2026-03-03"],
  ])("of %d seconds is '%s'", (age, expected) => {
    expect(relativeTime(SECONDS - age, NOW)).toBe(expected);
  });

  it.each([null, undefined, 0, Number.NaN, 1e300])("that is %s is unknown", (seconds) => {
    expect(relativeTime(seconds, NOW)).toBe("?");
    expect(absoluteTime(seconds)).toBe("?");
  });
});

describe("columns of a text", () => {
  it.each([
    ["crane", 5],
    ["记忆", 4],
    ["ｶﾅ", 2],
    ["e\u0301", 1],
    ["👩‍👩‍👧", 2],
    ["한글", 4],
    ["", 0],
  ])("of '%s' are %d", (text, columns) => {
    expect(displayWidth(text)).toBe(columns);
  });

  it("are never more than asked for, and fitting gives exactly that many", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 0, max: 40 }), (text, columns) => {
        expect(displayWidth(cutToWidth(text, columns))).toBeLessThanOrEqual(columns);
        expect(displayWidth(fitToWidth(text, columns))).toBe(columns);
        if (displayWidth(text) <= columns) expect(cutToWidth(text, columns)).toBe(columns === 0 ? "" : text);
      }),
    );
  });
});

describe("lines of a stream", () => {
  const collect = async (
    chunks: readonly Uint8Array[],
    maxBytes?: number,
  ): Promise<(string | undefined)[]> => {
    const lines: (string | undefined)[] = [];
    const stream = (async function* () {
      yield* chunks;
    })();
    for await (const line of linesOf(stream, maxBytes)) lines.push(lineText(line));
    return lines;
  };

  it("are the same however the bytes are cut into pieces", async () => {
    const text = fc.array(fc.string({ unit: "grapheme" }).map((each) => each.replaceAll(/[\r\n]/g, "")));
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        async (lines, sizes) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const chunks: Uint8Array[] = [];
          for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
            const size = sizes[turn % sizes.length] ?? 1;
            chunks.push(bytes.subarray(start, start + size));
            start += size;
          }
          expect(await collect(chunks)).toEqual(lines);
        },
      ),
    );
  });

  it("need no end at the end, and may end in CR LF", async () => {
    expect(await collect([Buffer.from("a\r\n\nb")])).toEqual(["a", "", "b"]);
  });

  it("that are no UTF-8 have no text, and neither has one that is too long, after which the reading ends", async () => {
    expect(await collect([Buffer.from([0x61, 0xe9, 0x0a])])).toEqual([undefined]);
    expect(await collect([Buffer.from("a\n"), Buffer.alloc(50, 0x62), Buffer.from("\nb")], 40)).toEqual([
      "a",
      undefined,
    ]);
  });
});

describe("progress", () => {
  const play = (noteColumns: number | undefined, times: readonly number[], isVerbose = false): string => {
    let text = "";
    let time = 0;
    const note = (each: string): void => {
      text += each;
    };
    const display = progressDisplay({ noteColumns, note }, { isVerbose, now: () => time });
    for (const [index, at] of times.entries()) {
      time = at;
      display.show({ step: "indexing", done: index + 1, total: 4 });
    }
    display.clear();
    return text;
  };

  it("stays quiet for the first half second, then shows a line and takes it away", () => {
    expect(play(80, [0, 100, 499])).toBe("");
    expect(play(80, [100, 600])).toBe("\rindexing  2 of 4 (50 %)\u001b[K\r\u001b[K");
  });

  it("draws no more than ten times a second", () => {
    expect(play(80, [600, 650, 690, 701]).match(/indexing/g)).toHaveLength(2);
  });

  it("is a line every few seconds without a terminal, and only with --verbose", () => {
    expect(play(undefined, [0, 3000, 9000])).toBe("");
    expect(play(undefined, [0, 3000, 3500, 9000], true)).toBe(
      "indexing  2 of 4 (50 %)\nindexing  4 of 4 (100 %)\n",
    );
  });
});

describe("the table of sessions", () => {
  const paint = (_style: string, text: string): string => text;

  it("has titles when there is one, and ids last", () => {
    const titled = listed({ id: "x1", title: "Crane", preview: "blue", last_active: SECONDS - 60 });
    const plain = listed({ id: "x2", preview: "green", source: "telegram", last_active: SECONDS - 60 });
    expect(sessionTable([titled, plain], NOW, paint)[0]).toMatch(/^title +preview +last active +source +id$/);
    expect(sessionTable([plain], NOW, paint)).toEqual([
      expect.stringMatching(/^preview +last active +source +id$/),
      expect.stringMatching(/^green +1m ago +telegram +x2$/),
    ]);
  });

  it("keeps its columns straight under wide characters", () => {
    const rows = [listed({ id: "x1", title: "记".repeat(40) }), listed({ id: "x2", title: "c".repeat(40) })];
    const [, wide = "", plain = ""] = sessionTable(rows, NOW, paint);
    expect(displayWidth(wide)).toBe(displayWidth(plain));
    expect(displayWidth(wide.slice(0, wide.indexOf("…") + 1))).toBeLessThanOrEqual(30);
  });
});

describe("stored content", () => {
  it.each<[unknown, string]>([
    ["plain", "plain"],
    [null, ""],
    [
      [{ type: "text", text: "a" }, { type: "image_url", image_url: { url: "data:" } }, "b"],
      "a\n[image_url]\nb",
    ],
    [{ text: "only" }, "only"],
    [{ odd: 1 }, '{"odd":1}'],
    [12, "12"],
  ])("%j is shown as %j", (content, text) => {
    expect(messageText(content)).toBe(text);
  });

  it("names each tool call with its arguments", () => {
    const calls = [
      { id: "1", function: { name: "terminal", arguments: '{"command":"ls"}' } },
      { name: "read", arguments: { path: "a" } },
      { odd: true },
    ];
    expect(toolCalls(calls)).toEqual(['terminal({"command":"ls"})', 'read({"path":"a"})', '{"odd":true}']);
    expect(toolCalls(null)).toEqual([]);
  });
});

describe("where a session comes from", () => {
  const row = (model_config: string | null, parent_session_id: string | null) => ({
    model_config,
    parent_session_id,
  });

  it.each([
    [row(null, null), null],
    [row(null, "p"), "child of p"],
    [row('{"_branched_from":"b"}', "p"), "branch of p"],
    [row('{"_branched_from":"b"}', null), "branch of b"],
    [row('{"_compressed_from":"c"}', "c"), "continues c"],
    [row('{"_delegate_from":"d"}', null), "delegate run of d"],
    [row('{"_delegate_from":"__orphaned__"}', null), "a delegate run whose parent is gone"],
    [row("{broken", "p"), "child of p"],
  ])("%j: %s", (session, expected) => {
    expect(originOf(session, null)).toBe(expected);
  });

  it("without a mark, the end of the parent tells", () => {
    const link = (isContinuedHere: boolean, endReason: string | null) => ({ isContinuedHere, endReason });
    expect(originOf(row(null, "p"), link(true, "compression"))).toBe("continues p");
    expect(originOf(row(null, "p"), link(false, "branched"))).toBe("branch of p");
    expect(originOf(row(null, "p"), link(false, "compression"))).toBe("child of p");
  });
});
