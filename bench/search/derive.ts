// Child process: prints the queries derived from a database as JSON. In a process of its own, because reading every word
// of a large database leaves a heap behind whose collection would be measured as search.
// Argument: path of the database.
import { deriveQueries } from "./queries.ts";

console.log(JSON.stringify(deriveQueries(process.argv[2] ?? "")));
