/** Mutants of what keeps one team from the sandboxes of another. @module */
import { TEAM_LIMITS } from "./teamlimits.ts";
import type { Mutant } from "./mutant.ts";

const ADDRESSES_TEST = ["test/router/index/addresses.test.ts"];
const OTHER_POD_TEST = ["test/wiring/otherpod.test.ts"];
const IDLE_TEST = ["test/router/idle/idledelete.test.ts"];
const LIFETIME_TEST = ["test/api/lifetime.test.ts"];
const BROKEN_TEST = ["test/hooks/sandboxwarmpool/broken.test.ts"];
const POLICY_TEST = ["test/testing/templatepolicy.test.ts"];
const CONVERSION_TEST = ["test/api/v1alpha1-annotations.test.ts"];

export const TEAMS: readonly Mutant[] = [
  ...TEAM_LIMITS,
  {
    name: "a Pod keeps an address that a younger one has",
    file: "packages/router/index/reachability.ts",
    from: " && !entry.lost.has(uid)",
    to: "",
    tests: ADDRESSES_TEST,
  },
  {
    name: "of two Pods of the same age each has the address",
    file: "packages/router/index/addresses.ts",
    from: " || (ageOf(other) === ageOf(pod) && !isOfOne)",
    to: "",
    tests: ADDRESSES_TEST,
  },
  {
    name: "a runtime takes requests for another Pod",
    file: "packages/runtime/listen.ts",
    from: "isForOther(request.headers, podUID) ? refuseOther(request, response) : listener(request, response);",
    to: "listener(request, response);",
    tests: OTHER_POD_TEST,
  },
  {
    name: "a router does not name the Pod that it means",
    file: "packages/router/proxy/headers.ts",
    from: "if (forwarding.podUID !== undefined) result.push(POD_UID_HEADER, forwarding.podUID);",
    to: "",
    tests: OTHER_POD_TEST,
  },
  {
    name: "another Pod's runtime tells that a sandbox is idle",
    file: "packages/router/idle/activity.ts",
    from: "podUID === undefined ? {} : { [POD_UID_HEADER]: podUID }",
    to: "{}",
    tests: OTHER_POD_TEST,
  },
  {
    name: "a copy of a Sandbox that a router suspended expires",
    file: "packages/router/idle/suspend.ts",
    from: " || recorded.uid !== uid",
    to: "",
    tests: IDLE_TEST,
  },
  {
    name: "a Sandbox expires that its user suspended after a router had done so",
    file: "packages/router/idle/suspend.ts",
    from: " || recorded.generation !== generation",
    to: "",
    tests: IDLE_TEST,
  },
  {
    name: "the wait for an expiry begins before the Pod is gone",
    file: "packages/router/idle/suspend.ts",
    from: "Math.max(Date.parse(recorded.at), Date.parse(condition.lastTransitionTime))",
    to: "Date.parse(recorded.at)",
    tests: IDLE_TEST,
  },
  {
    name: "a Sandbox expires that was changed after a router had let it expire",
    file: "packages/api/expiry.ts",
    from: " && metadata.generation === expiry.generation",
    to: "",
    tests: LIFETIME_TEST,
  },
  {
    name: "a copy of a Sandbox ends when a router lets the original end",
    file: "packages/api/expiry.ts",
    from: "!expiry || expiry.shutdownTime",
    to: "expiry?.uid !== metadata.uid || expiry?.shutdownTime",
    tests: [...LIFETIME_TEST, "test/testing/copies.test.ts"],
  },
  {
    name: "a copy of a Sandbox of the same generation ends when a router lets the original end",
    file: "packages/api/expiry.ts",
    from: "expiry.uid === metadata.uid && ",
    to: "",
    tests: LIFETIME_TEST,
  },
  {
    name: "a Sandbox with a pool's label is a member, whatever its template is",
    file: "hooks/sandboxwarmpool/drain.ts",
    from: " || isStranger(member)",
    to: "",
    tests: ["test/hooks/sandboxwarmpool/drain.test.ts"],
  },
  {
    name: "a Sandbox of another namespace is the one that a claim has",
    file: "packages/keeper/observability/bindings.ts",
    from: "given.get(keyOf({ namespace: regarding.namespace, name: sandbox }))",
    to: "given.values().find(({ name }) => name === sandbox && regarding)",
    tests: ["test/keeper/bindings.test.ts"],
  },
  {
    name: "one member that cannot be read fails its pool",
    file: "packages/webhook/once.ts",
    from: 'return "broken";',
    to: 'throw new SyntaxError("broken");',
    tests: BROKEN_TEST,
  },
  {
    name: "a last-applied annotation of any shape is used",
    file: "hooks/sandboxwarmpool/applied.ts",
    from: " || (applied && !isShaped(applied))",
    to: "",
    tests: BROKEN_TEST,
  },
  {
    name: "a template's policy goes with the template",
    file: "packages/keeper/networkpolicy.ts",
    from: "[controllerReference(template), namespaceReference(namespace.metadata), ...others]",
    to: "[controllerReference(template), ...others]",
    tests: POLICY_TEST,
  },
  {
    name: "the policy of a template that is gone is deleted while sandboxes run",
    file: "packages/keeper/policydeletion.ts",
    from: 'if (await isNeeded(api, policy, hash)) return "coming";',
    to: "",
    tests: POLICY_TEST,
  },
  {
    name: "the policy of a template that is gone is deleted while a Sandbox is suspended",
    file: "packages/keeper/policydeletion.ts",
    from: ' ||\n    await isAnyLabelled(api, { resource: "sandboxes", namespace }, selector)',
    to: "",
    tests: POLICY_TEST,
  },
  {
    name: "a pool makes members before their policy is there",
    file: "hooks/sandboxwarmpool/refill.ts",
    from: 'return policyFault !== undefined && templateNetworkPolicy === "required";',
    to: "return false;",
    tests: POLICY_TEST,
  },
  {
    name: "the binder starts sandboxes before their policy is there",
    file: "packages/binder/filter.ts",
    from: "return fault && policyMessage(template, fault);",
    to: "return undefined;",
    tests: POLICY_TEST,
  },
  {
    name: "any NetworkPolicy of the name is the template's",
    file: "packages/api/templatepolicy.ts",
    from: "if (controllerOf(policy.metadata)?.uid !== metadata.uid) {",
    to: "if (controllerOf(policy.metadata)?.uid === metadata.name) {",
    tests: POLICY_TEST,
  },
  {
    name: "a policy with rules of an earlier template is in force",
    file: "packages/api/templatepolicy.ts",
    from: "if (stamp === wanted || (stamp === undefined && !reachesProxyOnly(template))) return undefined;",
    to: 'if (stamp !== "") return undefined;',
    tests: ["test/api/templatepolicy.test.ts", ...POLICY_TEST],
  },
  {
    name: "an annotation that is not JSON fails a conversion",
    file: "packages/api/v1alpha1/convert.ts",
    from: "  } catch {\n    return undefined;",
    to: '  } catch {\n    throw new RangeError("Cannot convert: an annotation is not JSON");',
    tests: [...CONVERSION_TEST, "test/hooks/conversion/review.test.ts"],
  },
  {
    name: "a conversion drops an annotation that it cannot read",
    file: "packages/api/v1alpha1/convert.ts",
    from: ": toAlpha(content, undefined);",
    to: ": toAlpha(without(content, key), undefined);",
    tests: CONVERSION_TEST,
  },
  {
    name: "an Event tells of objects of other namespaces",
    file: "packages/keeper/refusedwrites.ts",
    from: " || namespace !== metadata.namespace) return;",
    to: ") return;",
    tests: ["test/keeper/refusedwrites.test.ts"],
  },
  {
    name: "the name of a pool's next member follows from what everybody sees",
    file: "hooks/sandboxwarmpool/sequence.ts",
    from: "utf8ToBytes(`${pool.metadata.uid}/${number}`)",
    to: "utf8ToBytes(`${pool.metadata.name}/${number}`)",
    tests: ["test/hooks/sandboxwarmpool/sequence.test.ts"],
  },
  {
    name: "a large template is hashed for each member",
    file: "packages/binder/filter.ts",
    from: "judged.set(template, { hash, stale });",
    to: "",
    tests: ["test/binder/hostile.test.ts"],
  },
  {
    name: "members are looked through for each claim that waits",
    file: "packages/binder/filter.ts",
    from: "const find = once((): Feasible => {",
    to: "const find = ((): Feasible => {",
    tests: ["test/binder/candidates.test.ts"],
  },
];
