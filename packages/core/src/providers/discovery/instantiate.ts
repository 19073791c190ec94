// From a plugin's exports to a provider. Tried in this order: `register(ctx)`, the default export, then the other exports by
// name: classes, ready objects and functions called `create...Provider`. What did not work is remembered for the message.
import { err, isRecord, type Result } from "../../lib/index.ts";
import type { MemoryProvider } from "../contract.ts";
import { describeForeign } from "./foreign-code.ts";
import { checkProvider, resemblesProvider, type StructureFault } from "./structure.ts";

type Exports = Readonly<Record<string, unknown>>;
type Callable = (...args: readonly unknown[]) => unknown;

type Attempt = {
  /** As the message calls it: `register()`, `class Notes`. */
  readonly what: string;
  readonly make: () => unknown;
};

const FACTORY_NAME = /^create\w*Provider$/;

/** Calls the plugin's code; the caller bounds it in time. */
export async function instantiate(module: unknown): Promise<Result<MemoryProvider, StructureFault>> {
  const faults: StructureFault[] = [];
  for (const { what, make } of attempts(exportsOf(module))) {
    try {
      const checked = checkProvider(await make());
      if (checked.ok) return checked;
      faults.push({ ...checked.error, message: `${what} ${checked.error.message}` });
    } catch (cause) {
      faults.push({ kind: "no-provider", message: `${what} failed: ${describeForeign(cause)}` });
    }
  }
  const message = faults.map((fault) => fault.message).join("; ") || "it exports nothing of that kind";
  return err(faults.find((fault) => fault.kind === "wrong-contract") ?? { kind: "no-provider", message });
}

function attempts(exports: Exports): readonly Attempt[] {
  const { register, default: standard } = exports;
  const named = Object.keys(exports)
    .filter((name) => !["register", "default", "module.exports", "__esModule"].includes(name))
    .sort();
  return [
    ...(isFunction(register) ? [registration("register()", register)] : []),
    ...fromDefault(standard),
    ...named.flatMap((name) => fromNamed(name, exports[name])),
  ];
}

function fromDefault(value: unknown): readonly Attempt[] {
  const what = "the default export";
  if (isClass(value)) return [{ what, make: () => Reflect.construct(value, []) }];
  if (isFunction(value))
    return [value.length > 0 ? registration(what, value) : { what, make: () => value() }];
  if (!isRecord(value)) return [];
  const { register } = value;
  if (!isFunction(register)) return [{ what, make: () => value }];
  return [registration(`register() of ${what}`, register.bind(value))];
}

function fromNamed(name: string, value: unknown): readonly Attempt[] {
  if (isClass(value)) {
    // Making an instance of some other class might do anything.
    if (!resemblesProvider(value.prototype)) return [];
    return [{ what: `class ${name}`, make: () => Reflect.construct(value, []) }];
  }
  if (isFunction(value))
    return FACTORY_NAME.test(name) && value.length === 0 ? [{ what: `${name}()`, make: () => value() }] : [];
  return resemblesProvider(value) ? [{ what: `'${name}'`, make: () => value }] : [];
}

/** The last provider that is handed in counts; one that is returned instead will do too. */
function registration(what: string, register: Callable): Attempt {
  const make = async (): Promise<unknown> => {
    let provider: unknown;
    const take = (value: unknown): void => {
      provider = value;
    };
    const ignore = (): void => {}; // of general plugins; a memory provider brings its tools and hooks as members
    const returned = await register({
      registerMemoryProvider: take,
      register_memory_provider: take,
      registerTool: ignore,
      register_tool: ignore,
      registerHook: ignore,
      register_hook: ignore,
      registerCliCommand: ignore,
      register_cli_command: ignore,
    });
    if (provider === undefined && returned === undefined) throw new Error("it registered no provider");
    return provider ?? returned;
  };
  return { what, make };
}

/** A CommonJS module that was translated from ESM has its real exports one level further in. */
function exportsOf(module: unknown): Exports {
  if (!isRecord(module)) return {};
  const { default: inner } = module;
  return isRecord(inner) && inner.__esModule === true ? inner : module;
}

function isClass(value: unknown): value is new () => unknown {
  if (!isFunction(value)) return false;
  if (/^class\b/.test(Function.prototype.toString.call(value))) return true;
  const prototype: unknown = value.prototype;
  return isRecord(prototype) && Object.getOwnPropertyNames(prototype).length > 1; // translated to an older language
}

function isFunction(value: unknown): value is Callable & { readonly prototype?: unknown } {
  return typeof value === "function";
}
