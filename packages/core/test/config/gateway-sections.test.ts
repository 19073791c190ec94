import { describe, expect, it } from "vitest";
import { checkConfig, type HermesConfig, loadConfig, setConfigValue } from "../../src/config/index.ts";
import { tempHome } from "./support.ts";

async function load(text: string): Promise<HermesConfig> {
  using temp = tempHome();
  temp.writeConfig(text);
  const config = await loadConfig(temp.home);
  if (!config.ok) throw new Error(config.error.message);
  return config.value;
}

describe("the keys of the gateway", () => {
  it("are read whole", async () => {
    const config = await load(`
gateway:
  host: 0.0.0.0
  port: 9000
  mode: proxy
  allowed_hosts: host.docker.internal
  cors_origins: [https://chat.example.org]
  jwt_secret: $OPEN_WEBUI_JWT
  identity_profiles: {open-webui:alice@example.org: work, "api:*": Shared, "api:a:b": default}
session_reset: {mode: idle, idle_minutes: 30}
`);
    expect(config.gateway).toMatchObject({
      host: "0.0.0.0",
      port: 9_000,
      mode: "proxy",
      allowedHosts: ["host.docker.internal"],
      corsOrigins: ["https://chat.example.org"],
      jwtSecret: "$OPEN_WEBUI_JWT",
      identityProfiles: { "open-webui:alice@example.org": "work", "api:*": "Shared", "api:a:b": "default" },
    });
    expect(config.sessionReset).toEqual({ mode: "idle", atHour: 4, idleMinutes: 30, notify: true });
  });

  it.each([
    ["a text", "work", "gateway.identity_profiles"],
    ["a list", "[work]", "gateway.identity_profiles"],
    ["an identity without a platform", "{alice: work}", "gateway.identity_profiles.alice"],
    ["an identity without an id", '{"api:": work}', "gateway.identity_profiles.api:"],
    ["an identity with an empty platform", '{":alice": work}', "gateway.identity_profiles.:alice"],
    ["a profile that cannot exist", "{api:alice: ../up}", "gateway.identity_profiles.api:alice"],
    ["a reserved profile", "{api:alice: root}", "gateway.identity_profiles.api:alice"],
    ["a number", "{api:alice: 7}", "gateway.identity_profiles.api:alice"],
    ["nothing", "{api:alice: }", "gateway.identity_profiles.api:alice"],
  ])("take no %s for the profiles of identities", async (_what, value, key) => {
    using temp = tempHome();
    temp.writeConfig(`gateway:\n  identity_profiles: ${value}\n`);
    expect(await loadConfig(temp.home)).toMatchObject({ ok: false, error: { issues: [{ key }] } });
    const { errors } = await checkConfig(temp.home);
    expect(errors).toMatchObject([
      { key, message: expect.stringContaining("must name a profile for each identity") },
    ]);
  });

  it("can be set from the command line, and a wrong profile is not written", async () => {
    using temp = tempHome();
    expect(
      await setConfigValue(temp.home, "gateway.identity_profiles", '{"api:alice": "work"}'),
    ).toMatchObject({ ok: true });
    expect(await setConfigValue(temp.home, "gateway.identity_profiles", '{"alice": "work"}')).toMatchObject({
      ok: false,
    });
    const config = await loadConfig(temp.home);
    expect(config.ok && config.value.gateway.identityProfiles).toEqual({ "api:alice": "work" });
  });

  it("never show the secret of signed headers in an error", async () => {
    using temp = tempHome();
    temp.writeConfig("gateway:\n  jwt_secret: [hush]\n  port: x\n");
    const { errors, warnings } = await checkConfig(temp.home);
    expect(errors).toMatchObject([{ key: "gateway.port" }]);
    expect(JSON.stringify([errors, warnings])).not.toContain("hush");
  });
});
