// One line that tells a person what the tool was asked to do.
import { preview, systemClock } from "../../lib/index.ts";
import { collapseWhitespace } from "../previews.ts";
import { parseCall, type SearchRequest } from "./arguments.ts";

/** For a transcript or a spinner: `search past sessions: "kiln glaze"`. */
export function sessionSearchPreview(args: unknown): string {
  const call = parseCall(args, systemClock.now());
  if (!call.ok) return "search past sessions";
  const { profile, request } = call.value;
  return profile === undefined ? lineFor(request) : `${lineFor(request)} (profile ${short(profile)})`;
}

function lineFor(request: SearchRequest): string {
  switch (request.mode) {
    case "scroll":
      return `scroll session ${short(request.sessionId.bare)} around message ${request.anchor ?? "?"}`;
    case "read":
      return `read session ${short(request.sessionId.bare)}`;
    case "browse":
      return "list recent sessions";
    case "discover":
      return `search past sessions: "${short(request.query)}"`;
    default:
      return request satisfies never;
  }
}

function short(text: string): string {
  return preview(collapseWhitespace(text, 61), 60);
}
