// The Python original's way of writing, reduced to what concerns others: flock on the lock file, read, append, rename.
import { spawnSync } from "node:child_process";

export const hasPython = spawnSync("python3", ["-c", "import fcntl"]).status === 0;

/** Arguments: directory, name, count. Adds that many entries to MEMORY.md. */
export const PYTHON_ADDS = `
import fcntl, os, sys, tempfile
directory, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
path = os.path.join(directory, "MEMORY.md")
for index in range(count):
    with open(path + ".lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            text = ""
        entries = [piece.strip() for piece in text.split("\\n\\u00a7\\n") if piece.strip()]
        entries.append(f"note {index} of writer {name}")
        handle, temporary = tempfile.mkstemp(dir=directory, prefix=".mem_", suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\\n\\u00a7\\n".join(entries))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    print(entries[-1], flush=True)
`;

/** Argument: path of a lock file. Holds it from "held" until its input ends. */
export const PYTHON_HOLDS = `
import fcntl, sys
with open(sys.argv[1], "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
`;
