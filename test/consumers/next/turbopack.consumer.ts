// Next with its default bundler, without any setting.
import { checkNextApp } from "./next-app.ts";

console.log(await checkNextApp([]));
