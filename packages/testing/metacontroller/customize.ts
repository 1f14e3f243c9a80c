/** Related objects: gets the rules from the customize hook, and enqueues parents when a related object changes. @module */
import type { KubeObject } from "../../api/objects/objects.ts";
import { type LabelSelector, matcherOf } from "../store/selectors.ts";
import type { Resource, Store } from "../store/store.ts";
import { addObjects, groupFor, type Groups } from "./children.ts";
import type { Hook } from "./hook.ts";
import type { Change, Informer, Informers } from "./informer.ts";

/** A cached parent, and a function that enqueues it. */
interface CachedParent {
  parent: KubeObject;
  resource: Resource;
  enqueue: () => void;
}

export interface Customize {
  /** Sets the parents that related changes can enqueue: all cached parents of the controller, in all namespaces. */
  start(parents: () => CachedParent[]): void;
  /**
   * Returns the related objects of a parent, in a group for each rule; none without a customize hook.
   *
   * @throws {NotSynced} on the first use of a resource
   */
  related(parent: KubeObject): Promise<Groups>;
  stop(): void;
}

export interface RelatedRule {
  apiVersion: string;
  resource: string;
  labelSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  namespace?: string;
  names?: string[];
}

export interface RuleContext {
  version: "v1" | "v2";
  parentResource: Resource;
  parent: KubeObject;
  /** The resource that the rule names. */
  resource: Resource;
  /** Returns the labels of a namespace; undefined if it does not exist. */
  labelsOf: (namespace: string) => Record<string, string> | undefined;
}

interface Options {
  store: Store;
  informers: Informers;
  hook: Hook | undefined;
  controller: KubeObject;
  signal: AbortSignal;
}

const CACHE_MS = 20 * 60_000;

/** Thrown while the informer of a related resource has not listed its objects; the sync must be retried soon. */
export class NotSynced extends Error {
  override readonly name = "NotSynced";
}

/** Creates the part of a controller that finds related objects and watches them. */
export function createCustomize({ store, informers, hook, controller, signal }: Options): Customize {
  const watched = createRelatedInformers(informers);
  const answerFor = cacheAnswers(store, hook, controller, signal);
  let parents: () => CachedParent[] = () => [];

  /** On each related change, checks all parents. Calls the hook for those without a cached answer. */
  async function onRelated({ old, current }: Change): Promise<void> {
    if (signal.aborted || old && current && old.metadata.resourceVersion === current.metadata.resourceVersion) return;
    const states = [old, current].filter((state) => state !== undefined);
    for (const { parent, resource, enqueue } of parents()) {
      const answer = await answerFor(parent).catch(() => undefined);
      for (const rule of answer?.rules ?? []) {
        const request = { rule, version: answer?.version ?? "v1", parentResource: resource, parent };
        // A rule that cannot be evaluated enqueues no parent: the sync of the parent reports the error.
        const context = await contextOf(store, watched, request).catch(() => undefined);
        if (context && states.some((state) => matchesRule(rule, context, state))) enqueue();
      }
    }
  }

  return {
    start: (all) => void (parents = all),
    stop: watched.stop,
    async related(parent) {
      const groups: Groups = new Map();
      const answer = await answerFor(parent);
      if (!answer) return groups;
      const parentResource = await store.kind(parent.apiVersion, parent.kind);
      for (const rule of answer.rules) {
        const context = await contextOf(store, watched, { rule, version: answer.version, parentResource, parent });
        const informer = watched.informer(`${rule.apiVersion}/${rule.resource}`, context.resource, onRelated);
        groupFor(groups, context.resource);
        addObjects(groups, selectRelated(rule, context, informer));
      }
      return groups;
    },
  };
}

/**
 * Lists the objects that a rule selects.
 *
 * `v1` rules of a namespaced parent select only objects in its namespace, with one exception: `names` without
 * `namespace` selects these names in all namespaces. Source: metacontroller pkg/controller/common/customize/manager.go,
 * 4.17.2.
 *
 * @throws {RangeError} if the rule contradicts itself or selects another namespace
 */
export function selectRelated(rule: RelatedRule, context: RuleContext, informer: Informer): KubeObject[] {
  const problem = problemWith(rule, context);
  if (problem) throw new RangeError(`Cannot select related ${rule.resource}: ${problem}`);
  const { parent, resource } = context;
  const namespace = rule.namespace ||
    (!rule.names?.length && isConfined(context) ? parent.metadata.namespace : undefined);
  const candidates = informer.list(resource.namespaced ? namespace : undefined);
  return candidates.filter((object) => selects(rule, context, object));
}

