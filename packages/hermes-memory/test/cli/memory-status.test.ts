import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { localTime, oneLine, printable } from "../../src/cli/printing.ts";

describe("text for the terminal", () => {
  const commands = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

  it("holds no control character, whatever was stored", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.nat(0x2070).map((code) => String.fromCharCode(code)) }), (text) => {
        expect(printable(text)).not.toMatch(commands);
        expect(oneLine(text)).not.toMatch(/[\n\r]/);
      }),
    );
  });

  it("leaves ordinary text unchanged", () => {
    const text = "naïve 👩‍👩‍👧 שלום\n\ttabbed § 100%";
    expect(printable(text)).toBe(text);
    expect(printable("\u001b[2J\u202e")).toBe("\\x1b[2J\\u202e");
  });

  it("cuts a preview by code points", () => {
    expect(oneLine(`${"🙂".repeat(60)}`)).toBe("🙂".repeat(60));
    expect(oneLine(`${"🙂".repeat(61)}`)).toBe(`${"🙂".repeat(60)}...`);
  });

  it("shows a time that cannot be parsed unchanged", () => {
    expect(localTime("yesterday")).toBe("yesterday");
    expect(localTime(new Date(2026, 10, 15, 4, 2).toISOString())).toBe("2026-11-15 04:02");
  });
});
