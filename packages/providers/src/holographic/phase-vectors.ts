// Phase vectors (holographic reduced representations): a vector is `dim` angles, binding adds them, bundling takes the angle of the sum of
// unit vectors; and the encoder that turns words, texts and facts into vectors. The numbers equal those of the Python original to
// about 1e-14; only the computation of cosines differs.
//
// All vectors of a store have the same length, so elements are read with `as number`: a check for each of the millions of elements
// that a query reads would take most of its time.
import { hash } from "node:crypto";
import { vectorWords } from "./words-and-names.ts";

export const TAU = 2 * Math.PI;

/** The number of different angles in an atom, and the size of the table of cosines. */
export const LEVELS = 65_536;
const LEVEL_MASK = LEVELS - 1;
const STEP = TAU / LEVELS;
const LEVELS_PER_RADIAN = LEVELS / TAU;

export const COSINES = Float64Array.from({ length: LEVELS }, (_, level) => Math.cos(level * STEP));
const SINES = Float64Array.from({ length: LEVELS }, (_, level) => Math.sin(level * STEP));
const ANGLES = Float64Array.from({ length: LEVELS }, (_, level) => level * STEP);

/** Below this signal-to-noise ratio the facts in a bundle cannot be told apart reliably, which is worth a warning. */
export const MIN_SNR = 2;

/** The angle of each level. */
function toPhases(levels: Uint16Array): Float64Array {
  const phases = new Float64Array(levels.length);
  for (let i = 0; i < levels.length; i += 1) phases[i] = ANGLES[levels[i] as number] as number;
  return phases;
}

/** The nearest level of each angle, written to `out` from `offset` on. */
export function toLevels(phases: Float64Array, out: Uint16Array, offset = 0): void {
  for (let i = 0; i < phases.length; i += 1)
    out[offset + i] = Math.round((phases[i] as number) * LEVELS_PER_RADIAN) & LEVEL_MASK;
}

export function bind(a: Float64Array, b: Float64Array): Float64Array {
  const bound = new Float64Array(a.length);
  for (let i = 0; i < a.length; i += 1) bound[i] = wrap((a[i] as number) + (b[i] as number));
  return bound;
}

export function unbind(a: Float64Array, b: Float64Array): Float64Array {
  const unbound = new Float64Array(a.length);
  for (let i = 0; i < a.length; i += 1) unbound[i] = wrap((a[i] as number) - (b[i] as number));
  return unbound;
}

export function bundle(vectors: readonly Float64Array[]): Float64Array {
  const sum = new VectorSum(vectors[0]?.length ?? 0);
  for (const vector of vectors) sum.addPhases(vector);
  return sum.angles();
}

/** The mean cosine of the differences: 1 for equal vectors, about 0 for unrelated ones. */
export function similarity(a: Float64Array, b: Float64Array): number {
  if (a.length === 0) return 0;
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) {
    const turn = ((a[i] as number) - (b[i] as number)) * LEVELS_PER_RADIAN;
    const level = Math.round(turn);
    const rest = (turn - level) * STEP;
    const at = level & LEVEL_MASK;
    const square = rest * rest;
    sum += (COSINES[at] as number) * (1 - square / 2) - (SINES[at] as number) * rest * (1 - square / 6);
  }
  return sum / a.length;
}

/** Infinite for an empty bundle. */
export function snrEstimate(dim: number, count: number): number {
  return count <= 0 ? Number.POSITIVE_INFINITY : Math.sqrt(dim / count);
}

/** A sum of unit vectors, element by element. */
export class VectorSum {
  readonly cos: Float64Array;
  readonly sin: Float64Array;

  constructor(dim: number) {
    this.cos = new Float64Array(dim);
    this.sin = new Float64Array(dim);
  }

  addLevels(levels: Uint16Array): void {
    const { cos, sin } = this;
    const cosines = COSINES; // looked up once: this runs for every word of every fact
    const sines = SINES;
    for (let i = 0; i < levels.length; i += 1) {
      const level = levels[i] as number;
      cos[i] = (cos[i] as number) + (cosines[level] as number);
      sin[i] = (sin[i] as number) + (sines[level] as number);
    }
  }

  addPhases(phases: Float64Array): void {
    this.#addUnits(phases, 1, undefined);
  }

  /**
   * Adds or subtracts a vector with its components rounded to a multiple of `1 / perUnit`. If `perUnit` is a power of two, such sums are
   * exact as long as they fit a double, so they do not depend on the order of changes.
   */
  addRounded(phases: Float64Array, sign: 1 | -1, perUnit: number): void {
    this.#addUnits(phases, sign, perUnit);
  }

  /** Adds the bundle of another sum, bound to a role, without converting to angles and back. */
  addBound(bundled: VectorSum, role: Uint16Array): void {
    const { cos, sin } = this;
    for (let i = 0; i < role.length; i += 1) {
      const x = bundled.cos[i] as number;
      const y = bundled.sin[i] as number;
      const length = Math.sqrt(x * x + y * y);
      const level = role[i] as number;
      const c = COSINES[level] as number;
      const s = SINES[level] as number;
      // An empty sum has the angle 0.
      const ux = length === 0 ? 1 : x / length;
      const uy = length === 0 ? 0 : y / length;
      cos[i] = (cos[i] as number) + ux * c - uy * s;
      sin[i] = (sin[i] as number) + uy * c + ux * s;
    }
  }

  angles(): Float64Array {
    const { cos, sin } = this;
    const angles = new Float64Array(cos.length);
    for (let i = 0; i < angles.length; i += 1)
      angles[i] = wrap(Math.atan2(sin[i] as number, cos[i] as number));
    return angles;
  }

