// A chat id becomes the id of a session and back, and two persons never share a session.
import fc from "fast-check";
import { expect, it } from "vitest";
import { chatIdOf, chatSessionId } from "../../src/memory/chat-id.ts";
import { checkSessionId } from "../../src/sessions/index.ts";

const ANA = { platform: "web", userId: "ana" };
const chatIds = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 8 })
  .filter((text) => text.isWellFormed());

it("goes there and back for every text, as the id of a session that also names a file", () => {
  fc.assert(
    fc.property(chatIds, fc.constantFrom(undefined, ANA), (chatId, user) => {
      const id = chatSessionId(user, chatId);
      expect(checkSessionId(id)).toBe(id);
      expect(id).toMatch(/^[A-Za-z0-9_~%.-]+$/);
      expect(chatIdOf(user, id)).toBe(chatId);
    }),
  );
});

it("is another session for each person, also if one chat id looks like another person's prefix", () => {
  const scope = chatSessionId(ANA, "x").slice("chat.".length, -".x".length);
  const ids = [
    chatSessionId(undefined, "x"),
    chatSessionId(ANA, "x"),
    chatSessionId({ platform: "mail", userId: "ana" }, "x"),
    chatSessionId({ platform: "web", userId: "ben" }, "x"),
    chatSessionId(undefined, `${scope}.x`),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids[0]).toBe("chat.x");
  expect(ids[1]).toMatch(/^chat\.web-[0-9a-f]{20}\.x$/);
});

it("names a session that was not made for a chat by its own id", () => {
  for (const id of ["20260131_094500_1f9a3c", "chat.", "chat.%zz", "chat.a.b", chatSessionId(ANA, "x")])
    expect(chatIdOf(undefined, id)).toBe(id);
  expect(chatIdOf(ANA, "chat.x")).toBe("chat.x");
});

it("is another session for each id, also for one that looks like the hash of another or like a session", () => {
  const letters = fc.string({
    unit: fc.constantFrom("a", "~", "ü", ".", "%", "7"),
    minLength: 1,
    maxLength: 300,
  });
  const seen = new Map<string, string>();
  const add = (chatId: string): string => {
    const id = chatSessionId(ANA, chatId);
    expect(seen.get(id) ?? chatId).toBe(chatId);
    seen.set(id, chatId);
    return id;
  };
  fc.assert(
    fc.property(letters, (chatId) => {
      const id = add(chatId);
      add(id); // a session's id as a chat's id
      add(id.slice(id.lastIndexOf(".") + 1)); // what stands for the chat in it
      add(add(`~${"0".repeat(64)}`));
    }),
  );
});

it("refuses an id that is empty, no text, too long or not well formed", () => {
  for (const bad of ["", "\ud800", "x".repeat(4_097), 7 as unknown as string, null as never])
    expect(() => chatSessionId(undefined, bad)).toThrow(expect.objectContaining({ code: "bad-chat-id" }));
});
