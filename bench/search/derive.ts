// Child process: prints the queries derived from a database as JSON. It is a separate process because reading every word of a large
// database leaves a large heap, whose garbage collection would be measured as search time.
// Argument: path of the database.
import { deriveQueries } from "./queries.ts";

console.log(JSON.stringify(deriveQueries(process.argv[2] ?? "")));
