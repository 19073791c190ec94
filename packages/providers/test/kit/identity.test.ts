import { expect, it } from "vitest";
import { laneUser, remoteUser, userOfLane } from "../../src/kit/networked/identity.ts";

const USERS = [
  { platform: "telegram", user_id: "42" },
  { platform: "telegram:42", user_id: "x" },
  { platform: "telegram", user_id: "42:x" },
  { platform: "telegram%3A42", user_id: "x" },
  { platform: "100%", user_id: "%25:%3A" },
  { platform: "%25", user_id: "a" },
  { platform: "%", user_id: "a" },
  { platform: "", user_id: "a" },
] as const;

it("ordinary users keep the text platform:id", () => {
  expect(laneUser({ platform: "telegram", user_id: "42" })).toBe("telegram:42");
  expect(remoteUser({ platform: "matrix", user_id: "@ann:example.org" }, "platform")).toBe(
    "matrix:@ann:example.org",
  );
  expect(laneUser({ user_id: "7" })).toBe("cli:7");
});

it("two users never have one text", () => {
  expect(new Set(USERS.map(laneUser)).size).toBe(USERS.length);
  expect(new Set(USERS.map((user) => remoteUser(user, "platform"))).size).toBe(USERS.length);
});

it("a lane names its user again", () => {
  for (const { platform, user_id } of USERS)
    expect(userOfLane(laneUser({ platform, user_id }))).toEqual({ platform, id: user_id });
  expect(["", "telegram", "telegram:"].map(userOfLane)).toEqual([undefined, undefined, undefined]);
});
