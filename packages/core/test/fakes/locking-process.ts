// Child process: takes a lock on the database at its first argument, says "held", and keeps it until its input ends.
// The second argument is the statement that takes it, BEGIN IMMEDIATE unless told.
import { readSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const [path = "", statement = "BEGIN IMMEDIATE"] = process.argv.slice(2);
const db = new DatabaseSync(path, { timeout: 10_000 });
db.exec(statement);
console.log("held");
try {
  readSync(0, Buffer.alloc(1)); // blocks: a program that hangs in mid-transaction answers nobody
} catch {
  // A closed pipe is an end as well.
}
db.exec("ROLLBACK");
db.close();
console.log("released");
