// Next with webpack, without any setting.
import { checkNextApp } from "./next-app.ts";

console.log(await checkNextApp(["--webpack"]));
