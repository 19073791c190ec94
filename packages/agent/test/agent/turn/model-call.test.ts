import { pyStrip } from "@hermes-memory/core/internal/lib";
import { scrubAnswer } from "@hermes-memory/core/internal/providers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { echoStream, RECALL } from "../../../../core/test/providers/fence/echoes.ts";
import type { AgentEvent } from "../../../src/agent/index.ts";
import { Draft } from "../../../src/agent/turn/model-call.ts";

function draft(recall: string, onText: (text: string) => void): Draft {
  const emit = (event: AgentEvent): void => {
    if (event.type === "text-delta") onText(event.text);
  };
  return new Draft({ events: { emit } } as never, { recall });
}

function told(chunks: readonly string[], recall = ""): { readonly streamed: string; readonly text: string } {
  let streamed = "";
  const reply = draft(recall, (text) => {
    expect(text).not.toBe("");
    streamed += text;
  });
  for (const chunk of chunks) reply.feed(chunk);
  reply.end();
  return { streamed, text: reply.text };
}

describe("the text of a reply", () => {
  it("is what was streamed, whatever the chunks were", () => {
    const piece = fc.constantFrom(
      " ",
      "\n",
      "a",
      "word",
      "<",
      "<memory-context>",
      "</memory-context>",
      "é",
      "\u3000",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const { streamed, text } = told(pieces);
        expect(streamed).toBe(text);
        expect(text).toBe(pyStrip(scrubAnswer(pieces.join(""))));
      }),
    );
  });

  it("holds no recall that the model repeats, in a line or by the line rule, whatever the chunks are", () => {
    fc.assert(
      fc.property(echoStream, ({ text, chunks }) => {
        const cut = told(chunks, RECALL);
        expect(cut.streamed).toBe(cut.text);
        expect(cut.text).toBe(told([text], RECALL).text);
      }),
    );
    const block = "\n<memory-context>\nWhat another program had put there.\n</memory-context>\n";
    expect(told([`Sure: ${RECALL.replaceAll("\n", " ")} Done.${block}Bye.`], RECALL).text).toBe(
      "Sure:  Done.\n\nBye.",
    );
  });

  it("has no blanks around it and keeps those within", () => {
    expect(told(["\n\n", "  one", " ", "\n", "two  ", "\n"]).text).toBe("one \ntwo");
  });

  it("drops a fence that is never closed, and what is behind it", () => {
    expect(told(["before\n<memory-", "context>\nthe recall", " goes on"]).text).toBe("before");
  });

  it("drops a fence that begins in the middle of a line", () => {
    expect(told(["Sure: <memory-", "context>\n- the recall"]).text).toBe("Sure:");
  });

  it("goes on after an end: blanks between two pieces stay", () => {
    let streamed = "";
    const reply = draft("", (text) => {
      streamed += text;
    });
    reply.feed("one ");
    reply.end();
    reply.feed("two");
    reply.end();
    expect(streamed).toBe("one two");
    expect(reply.text).toBe("one two");
  });
});