/**
 * Tells whether a change of an object matters to the parent. A rule that {@link selectRelated} refuses selects nothing.
 */
export function matchesRule(rule: RelatedRule, context: RuleContext, object: KubeObject): boolean {
  if (problemWith(rule, context)) return false;
  const { parent, resource } = context;
  if (object.apiVersion !== rule.apiVersion || object.kind !== resource.kind) return false;
  const namespace = rule.namespace || (isConfined(context) ? parent.metadata.namespace : undefined);
  if (resource.namespaced && namespace && object.metadata.namespace !== namespace) return false;
  return selects(rule, context, object);
}

type RelatedInformers = ReturnType<typeof createRelatedInformers>;

/** The informers of related resources: they start on first use and run until the controller stops. */
function createRelatedInformers(informers: Informers) {
  const known = new Map<string, { informer: Informer; end: () => void }>();
  return {
    /** @throws {NotSynced} until the first list has arrived */
    informer(key: string, resource: Resource, onChange?: (change: Change) => Promise<void>): Informer {
      const informer = known.get(key)?.informer ?? informers.acquire(resource);
      if (!known.has(key)) known.set(key, { informer, end: onChange ? informer.subscribe(onChange) : () => {} });
      if (!informer.isSynced()) throw new NotSynced(`Cannot list ${resource.plural}: the first list has not arrived`);
      return informer;
    },
    stop(): void {
      for (const { informer, end } of known.values()) {
        end();
        informers.release(informer);
      }
    },
  };
}

type RuleRequest = Pick<RuleContext, "version" | "parentResource" | "parent"> & { rule: RelatedRule };

async function contextOf(
  store: Store,
  watched: RelatedInformers,
  { rule, ...request }: RuleRequest,
): Promise<RuleContext> {
  const resource = await store.resource(rule.apiVersion, rule.resource);
  if (!rule.namespaceSelector) return { ...request, resource, labelsOf: () => undefined };
  const namespaces = watched.informer("namespaces of selectors", await store.resource("v1", "namespaces"));
  const labelsOf = (name: string) => {
    const namespace = namespaces.get(undefined, name);
    return namespace && { ...namespace.metadata.labels };
  };
  return { ...request, resource, labelsOf };
}

interface CustomizeAnswer {
  version: "v1" | "v2";
  rules: RelatedRule[];
}

/** Caches answers by UID and generation for 20 minutes, so answers cannot depend on labels, annotations or status. */
function cacheAnswers(store: Store, hook: Hook | undefined, controller: KubeObject, signal: AbortSignal) {
  const answers = new Map<string, { answer: CustomizeAnswer; until: number }>();
  return async (parent: KubeObject): Promise<CustomizeAnswer | undefined> => {
    if (!hook) return undefined;
    const key = `${parent.metadata.uid}/${parent.metadata.generation}`;
    const now = store.clock.now();
    const known = answers.get(key);
    if (known && known.until > now) return known.answer;
    const { relatedResources } = await hook.call({ controller, parent }, signal);
    const answer = { version: hook.version, rules: (relatedResources ?? []) as RelatedRule[] };
    for (const [old, { until }] of answers) if (until <= now) answers.delete(old);
    answers.set(key, { answer, until: now + CACHE_MS });
    return answer;
  };
}

function selects(rule: RelatedRule, { labelsOf }: RuleContext, { metadata }: KubeObject): boolean {
  if (rule.names?.length) return rule.names.includes(metadata.name);
  if (rule.namespaceSelector) {
    const labels = labelsOf(metadata.namespace ?? "");
    if (!labels || !matcherOf(rule.namespaceSelector)(labels)) return false;
  }
  return matcherOf(rule.labelSelector)(metadata.labels);
}

function problemWith(rule: RelatedRule, context: RuleContext): string | undefined {
  const { names, namespace, labelSelector, namespaceSelector } = rule;
  if (names?.length && (labelSelector || namespaceSelector)) return "names and a selector are both given";
  if (namespace && namespaceSelector) return "namespace and namespaceSelector are both given";
  if (namespaceSelector && !context.resource.namespaced) return "a cluster-scoped resource has no namespaceSelector";
  if (!isConfined(context)) return undefined;
  if (namespaceSelector) return "namespaceSelector needs hook version v2";
  const own = context.parent.metadata.namespace;
  return namespace && namespace !== own ? `namespace ${namespace} is not the parent's, ${own}` : undefined;
}

/** Tells whether rules may select only objects in the parent's namespace. */
function isConfined({ version, parentResource, resource }: RuleContext): boolean {
  return version === "v1" && parentResource.namespaced && resource.namespaced;
}
