// Kernel locks on a lock file, which the Python original takes too. Node has no call for them: koffi reaches the system's,
// and without koffi the program flock(1) takes the lock on a descriptor it inherits. Loaded at the first lock.
import { closeSync, mkdirSync, openSync } from "node:fs";
import { constants } from "node:os";
import { dirname } from "node:path";
import { describeCause, errnoCode } from "./errors.ts";

export type LockAttempt =
  | { readonly kind: "held"; readonly release: () => void }
  | { readonly kind: "busy" }
  | { readonly kind: "unsupported"; readonly reason: string };

export type LockCalls = { tryLock(path: string): LockAttempt };

type Koffi = typeof import("koffi");

/** koffi is missing in bundled programs and where it has no build. Where nothing is left, every attempt says `unsupported`. */
export function loadLockCalls(): LockCalls {
  try {
    const koffi = loadKoffi();
    return process.platform === "win32" ? windowsCalls(koffi) : unixCalls(koffi);
  } catch (cause) {
    const reason = `koffi cannot be loaded: ${firstLine(describeCause(cause))}`;
    return process.platform === "win32" ? noCalls(reason) : flockProgramCalls(reason);
  }
}

/**
 * Bundlers follow an import, and a `createRequire` imported from node:module; of those some then fail to place koffi's binary.
 * This way none of them sees koffi. In a bundle made as CommonJS `import.meta.url` is undefined.
 */
function loadKoffi(): Koffi {
  const { createRequire } = process.getBuiltinModule("node:module");
  const here = (import.meta.url as string | undefined) ?? (typeof __filename === "string" ? __filename : "");
  return createRequire(here)("koffi") as Koffi;
}

function noCalls(reason: string): LockCalls {
  return { tryLock: () => ({ kind: "unsupported", reason }) };
}

const SPAWN_LIMIT_MS = 5000;
const FLOCK_BUSY = 1; // the exit code of flock -n, in util-linux and in BusyBox

/** Takes about 2 ms. The lock belongs to the open file, so it stays with our descriptor when flock(1) has ended. */
function flockProgramCalls(koffiReason: string): LockCalls {
  let missing: LockAttempt | undefined;
  return {
    tryLock(path) {
      if (missing) return missing;
      const fd = openLockFile(path);
      const { status, error } = runFlock(fd);
      if (status === 0) return { kind: "held", release: () => closeSync(fd) };
      closeSync(fd);
      if (status === FLOCK_BUSY) return { kind: "busy" };
      const why =
        errnoCode(error) === "ENOENT" ? "is not installed" : `failed (${error?.message ?? `exit ${status}`})`;
      const attempt = { kind: "unsupported", reason: `${koffiReason}; flock(1) ${why}` } as const;
      if (errnoCode(error) === "ENOENT") missing = attempt;
      return attempt;
    },
  };
}

function runFlock(fd: number): { readonly status: number | null; readonly error?: Error | undefined } {
  try {
    // Taken here because loading it costs every start a few milliseconds.
    const { spawnSync } = process.getBuiltinModule("node:child_process");
    return spawnSync("flock", ["-n", "-x", "3"], {
      stdio: ["ignore", "ignore", "ignore", fd],
      env: { PATH: process.env.PATH ?? "/usr/bin:/bin" }, // nothing else of this process is flock's business
      timeout: SPAWN_LIMIT_MS,
    });
  } catch (cause) {
    return { status: null, error: cause instanceof Error ? cause : new Error(String(cause)) }; // a permission model forbids it
  }
}

/** Errors of module resolution go on with the whole require stack. */
function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

const LOCK_EX = 2;
const LOCK_NB = 4;

function unixCalls(koffi: Koffi): LockCalls {
  const flock = koffi.load(null).func("int flock(int fd, int operation)");
  return {
    tryLock(path) {
      const fd = openLockFile(path);
      for (;;) {
        if (flock(fd, LOCK_EX | LOCK_NB) === 0) return { kind: "held", release: () => closeSync(fd) };
        const errno = koffi.errno();
        if (errno === constants.errno.EINTR) continue;
        closeSync(fd);
        if (errno === constants.errno.EWOULDBLOCK || errno === constants.errno.EAGAIN)
          return { kind: "busy" };
        // ENOLCK, ENOSYS, EOPNOTSUPP: a file system without locks, such as some network mounts.
        return { kind: "unsupported", reason: `flock failed with errno ${errno} on ${path}` };
      }
    },
  };
}

/** Makes the directory where it is missing: what a lock protects may be about to come into being. */
function openLockFile(path: string): number {
  try {
    return openSync(path, "a", 0o600);
  } catch (cause) {
    if (errnoCode(cause) !== "ENOENT") throw cause;
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, "a", 0o600);
  }
}

const GENERIC_READ_WRITE = 0xc0000000;
const SHARE_ALL = 0x7;
const OPEN_ALWAYS = 4;
const FILE_ATTRIBUTE_NORMAL = 0x80;
const LOCKFILE_EXCLUSIVE_NOW = 0x3;
const ERROR_LOCK_VIOLATION = 33;
const ERROR_IO_PENDING = 997;

/** One byte at offset 0, the byte Python's msvcrt.locking takes in these files. */
function windowsCalls(koffi: Koffi): LockCalls {
  const kernel = koffi.load("kernel32.dll");
  const createFile = kernel.func(
    "intptr_t __stdcall CreateFileW(str16 name, uint32_t access, uint32_t share, void *security, uint32_t creation, uint32_t flags, intptr_t template)",
  );
  const lockFile = kernel.func(
    "int __stdcall LockFileEx(intptr_t file, uint32_t flags, uint32_t reserved, uint32_t low, uint32_t high, void *overlapped)",
  );
  const closeHandle = kernel.func("int __stdcall CloseHandle(intptr_t handle)");
  const lastError = kernel.func("uint32_t __stdcall GetLastError()");
  return {
    tryLock(path) {
      mkdirSync(dirname(path), { recursive: true });
      const file = createFile(
        path,
        GENERIC_READ_WRITE,
        SHARE_ALL,
        null,
        OPEN_ALWAYS,
        FILE_ATTRIBUTE_NORMAL,
        0,
      );
      if (file === -1 || file === -1n) {
        const code = lastError() === 5 ? "EACCES" : "EIO";
        throw Object.assign(new Error(`${code}: cannot open lock file '${path}'`), { code });
      }
      const overlapped = Buffer.alloc(32); // an OVERLAPPED with offset 0
      if (lockFile(file, LOCKFILE_EXCLUSIVE_NOW, 0, 1, 0, overlapped) !== 0) {
        return { kind: "held", release: () => closeHandle(file) };
      }
      const code = lastError();
      closeHandle(file);
      if (code === ERROR_LOCK_VIOLATION || code === ERROR_IO_PENDING) return { kind: "busy" };
      return { kind: "unsupported", reason: `LockFileEx failed with error ${code} on ${path}` };
    },
  };
}
