// A text that is to be forgotten: how it is found in values, in lines of JSON and in raw bytes, and what stands for it.
import { cleanText } from "../content-check.ts";

export type Needle = {
  readonly text: string;
  /** What may stand where the text was: something that does not hold the text itself. */
  readonly standIn: string;
  /** True when a decoded value contains the text. */
  isIn(value: string | null | undefined): boolean;
  /** True when raw content contains it as it is, or as JSON spells it. */
  isInRaw(bytes: Uint8Array): boolean;
  /** The content with the text cut out, whatever its line ends; undefined when it is not in there. */
  cutFrom(bytes: Uint8Array): Uint8Array | undefined;
};

const STAND_INS = ["[forgotten]", "[…]", "[*]"] as const;

/** Undefined for a text that is empty once it is stripped: it would be found everywhere. */
export function makeNeedle(asked: string): Needle | undefined {
  const text = cleanText(asked);
  if (text === "") return undefined;
  const standIn = STAND_INS.find((each) => !each.includes(text)) ?? "";
  const plain = pattern(text);
  const spelled = pattern(JSON.stringify(text).slice(1, -1));
  return {
    text,
    standIn,
    isIn: (value) => value?.includes(text) ?? false,
    isInRaw: (bytes) => [plain, spelled].some((each) => cut(bytes, each, "") !== undefined),
    cutFrom: (bytes) => cut(bytes, plain, standIn),
  };
}

// One character per byte, so that any bytes survive.
const latin1 = (text: string): string => Buffer.from(text, "utf8").toString("latin1");

function pattern(text: string): RegExp {
  const lines = latin1(text).split("\n");
  const escaped = lines.map((line) => line.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  return new RegExp(escaped.join("(?:\\r\\n|\\r|\\n)"), "g");
}

function cut(bytes: Uint8Array, where: RegExp, standIn: string): Uint8Array | undefined {
  const before = Buffer.from(bytes).toString("latin1");
  const after = before.replace(where, () => latin1(standIn));
  return after === before ? undefined : Buffer.from(after, "latin1");
}
