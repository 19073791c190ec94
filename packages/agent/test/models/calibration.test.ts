import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { calibrationPath } from "../../src/models/index.ts";
import { afterCount, afterOverflow, TokenCalibration, UNCALIBRATED } from "../../src/models/usage.ts";

const KEY = { model: "test-model", provider: "custom", baseUrl: "http://127.0.0.1:8080/v1" };

describe("the calibration factor", () => {
  it("is 1 until a server has counted", () => {
    expect(UNCALIBRATED.factor).toBe(1);
    expect(TokenCalibration.open(tempDirectory(), KEY).tokens(1_000)).toBe(1_000);
  });

  it("takes the first count whole, and smooths later ones", () => {
    const first = afterCount(UNCALIBRATED, 1_000, 2_000);
    expect(first.factor).toBe(2);
    const up = afterCount(first, 1_000, 3_000).factor;
    expect(up).toBeGreaterThan(2.5);
    expect(up).toBeLessThan(3);
    const down = afterCount(first, 1_000, 1_000).factor;
    expect(down).toBeLessThan(2);
    expect(down).toBeGreaterThan(1.5);
  });

  it("stays between 1 and 4", () => {
    expect(afterCount(UNCALIBRATED, 1_000, 200).factor).toBe(1);
    expect(afterCount(UNCALIBRATED, 1_000, 9_000).factor).toBe(4);
    expect(afterOverflow(UNCALIBRATED, 1_000, 9_000).factor).toBe(4);
  });

  it.each([0, -5, Number.NaN, Number.POSITIVE_INFINITY])("ignores a server that reports %s", (counted) => {
    expect(afterCount(UNCALIBRATED, 1_000, counted)).toBe(UNCALIBRATED);
    expect(afterCount(UNCALIBRATED, 0, 1_000)).toBe(UNCALIBRATED);
  });

  it("follows the number of an overflow error at once and never falls by one", () => {
    const known = afterCount(UNCALIBRATED, 1_000, 1_200);
    expect(afterOverflow(known, 1_000, 2_500).factor).toBe(2.5);
    expect(afterOverflow(known, 1_000, 1_000).factor).toBe(1.2);
  });

  it("rises step by step, and to 4 at most, when errors state no number", () => {
    const factors: number[] = [];
    let state = UNCALIBRATED;
    for (let step = 0; step < 5; step += 1) {
      state = afterOverflow(state, 1_000, undefined);
      factors.push(state.factor);
    }
    expect(factors).toEqual([1.5, 2.25, 3.375, 4, 4]);
  });
});

describe("the calibration file", () => {
  it("keeps a factor per model and address for the next start, for this user alone", () => {
    const home = tempDirectory();
    TokenCalibration.open(home, KEY).observe(1_000, 2_500);
    expect(statSync(calibrationPath(home)).mode & 0o777).toBe(0o600);
    expect(TokenCalibration.open(home, KEY).factor).toBe(2.5);
    expect(TokenCalibration.open(home, { ...KEY, baseUrl: "" }).factor).toBe(1);
    expect(TokenCalibration.open(home, { ...KEY, model: "other" }).factor).toBe(1);
  });

  it("holds neither password nor key of an address", () => {
    const home = tempDirectory();
    const word = ["let", "me", "in"].join("");
    const baseUrl = `http://user:${word}@127.0.0.1:8080/v1?key=${word}`;
    TokenCalibration.open(home, { ...KEY, baseUrl }).observe(1_000, 2_500);
    expect(readFileSync(calibrationPath(home), "utf8")).not.toContain(word);
    expect(TokenCalibration.open(home, { ...KEY, baseUrl }).factor).toBe(2.5);
  });

  it.each([
    "",
    "{",
    "[]",
    '{"models": 3}',
    '{"models": {"test-model@http://127.0.0.1:8080/v1": {"factor": "x"}}}',
  ])("starts afresh from a damaged file: %s", (text) => {
    const home = tempDirectory();
    writeFileSync(calibrationPath(home), text);
    const calibration = TokenCalibration.open(home, KEY);
    expect(calibration.factor).toBe(1);
    calibration.observe(1_000, 2_000);
    expect(TokenCalibration.open(home, KEY).factor).toBe(2);
  });

  it("keeps entries of other processes", () => {
    const home = tempDirectory();
    const one = TokenCalibration.open(home, KEY);
    TokenCalibration.open(home, { ...KEY, model: "other" }).observe(1_000, 3_000);
    one.observe(1_000, 2_000);
    expect(TokenCalibration.open(home, { ...KEY, model: "other" }).factor).toBe(3);
  });

  it("a home that cannot be written costs nothing but the memory of it", () => {
    const home = tempDirectory();
    chmodSync(home, 0o500);
    const calibration = TokenCalibration.open(home, KEY);
    calibration.observe(1_000, 2_000);
    chmodSync(home, 0o700);
    expect(calibration.factor).toBe(2);
  });

  it("a stated window counts when a second session has been told the same", () => {
    const home = tempDirectory();
    const open = (): TokenCalibration => TokenCalibration.open(home, KEY);
    expect(open().isStatedTwice(8_192, "one")).toBe(false);
    expect(open().isStatedTwice(8_192, "one")).toBe(false);
    expect(open().isStatedTwice(16_384, "two")).toBe(false);
    expect(open().isStatedTwice(16_384, "three")).toBe(true);
  });
});