  // The level is looked up in a table, and the rest of the angle, at most 4.8e-5, is computed by the first terms of the series. The error is
  // below 1e-15, in a small part of the time of Math.cos and Math.sin.
  #addUnits(phases: Float64Array, sign: 1 | -1, perUnit: number | undefined): void {
    const { cos, sin } = this;
    for (let i = 0; i < phases.length; i += 1) {
      const turn = (phases[i] as number) * LEVELS_PER_RADIAN;
      const level = Math.round(turn);
      const rest = (turn - level) * STEP;
      const at = level & LEVEL_MASK;
      const c = COSINES[at] as number;
      const s = SINES[at] as number;
      const restCos = 1 - (rest * rest) / 2;
      const restSin = rest * (1 - (rest * rest) / 6);
      let x = c * restCos - s * restSin;
      let y = s * restCos + c * restSin;
      if (perUnit !== undefined) {
        x = Math.round(x * perUnit) / perUnit;
        y = Math.round(y * perUnit) / perUnit;
      }
      cos[i] = (cos[i] as number) + sign * x;
      sin[i] = (sin[i] as number) + sign * y;
    }
  }
}

function wrap(angle: number): number {
  const rest = angle % TAU;
  return rest < 0 ? rest + TAU : rest;
}

/** From little-endian float64 values; undefined when there are none or their number is not `dim`. */
export function readVector(bytes: Uint8Array | null | undefined, dim: number): Float64Array | undefined {
  if (!(bytes instanceof Uint8Array) || bytes.length !== dim * 8) return undefined;
  // A view needs an offset that is a multiple of 8, which SQLite does not guarantee.
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  return new Float64Array(aligned.buffer, aligned.byteOffset, dim);
}

/** The same memory as bytes, for SQLite. */
export function vectorBytes(vector: Float64Array): Uint8Array {
  return new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
}

// ---- The encoder ----
// An atom needs 16 bits per element and 64 hashes at the usual length, so recently used atoms are kept.

const ROLE_CONTENT = "__hrr_role_content__";
const ROLE_ENTITY = "__hrr_role_entity__";
const EMPTY_TEXT = "__hrr_empty__";
const VALUES_PER_HASH = 16;
/** 16 MB at the usual length. */
const MAX_KEPT_ATOMS = 8192;
/** Four times the number of facts that one search for contradictions compares. */
const MAX_KEPT_TEXTS = 2000;

export class Encoder {
  readonly dim: number;
  readonly roleContent: Float64Array;
  readonly roleEntity: Float64Array;
  readonly #atoms = new Map<string, Uint16Array>();
  readonly #texts = new Map<string, Uint16Array>();

  constructor(dim: number) {
    this.dim = dim;
    this.roleContent = this.atom(ROLE_CONTENT);
    this.roleEntity = this.atom(ROLE_ENTITY);
  }

  /** Case-sensitive: callers convert to lower case first. */
  atom(word: string): Float64Array {
    return toPhases(this.#levels(word));
  }

  text(text: string): Float64Array {
    return this.#wordSum(text).angles();
  }

  /** The same, rounded to the nearest levels and cached. */
  textLevels(text: string): Uint16Array {
    return keep(this.#texts, text, MAX_KEPT_TEXTS, () => {
      const levels = new Uint16Array(this.dim);
      toLevels(this.text(text), levels);
      return levels;
    });
  }

  /** A text bound to the role that texts have in facts. */
  content(text: string): Float64Array {
    return bind(this.text(text), this.roleContent);
  }

  /** An entity bound to the role that entities have in facts. */
  entity(name: string): Float64Array {
    return bind(this.atom(name.toLowerCase()), this.roleEntity);
  }

  fact(content: string, entities: readonly string[]): Float64Array {
    const sum = new VectorSum(this.dim);
    sum.addBound(this.#wordSum(content), this.#levels(ROLE_CONTENT));
    const role = this.#levels(ROLE_ENTITY);
    for (const name of entities) {
      const atom = this.#levels(name.toLowerCase());
      sum.addLevels(atom.map((level, i) => level + (role[i] as number))); // 16 bits, so it wraps around as angles do
    }
    return sum.angles();
  }

  #wordSum(text: string): VectorSum {
    const words = vectorWords(text);
    const sum = new VectorSum(this.dim);
    for (const word of words.length === 0 ? [EMPTY_TEXT] : words) sum.addLevels(this.#levels(word));
    return sum;
  }

  #levels(word: string): Uint16Array {
    return keep(this.#atoms, word, MAX_KEPT_ATOMS, () => atomLevels(word, this.dim));
  }
}

/** A cache in order of use: beyond `most` entries the one unused for the longest time is dropped. */
function keep<V>(kept: Map<string, V>, key: string, most: number, make: () => V): V {
  const value = kept.get(key) ?? make();
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > most) kept.delete(kept.keys().next().value ?? "");
  return value;
}

/** SHA-256 of `word:0`, `word:1`, ... read as little-endian 16-bit numbers. */
export function atomLevels(word: string, dim: number): Uint16Array {
  const levels = new Uint16Array(dim);
  for (let block = 0; block * VALUES_PER_HASH < dim; block += 1) {
    const digest = hash("sha256", `${word}:${block}`, "buffer");
    const start = block * VALUES_PER_HASH;
    for (let i = 0; i < VALUES_PER_HASH && start + i < dim; i += 1)
      levels[start + i] = digest.readUInt16LE(i * 2);
  }
  return levels;
}
