// The table of routes in docs/gateway.md, between two comments. Pure, except for the import of the routes.
import { modelRoutes } from "../packages/gateway/src/answer.ts";
import { apiRoutes } from "../packages/gateway/src/api/api-routes.ts";
import { modelsRoutes } from "../packages/gateway/src/models-route.ts";
import { opsRoutes } from "../packages/gateway/src/routes.ts";
import type { Answer, Route } from "../packages/gateway/src/types.ts";

const BEGIN = "<!-- routes: made by `npm run docs` from the route table -->";
const END = "<!-- end of routes -->";

const ACCESS: Readonly<Record<Route["access"], string>> = {
  open: "anybody",
  "any-caller": "any token",
  user: "the caller's own data",
  admin: "administrators",
};

export function withRouteTable(page: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error("docs/gateway.md has no place for the routes.");
  return `${before}${BEGIN}\n${routeTable()}\n${END}${after}`;
}

function routeTable(): string {
  const unused: Answer = () => Promise.reject(new Error("This table answers nothing."));
  const modes = { agent: unused, proxy: unused, auxiliary: unused, countTokens: unused };
  const routes = [
    ...modelRoutes(modes),
    ...modelsRoutes,
    ...apiRoutes(),
    MCP,
    ...opsRoutes({ render: () => "" }),
  ].filter(({ path }) => !/^\/(?:agent|proxy)\//.test(path));
  const lines = routes.map(
    ({ method, path, access, summary }) =>
      `| \`${method} ${path.replace("{.+}", "")}\` | ${summary} | ${ACCESS[access]} |`,
  );
  return ["", "| route | what | for |", "|---|---|---|", ...lines, ""].join("\n");
}

/** Its routes are made with a running gateway. */
const MCP: Pick<Route, "method" | "path" | "access" | "summary"> = {
  method: "POST",
  path: "/mcp",
  access: "user",
  summary: "The MCP server over streamable HTTP: memory, search and history of the caller.",
};
