// Which messages may be the cause when a provider refuses to read a request.
import type { Message } from "@hermes-memory/core/internal/message";
import { describe, expect, it } from "vitest";
import { suspects, trials } from "../../../src/agent/turn/model-failure.ts";
import { message } from "../../messages.ts";

const refused = { finishReason: "content_policy" };

function said(role: "user" | "assistant", id: string, meta = {}): Message {
  return message({ role, content: id }, { id, ...meta });
}

function ids(messages: readonly Message[]): readonly string[] {
  return messages.map(({ meta }) => meta.id);
}

describe("a refused request is tried", () => {
  it("without the newest reply, which no accepted request has held", () => {
    const list = [said("user", "u1"), said("assistant", "a1"), said("user", "u2")];
    expect(trials(list, "u2").map(ids)).toEqual([["a1"]]);
  });

  it("without the reply, without unanswered messages of earlier turns, and without both", () => {
    const list = [said("assistant", "a1"), said("user", "u2"), said("user", "u3")];
    expect(trials(list, "u3").map(ids)).toEqual([["a1"], ["u2"], ["a1", "u2"]]);
  });

  it("not at all when this turn's message is the only one, or the others are refused already", () => {
    expect(trials([said("user", "u1")], "u1")).toEqual([]);
    expect(trials([said("assistant", "a1", refused), said("user", "u2")], "u2")).toEqual([]);
  });

  it("with the messages that are for the model only", () => {
    const nudge = said("assistant", "nudge", { ephemeral: "empty_recovery" });
    expect(trials([said("assistant", "a1"), said("user", "u2"), nudge], "u2").map(ids)).toEqual([["a1"]]);
  });
});

describe("when no trial was accepted", () => {
  const list = [said("assistant", "a1"), said("user", "u2", refused), said("user", "u3")];

  it("this turn's own messages are left out", () => {
    expect(ids(suspects(list, "u3", true))).toEqual(["u3"]);
  });

  it("everything unread is left out where there were no trials and a message was refused before", () => {
    expect(ids(suspects(list, "u3", false))).toEqual(["a1", "u3"]);
  });
});
