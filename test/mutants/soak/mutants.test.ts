/** Faults in what decides about safety, in rules and in wiring: each is noticed by the tests that are named for it. @module */
import { existsSync, globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { BINDER } from "../binder.ts";
import { type Checkout, copyCheckout, ROOT } from "../checkout.ts";
import { CLAIMS } from "../claims.ts";
import { CLAIM_USERS } from "../claimusers.ts";
import { GUARD } from "../guard.ts";
import { KEEPER } from "../keeper.ts";
import { KUBE } from "../kube.ts";
import { mutated } from "../mutant.ts";
import { NETWORKS } from "../networks.ts";
import { ROUTER } from "../router.ts";
import { ROUTER_PROXY } from "../routerproxy.ts";
import { ROUTER_USERS } from "../routerusers.ts";
import { RUNTIME } from "../runtime.ts";
import { SANDBOX_CODE } from "../sandboxcode.ts";
import { SDK } from "../sdk.ts";
import { TEAMS } from "../teams.ts";
import { WIRING } from "../wiring.ts";
import { WIRING_OUTSIDE } from "../wiringoutside.ts";

const RULES = [...GUARD, ...BINDER, ...KUBE, ...KEEPER, ...ROUTER, ...ROUTER_PROXY, ...RUNTIME, ...CLAIMS];
const STRANGERS = [...SANDBOX_CODE, ...SDK, ...NETWORKS];
const USERS = [...CLAIM_USERS, ...TEAMS, ...ROUTER_USERS];
const WIRINGS = [...WIRING, ...WIRING_OUTSIDE];
const MUTANTS = [...RULES, ...STRANGERS, ...USERS, ...WIRINGS];

test("there are fifty mutants at least, fifteen of them in wiring, and no name twice", () => {
  expect(MUTANTS.length).toBeGreaterThanOrEqual(50);
  expect(WIRINGS.length).toBeGreaterThanOrEqual(15);
  expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
});

test("each fits the code of today, leaves a file that can be read, and names tests that exist", () => {
  for (const mutant of MUTANTS) {
    const text = readFileSync(join(ROOT, mutant.file), "utf8");
    // What is no plain TypeScript (JSX, YAML) is read by its tests alone.
    const read = mutant.file.endsWith(".ts") ? stripTypeScriptTypes : String;
    expect(() => read(mutated(text, mutant)), mutant.name).not.toThrow();
    expect(mutant.tests, mutant.name).not.toEqual([]);
    expect(mutant.tests.filter((file) => !existsSync(join(ROOT, file))), mutant.name).toEqual([]);
  }
});

test("what each puts in uses only names that the code has, or Node's HTTP", () => {
  const files = globSync(["{packages,hooks,deploy}/**/*.{ts,tsx,yaml}", "node_modules/@types/node/http.d.ts"], {
    cwd: ROOT,
    exclude: (file) => file.endsWith("/node_modules"),
  });
  const known = new Set(files.flatMap((file) => namesIn(readFileSync(join(ROOT, file), "utf8"))));
  const gone = MUTANTS.flatMap(({ name, from, to }) => {
    const before = namesIn(from);
    return namesIn(to).filter((word) => !before.includes(word) && !known.has(word)).map((word) => `${name}: ${word}`);
  });
  expect(gone).toEqual([]);
});

function namesIn(text: string): string[] {
  return text.match(/\b[A-Za-z_$][\w$]*/g) ?? [];
}

// Each costs a run of vitest: minutes in all.
if (inject("isSoak")) {
  describe("in a copy of the checkout", () => {
    let checkout: Checkout;
    beforeAll(() => {
      checkout = copyCheckout(inject("seed"));
    });
    afterAll(() => checkout.remove());

    test.for([...new Set(MUTANTS.flatMap(({ tests }) => tests))].sort())("%s passes without a mutant", async (file) => {
      const { passed, failed, output } = await checkout.run(file);
      expect(failed, output).toEqual([]);
      expect(passed, output).toBeGreaterThan(0);
    });

    test.for(MUTANTS.flatMap((mutant) => mutant.tests.map((file) => ({ ...mutant, mutant, test: file }))))(
      "killed by $test: $name ($file)",
      async ({ mutant, test }) => {
        const { failed, output } = await checkout.run(test, mutant);
        expect(failed, output).not.toEqual([]);
      },
    );
  });
}
