// A fake Honcho for the provider contract. Its model answers nothing: such answers depend on no words of the query and have tests of their own.
import { harnessOf } from "../fakes/contract.ts";
import { FakeHoncho } from "../fakes/servers/honcho.ts";

export const honcho = () =>
  harnessOf("honcho", { fake: () => Object.assign(new FakeHoncho(), { chatAnswer: null }), key: "" });
