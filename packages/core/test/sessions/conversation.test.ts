// A conversation over several sessions shows nothing twice.
import { describe, expect, it } from "vitest";
import { joinLineage } from "../../src/sessions/conversation.ts";
import { storedRow as row } from "../fakes/stored-row.ts";

const contentsOf = (messages: readonly { readonly content?: unknown }[]) =>
  messages.map(({ content }) => content);

describe("a lineage", () => {
  it("starts at the root and keeps the order of its rows", () => {
    const root = [row({ content: "1" }), row({ role: "assistant", content: "2" })];
    const child = [
      row({ session_id: "s2", content: "3" }),
      row({ session_id: "s2", role: "assistant", content: "4" }),
    ];
    expect(contentsOf(joinLineage([root, child]))).toEqual(["1", "2", "3", "4"]);
  });

  it("shows a copied row once, also a copy of a copy", () => {
    const first = row({ content: "1" });
    const answer = row({ role: "assistant", content: "2" });
    const copies = [
      row({ content: "1", origin_id: first.id }),
      row({ role: "assistant", content: "2", origin_id: answer.id }),
      row({ content: "3" }),
    ];
    const grandchild = [
      row({ content: "1", origin_id: first.id }),
      row({ role: "assistant", content: "2", origin_id: answer.id }),
      row({ content: "4" }),
    ];
    expect(contentsOf(joinLineage([[first, answer], copies, grandchild]))).toEqual(["1", "2", "3", "4"]);
  });

  it("shows the first copy of a row that is not there itself", () => {
    const copy = row({ role: "assistant", content: "kept", origin_id: 9_999 });
    const again = row({ role: "assistant", content: "kept", origin_id: 9_999 });
    expect(contentsOf(joinLineage([[copy], [again]]))).toEqual(["kept"]);
  });

  it("drops a prompt that was repeated before any answer", () => {
    const root = [row({ content: "go on" }), row({ role: "tool", content: "output" })];
    const child = [row({ content: " go on " }), row({ role: "assistant", content: "yes" })];
    expect(contentsOf(joinLineage([root, child]))).toEqual(["go on", "output", "yes"]);
  });

  it("drops it over other prompts and empty answers in between, with structure too", () => {
    const picture = `\u0000json:${JSON.stringify([{ type: "image", url: "x" }])}`;
    const rows = [
      row({ content: picture }),
      row({ content: "other" }),
      row({ role: "assistant", content: "" }),
      row({ role: "assistant", content: null }),
      row({ content: picture }),
    ];
    expect(joinLineage([rows])).toHaveLength(4);
  });

  it.each([
    ["words", { content: "done" }],
    ["a tool call", { content: "", tool_calls: '[{"id":"c"}]' }],
  ])("keeps a prompt that is repeated after an answer with %s", (_, answer) => {
    const rows = [
      row({ content: "again" }),
      row({ role: "assistant", ...answer }),
      row({ content: "again" }),
    ];
    expect(joinLineage([rows])).toHaveLength(3);
  });
});
