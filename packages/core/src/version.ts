// The version, from the one place that holds it.
import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
