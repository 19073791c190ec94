// A process with only a background job that hangs. It should end at once.
import { SerialQueue } from "../../src/providers/kit/serial-queue.ts";

const queue = new SerialQueue({ maxWaiting: 5 });
void queue.push(() => new Promise(() => {}));
console.log(`${queue.length} job runs`);
