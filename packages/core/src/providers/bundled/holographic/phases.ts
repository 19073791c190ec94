// The algebra of phase vectors: a vector is `dim` angles, binding adds them, bundling takes the angle of a sum of unit
// vectors. The numbers are those of the Python original to about 1e-14; only the way to a cosine is our own.
//
// All vectors of a store have the same length, so elements are read with `as number`: a check for each of the millions
// of elements a query looks at would be most of its time.

export const TAU = 2 * Math.PI;

/** Atoms have this many different angles per element, and so has the table of cosines. */
export const LEVELS = 65_536;
const LEVEL_MASK = LEVELS - 1;
const STEP = TAU / LEVELS;
const LEVELS_PER_RADIAN = LEVELS / TAU;

/** Of every level. */
export const COSINES = Float64Array.from({ length: LEVELS }, (_, level) => Math.cos(level * STEP));
const SINES = Float64Array.from({ length: LEVELS }, (_, level) => Math.sin(level * STEP));
const ANGLES = Float64Array.from({ length: LEVELS }, (_, level) => level * STEP);

/** Below this an estimate of what can still be told apart in a bundle is worth a warning. */
export const LEAST_SNR = 2;

/** Angles of exact levels. */
export function toPhases(levels: Uint16Array): Float64Array {
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
   * Adds a vector, or takes it away, with its parts rounded to a multiple of `1 / perUnit`. For a power of two sums of such
   * parts are exact as long as they fit a double, so they do not depend on their history.
   */
  addRounded(phases: Float64Array, sign: 1 | -1, perUnit: number): void {
    this.#addUnits(phases, sign, perUnit);
  }

  /** Adds the bundle of another sum, bound to a role: no angle is taken and none has to be turned back. */
  addBound(bundled: VectorSum, role: Uint16Array): void {
    const { cos, sin } = this;
    for (let i = 0; i < role.length; i += 1) {
      const x = bundled.cos[i] as number;
      const y = bundled.sin[i] as number;
      const length = Math.sqrt(x * x + y * y);
      const level = role[i] as number;
      const c = COSINES[level] as number;
      const s = SINES[level] as number;
      // A sum of nothing has the angle 0.
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

  // A level is looked up, and the rest of the angle, at most 4.8e-5, goes through the first terms of the series: the error
  // stays below 1e-15 and it takes a small part of the time of Math.cos and Math.sin.
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
