import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { updateTextFile } from "../../src/lib/files.ts";
import { err, ok } from "../../src/lib/index.ts";
import { tempHome } from "../config/support.ts";

describe("changing a settings file", () => {
  it("starts again from the new text when another program wrote meanwhile", () => {
    using temp = tempHome();
    temp.writeConfig("a\n");
    let runs = 0;
    const outcome = updateTextFile<number, string>(temp.configFile, {
      unreadable: (failure) => failure.reason,
      change: (text) => {
        runs += 1;
        if (runs === 1) writeFileSync(temp.configFile, "a\nforeign\n");
        return ok({ text: `${text}mine\n`, outcome: runs });
      },
    });
    expect(outcome).toEqual({ ok: true, value: 2 });
    expect(readFileSync(temp.configFile, "utf8")).toBe("a\nforeign\nmine\n");
  });

  it("gives up, with a reason, on a file that never rests", () => {
    using temp = tempHome();
    temp.writeConfig("0");
    let count = 0;
    const restless = () =>
      updateTextFile<null, string>(temp.configFile, {
        unreadable: (failure) => failure.reason,
        change: () => {
          count += 1;
          writeFileSync(temp.configFile, String(count));
          return ok({ text: "mine", outcome: null });
        },
      });
    expect(restless).toThrowError(expect.objectContaining({ code: "file-busy" }));
    expect(temp.readConfig()).toBe(String(count));
  });

  it("writes nothing when the change is refused", () => {
    using temp = tempHome();
    temp.writeConfig("a");
    const refused = updateTextFile<null, string>(temp.configFile, {
      unreadable: (failure) => failure.reason,
      change: () => err("no"),
    });
    expect(refused).toEqual({ ok: false, error: "no" });
    expect(temp.readConfig()).toBe("a");
  });
});
