import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { type AccessLine, accessLogPath, openAccessLog } from "../src/access-log.ts";

const LINE: AccessLine = {
  time: "2026-11-17T10:00:00.000Z",
  id: "req_1",
  method: "POST",
  route: "/v1/chat/completions",
  status: 200,
  ms: 12,
};

describe("the access log", () => {
  it("writes one JSON line per request into a file that only the owner reads", () => {
    const path = accessLogPath(tempDirectory());
    const log = openAccessLog(path);
    log.write(LINE);
    log.write({ ...LINE, id: "req_2", client: undefined });
    expect(existsSync(path)).toBe(false);
    log.flush();
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([LINE, { ...LINE, id: "req_2" }]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("renames a file that would become too large", () => {
    const path = accessLogPath(tempDirectory());
    const log = openAccessLog(path, { maxBytes: 300 });
    for (const id of ["req_1", "req_2", "req_3"]) {
      log.write({ ...LINE, id });
      log.flush();
    }
    expect(readFileSync(`${path}.1`, "utf8")).toContain("req_1");
    expect(readFileSync(path, "utf8")).toContain("req_3");
    expect(statSync(path).size).toBeLessThanOrEqual(300);
  });

  it("counts the lines when the log's place is taken by a file", () => {
    const log = openAccessLog(join(new URL(import.meta.url).pathname, "gateway-access.log"));
    log.write(LINE);
    log.write(LINE);
    log.flush();
    expect(log.dropped).toBe(2);
  });
});
