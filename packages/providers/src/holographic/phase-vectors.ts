// Phase vectors (holographic reduced representations): a vector is `dim` angles, binding adds them, bundling takes the angle of the sum of
// unit vectors; and the encoder that turns words, texts and facts into vectors. The numbers equal those of the Python original to
// about 1e-14.
//
// All vectors of a store have the same length, so elements are read with `as number`: a check for each of the millions of elements
// that a query reads would take most of its time.
import { hash } from "node:crypto";
import { vectorWords } from "./words-and-names.ts";

export const TAU = 2 * Math.PI;

/** An atom has one of 65,536 angles in each element. */
const STEP = TAU / 65_536;

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
  for (const vector of vectors) sum.add(vector);
  return sum.angles();
}

/** The mean cosine of the differences: 1 for equal vectors, about 0 for unrelated ones. */
export function similarity(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += Math.cos((a[i] as number) - (b[i] as number));
  return a.length === 0 ? 0 : sum / a.length;
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

  add(phases: Float64Array): void {
    const [cos, sin] = [this.cos, this.sin];
    for (let i = 0; i < phases.length; i += 1) {
      cos[i] = (cos[i] as number) + Math.cos(phases[i] as number);
      sin[i] = (sin[i] as number) + Math.sin(phases[i] as number);
    }
  }

  angles(): Float64Array {
    return this.cos.map((cos, i) => wrap(Math.atan2(this.sin[i] as number, cos)));
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
// An atom needs 64 hashes at the usual length, so recently used atoms are kept.

const ROLE_CONTENT = "__hrr_role_content__";
const ROLE_ENTITY = "__hrr_role_entity__";
const EMPTY_TEXT = "__hrr_empty__";
const VALUES_PER_HASH = 16;
/** 16 MB at the usual length. */
const MAX_KEPT_ATOMS = 2048;

export class Encoder {
  readonly dim: number;
  readonly roleContent: Float64Array;
  readonly roleEntity: Float64Array;
  readonly #atoms = new Map<string, Float64Array>();

  constructor(dim: number) {
    this.dim = dim;
    this.roleContent = this.atom(ROLE_CONTENT);
    this.roleEntity = this.atom(ROLE_ENTITY);
  }

  /** Case-sensitive: callers convert to lower case first. Beyond the limit, the word unused for the longest time is dropped. */
  atom(word: string): Float64Array {
    const atom =
      this.#atoms.get(word) ?? Float64Array.from(atomLevels(word, this.dim), (level) => level * STEP);
    this.#atoms.delete(word);
    this.#atoms.set(word, atom);
    if (this.#atoms.size > MAX_KEPT_ATOMS) this.#atoms.delete(this.#atoms.keys().next().value ?? "");
    return atom;
  }

  text(text: string): Float64Array {
    const words = vectorWords(text);
    return bundle((words.length === 0 ? [EMPTY_TEXT] : words).map((word) => this.atom(word)));
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
    return bundle([this.content(content), ...entities.map((name) => this.entity(name))]);
  }
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
