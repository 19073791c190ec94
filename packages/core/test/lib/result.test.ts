// Outcomes as values, and what can be said about a caught one.
import { describe, expect, it } from "vitest";
import {
  describeCause,
  err,
  errnoCode,
  HermesError,
  ok,
  type Result,
  randomHex,
  sha256,
} from "../../src/lib/index.ts";

describe("an outcome", () => {
  it("carries either a value or an error, never both", () => {
    expect(ok(3)).toEqual({ ok: true, value: 3 });
    expect(err("no")).toEqual({ ok: false, error: "no" });
  });

  it("tells its two sides apart by one look at `ok`", () => {
    const half = (value: number): Result<number, string> => (value % 2 === 0 ? ok(value / 2) : err("odd"));
    expect([half(4), half(3)].map((each) => (each.ok ? each.value : each.error))).toEqual([2, "odd"]);
  });
});

describe("an error of the world", () => {
  it("keeps its code, its hint and what caused it", () => {
    const cause = new Error("underneath");
    const error = new HermesError("db-locked", "Cannot write.", { hint: "Close the other one.", cause });
    expect(error).toMatchObject({
      name: "HermesError",
      code: "db-locked",
      hint: "Close the other one.",
      cause,
    });
    expect(new HermesError("x", "y")).not.toHaveProperty("cause");
  });

  it.each([
    [Object.assign(new Error("x"), { code: "ENOENT" }), "ENOENT"],
    [{ code: 5 }, undefined],
    [new Error("x"), undefined],
    [null, undefined],
    ["ENOENT", undefined],
  ])("is recognised by its system code: %o", (cause, code) => {
    expect(errnoCode(cause)).toBe(code);
  });

  it("is described in one line, whatever was thrown", () => {
    expect(describeCause(new Error("disk gone"))).toBe("disk gone");
    expect(describeCause("plain text")).toBe("plain text");
    expect(describeCause(undefined)).toBe("undefined");
  });
});

describe("identifiers", () => {
  it("are lower-case hex of the length asked for", () => {
    expect(randomHex(4)).toMatch(/^[0-9a-f]{8}$/);
    expect(randomHex(6)).toMatch(/^[0-9a-f]{12}$/);
  });

  it("do not repeat in ten thousand draws of six bytes", () => {
    const drawn = Array.from({ length: 10_000 }, () => randomHex(6));
    expect(new Set(drawn).size).toBe(drawn.length);
  });

  it("of contents are SHA-256, the same for text and its UTF-8 bytes", () => {
    expect(sha256("")).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect(sha256("Grüße")).toBe(sha256(Buffer.from("Grüße", "utf8")));
  });
});
