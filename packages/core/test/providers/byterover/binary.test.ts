import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { BinaryFinder, childEnvironment } from "../../../src/providers/bundled/byterover/brv-client.ts";
import { tempDirectory } from "../../fakes/temp-directory.ts";

describe("the brv binary", () => {
  it("is the first program of that name on PATH", () => {
    const root = tempDirectory();
    const [empty, notProgram, first, second] = ["a", "b", "c", "d"].map((name) => join(root, name)) as [
      string,
      string,
      string,
      string,
    ];
    mkdirSync(empty);
    place(join(notProgram, "brv"), 0o644);
    mkdirSync(join(root, "e", "brv"), { recursive: true });
    place(join(first, "brv"));
    place(join(second, "brv"));
    place(join(root, "home", ".brv-cli", "bin", "brv"));
    const path = [empty, "", ".", notProgram, join(root, "e"), first, second].join(delimiter);
    expect(finder(join(root, "home"), path).find()).toBe(join(first, "brv"));
  });

  it.each([".brv-cli/bin/brv", ".npm-global/bin/brv"])("is found at ~/%s when PATH has none", (place_) => {
    const home = tempDirectory();
    place(join(home, place_));
    expect(finder(home, "").find()).toBe(join(home, place_));
  });

  it("is found where the system keeps programs, before the last place in the user's home", () => {
    const root = tempDirectory();
    const place_ = join(root, "local", "brv");
    place(place_);
    place(join(root, ".npm-global", "bin", "brv"));
    const options = { env: {}, userHome: root, recheckMs: 60_000 };
    expect(new BinaryFinder({ ...options, systemPlaces: [place_] }).find()).toBe(place_);
  });

  it("is looked for again a minute after it was missing, and at once by whoever asks the disk", () => {
    const home = tempDirectory();
    const clock = { ms: Date.UTC(2026, 5, 1) };
    const path = join(home, ".brv-cli", "bin", "brv");
    const binary = finder(home, "", clock);
    expect(binary.find()).toBeUndefined();
    place(path);
    clock.ms += 59_999;
    expect(binary.find()).toBeUndefined();
    clock.ms += 1;
    expect(binary.find()).toBe(path);

    const other = finder(home, "", clock);
    rmSync(path);
    expect(other.find()).toBeUndefined();
    place(path);
    expect(other.look()).toBe(path);
    expect(other.find()).toBe(path);
  });

  it("is remembered until somebody says it is gone", () => {
    const home = tempDirectory();
    const first = join(home, "first", "brv");
    const second = join(home, ".brv-cli", "bin", "brv");
    place(first);
    place(second);
    const binary = finder(home, dirname(first));
    expect(binary.find()).toBe(first);
    rmSync(first);
    expect(binary.find()).toBe(first);
    binary.forget();
    expect(binary.find()).toBe(second);
  });

  it("has its own directory first on the PATH of what it starts", () => {
    const env = { PATH: ["/x", "/y"].join(delimiter), KEEP: "1", GONE: undefined };
    expect(childEnvironment(env, "/bin/of/brv")).toEqual({
      PATH: ["/bin/of/brv", "/x", "/y"].join(delimiter),
      KEEP: "1",
    });
    expect(childEnvironment({ Path: "C:" }, "/b")).toEqual({ Path: `/b${delimiter}C:` });
    expect(childEnvironment({}, "/b")).toEqual({ PATH: "/b" });
  });
});

function finder(userHome: string, path: string, clock = { ms: 0 }): BinaryFinder {
  const now = () => new Date(clock.ms);
  return new BinaryFinder({
    env: { PATH: path },
    systemPlaces: [],
    userHome,
    recheckMs: 60_000,
    clock: { now },
  });
}

function place(path: string, mode = 0o755): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, mode);
}
