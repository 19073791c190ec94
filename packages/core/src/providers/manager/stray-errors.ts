// A provider may start work that nobody awaits. When such work fails later, Node would end the whole process; here it
// is counted against the provider instead. Which errors are a provider's is known from the asynchronous context they
// come from. All others take the way they would have taken without us.
import { AsyncLocalStorage } from "node:async_hooks";

export type StraySink = { readonly onStray: (cause: unknown) => void };

const owner = new AsyncLocalStorage<StraySink>();

let isGuarding = false;

/** Runs a provider's code so that whatever it leaves behind is known to be its own. */
export function runAsProvider<T>(sink: StraySink, work: () => T): T {
  guardOnce();
  return owner.run(sink, work);
}

// For as long as the process lives: work may outlive the manager that started it.
function guardOnce(): void {
  if (isGuarding) return;
  isGuarding = true;
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
}

function onRejection(reason: unknown): void {
  const sink = owner.getStore();
  if (sink) {
    sink.onStray(reason);
    return;
  }
  if (process.listenerCount("unhandledRejection") > 1) return;
  // Alone here, we are the reason that Node does not act. Rejected once more without us, it does what it was told to do
  // with unhandled rejections; where that is not to end the process, we are back afterwards.
  process.off("unhandledRejection", onRejection);
  void Promise.reject(reason);
  setImmediate(() => process.on("unhandledRejection", onRejection)).unref();
}

function onException(cause: unknown): void {
  const sink = owner.getStore();
  if (sink) {
    sink.onStray(cause);
    return;
  }
  if (process.listenerCount("uncaughtException") > 1) return;
  process.off("uncaughtException", onException);
  process.nextTick(() => {
    throw cause; // without a listener it ends the process, with its own message and exit code
  });
}
