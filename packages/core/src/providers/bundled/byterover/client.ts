// One call of brv from start to outcome: find it, run it in our directory, understand what it says.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { describeCause, err, type Result } from "../../../lib/index.ts";
import { type BinaryFinder, childEnvironment, type Environment, NOT_FOUND } from "./binary.ts";
import { type ChildEnd, runChild } from "./child.ts";
import type { BrvCommand } from "./command.ts";
import type { Limits } from "./limits.ts";
import { type BrvData, readReply } from "./reply.ts";

export type BrvFailure = {
  readonly kind: "missing" | "timed-out" | "aborted" | "failed";
  /** One line that can stand in a sentence. */
  readonly message: string;
};

export type BrvClientOptions = {
  readonly finder: BinaryFinder;
  /** Holds the knowledge tree; created when it is not there. */
  readonly directory: string;
  readonly env: Environment;
  readonly limits: Limits;
};

export type CallRules = { readonly signal?: AbortSignal | undefined; readonly isBackground?: boolean };

export class BrvClient {
  readonly #options: BrvClientOptions;

  constructor(options: BrvClientOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async call(command: BrvCommand, rules: CallRules = {}): Promise<Result<BrvData, BrvFailure>> {
    const { finder, directory } = this.#options;
    const binary = finder.find();
    if (binary === undefined) return failure("missing", NOT_FOUND);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 }); // a missing directory looks like a missing program
    } catch (cause) {
      return failure("failed", `Cannot create ${directory}: ${describeCause(cause)}`);
    }
    const end = await this.#run(binary, command, rules);
    if (end.kind !== "not-started" || end.code !== "ENOENT") return outcome(command, end);
    finder.forget();
    const moved = finder.look();
    if (moved === undefined) return failure("missing", NOT_FOUND);
    return outcome(command, moved === binary ? end : await this.#run(moved, command, rules));
  }

  #run(binary: string, command: BrvCommand, { signal, isBackground = false }: CallRules): Promise<ChildEnd> {
    const { directory, env, limits } = this.#options;
    return runChild({
      command: binary,
      args: command.args,
      cwd: directory,
      env: childEnvironment(env, dirname(binary)),
      timeoutMs: command.killMs,
      outputBytes: limits.outputBytes,
      isBackground,
      ...(signal === undefined ? {} : { signal }),
    });
  }
}

function outcome(command: BrvCommand, end: ChildEnd): Result<BrvData, BrvFailure> {
  switch (end.kind) {
    case "exited": {
      const reply = readReply(command, end);
      return reply.ok ? reply : failure("failed", reply.error);
    }
    case "timed-out":
      return failure("timed-out", `brv timed out after ${command.limitMs / 1000}s`);
    case "flooded":
      return failure("failed", `brv ${command.name} wrote more than anybody can use and was ended`);
    case "aborted":
      return failure("aborted", `brv ${command.name} was called off`);
    case "not-started":
      return failure("failed", `brv cannot be started: ${end.message}`);
    default:
      return end satisfies never;
  }
}

function failure(kind: BrvFailure["kind"], message: string): Result<never, BrvFailure> {
  return err({ kind, message });
}
