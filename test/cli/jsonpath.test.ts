/** JSONPath as kubectl has it: its templates, and what this subset refuses. @module */
import { expect, test } from "vitest";
import { compileTemplate } from "../../packages/cli/jsonpath.ts";

// Source: the examples of kubernetes.io/docs/reference/kubectl/jsonpath.
const DOCS = {
  kind: "List",
  items: [
    {
      kind: "None",
      metadata: { name: "127.0.0.1", labels: { "kubernetes.io/hostname": "127.0.0.1" } },
      status: { capacity: { cpu: "4" }, addresses: [{ type: "LegacyHostIP", address: "127.0.0.1" }] },
    },
    {
      kind: "None",
      metadata: { name: "127.0.0.2" },
      status: {
        capacity: { cpu: "8" },
        addresses: [{ type: "LegacyHostIP", address: "127.0.0.2" }, { type: "another", address: "127.0.0.3" }],
      },
    },
  ],
  users: [{ name: "myself", user: {} }, { name: "e2e", user: { username: "admin", password: "secret" } }],
};

test.for([
  ["kind is {.kind}", "kind is List"],
  ["{['kind']}", "List"],
  ["{..name}", "127.0.0.1 127.0.0.2 myself e2e"],
  ["{.items[*].metadata.name}", "127.0.0.1 127.0.0.2"],
  ["{.users[0].name}", "myself"],
  ["{.users[-1].name}", "e2e"],
  ["{.items[0:1].metadata.name}", "127.0.0.1"],
  ["{.items[*]['metadata.name', 'status.capacity']}", ""],
  ["{.items[*]['kind','metadata']['name']}", "127.0.0.1 127.0.0.2"],
  ['{.users[?(@.name=="e2e")].user.password}', "secret"],
  ['{.users[?(@.name!="e2e")].name}', "myself"],
  ["{.users[?(@.user.password)].name}", "e2e"],
  [
    "{range .items[*]}[{.metadata.name}, {.status.capacity}] {end}",
    '[127.0.0.1, {"cpu":"4"}] [127.0.0.2, {"cpu":"8"}] ',
  ],
  [
    '{range .items[*]}{range .status.addresses[*]}{.address}{" "}{end}{"\\n"}{end}',
    "127.0.0.1 \n127.0.0.2 127.0.0.3 \n",
  ],
  ["{.items[0].metadata.labels.kubernetes\\.io/hostname}", "127.0.0.1"],
  ["{.items[*].nothing.here}", ""],
  [".kind", "List"],
  ["$.kind", "List"],
  ["{@.kind}", "List"],
  ["{.users[0,1].name}", "myself e2e"],
] as [string, string][])("%s", ([template, want]) => {
  expect(compileTemplate(template)(DOCS)).toBe(want);
});

test.for([
  ["{.a", "a closing } is missing"],
  ["{range .items[*]}x", "{range} has no {end}"],
  ["{end}", "{end} has no {range}"],
  ["{kind}", "it begins with a dot"],
  ["{.a[b]}", '"[b]" is not understood'],
  ['{.a[?(@.x=~"y")]}', "not supported"],
  ['{.a[?(@.x=="y" && @.z)]}', "not supported"],
  ["{.a[?(x==1)]}", "does not begin with @"],
  ["{.a[?(@.x==y)]}", "neither text in quotes nor a number"],
] as [string, string][])("%s is refused: %s", ([template, why]) => {
  expect(() => compileTemplate(template)).toThrow(why);
});
