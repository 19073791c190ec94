// How an outcome becomes text: render.ts.
import { describe, expect, it } from "vitest";
import { render } from "../../src/cli/render.ts";

const plain = (_style: string, text: string): string => text;
const coloured = (style: string, text: string): string => `\u001b[${style}m${text}\u001b[0m`;

describe("the text of an outcome", () => {
  it("is a sentence, and the fields that the sentence does not say", () => {
    const json = { success: true, message: "memory.limit is now 2000.", key: "memory.limit", value: 2000 };
    expect(render({ ...json, changed: true, path: "/home/config.yaml" }, plain)).toEqual([
      "memory.limit is now 2000.",
      "path  /home/config.yaml",
    ]);
  });

  it("has tables whose heads stand above their columns, in colours too", () => {
    const tokens = [
      { id: "1f9a", name: "a laptop" },
      { id: "2", name: "phone" },
    ];
    expect(render({ tokens }, plain)).toEqual(["id    name", "1f9a  a laptop", "2     phone"]);
    expect(render({ tokens }, coloured)[0]).toBe(coloured("dim", "id    name"));
  });

  it("puts what is too wide, and the sentences of records, below the row", () => {
    const error = "Not reached. ".repeat(9).trim();
    const lanes = [{ name: "mem0", error, last: { message: "Refused.", at: "now" }, waiting: 2 }];
    expect(render({ success: true, lanes }, plain)).toEqual([
      "name  waiting",
      "mem0  2",
      `  error: ${error}`,
      "  last: Refused.",
    ]);
  });

  it("says that there is nothing", () => {
    expect(render({ tokens: [] }, plain)).toEqual(["No tokens."]);
    expect(render([], plain)).toEqual(["Nothing."]);
    expect(render(undefined, plain)).toEqual([]);
  });
});
