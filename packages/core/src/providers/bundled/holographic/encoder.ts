// Words, texts and facts as phase vectors. An atom is exact in 16 bits per element and costs 64 hashes at the usual
// length, so those in use are kept.
import { hash } from "node:crypto";
import { bind, toLevels, toPhases, VectorSum } from "./phases.ts";
import { vectorWords } from "./words.ts";

const ROLE_CONTENT = "__hrr_role_content__";
const ROLE_ENTITY = "__hrr_role_entity__";
const EMPTY_TEXT = "__hrr_empty__";
const VALUES_PER_HASH = 16;
/** 16 MB at the usual length; more words than that are rarely met again before they are dropped. */
const MOST_KEPT_ATOMS = 8192;
/** Four times what one look for contradictions compares. */
const MOST_KEPT_TEXTS = 2000;

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

  /** The word as it is given: whoever means any spelling lower-cases it first. */
  atom(word: string): Float64Array {
    return toPhases(this.#levels(word));
  }

  text(text: string): Float64Array {
    return this.#wordSum(text).angles();
  }

  /** The same to the nearest level, kept for the next time. */
  textLevels(text: string): Uint16Array {
    return keep(this.#texts, text, MOST_KEPT_TEXTS, () => {
      const levels = new Uint16Array(this.dim);
      toLevels(this.text(text), levels);
      return levels;
    });
  }

  /** A text in the place where facts keep theirs. */
  content(text: string): Float64Array {
    return bind(this.text(text), this.roleContent);
  }

  /** An entity in the place where facts keep theirs. */
  entity(name: string): Float64Array {
    return bind(this.atom(name.toLowerCase()), this.roleEntity);
  }

  fact(content: string, entities: readonly string[]): Float64Array {
    const sum = new VectorSum(this.dim);
    sum.addBound(this.#wordSum(content), this.#levels(ROLE_CONTENT));
    const role = this.#levels(ROLE_ENTITY);
    for (const name of entities) {
      const atom = this.#levels(name.toLowerCase());
      sum.addLevels(atom.map((level, i) => level + (role[i] as number))); // 16 bits, so it wraps as angles do
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
    return keep(this.#atoms, word, MOST_KEPT_ATOMS, () => atomLevels(word, this.dim));
  }
}

/** The map's order is the order of use; the one not used for longest makes room. */
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
