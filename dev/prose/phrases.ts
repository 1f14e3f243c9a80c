/** The phrases that the prose check reports, and what to write instead of each. @module */

/** A phrase that makes readers stop. */
interface Phrase {
  /** Finds it. A space is any gap between two words, also a line break in a comment. The ends are ends of words. */
  find: RegExp;
  /** What to write instead. */
  instead: string;
  /** A text that has the phrase. */
  wrong: string;
  /** A text without it: it says the same, or uses the words in another sense. */
  right: string;
}

/** Old-fashioned and ambiguous phrases first, then words of our own for which the field has another one. */
export const PHRASES: readonly Phrase[] = [
  {
    find: /beside/i,
    instead: '"compared with", "next to", "while", "in addition to" or "besides": say which',
    wrong: "CPU fell to 0.88, beside the version before",
    right: "CPU fell to 0.88, compared with the version before",
  },
  {
    find: /whoever/i,
    instead: '"anyone who", "the process that", or a sentence that begins with "if you"',
    wrong: "Whoever counts on them lists the Sandboxes.",
    right: "If you rely on these events, list the Sandboxes.",
  },
  {
    // A question ends with "?" or is a heading, which has no full stop before the next empty line.
    find: /Who(?= [a-z](?:[^.?!\n]|\n(?!\s*\n)|\.(?=\w))*\.(?!\w))/,
    instead: 'a condition with "if", or name the actor',
    wrong: "Who means it sets the annotation.",
    right: "To allow it, set the annotation. Who may do so? Users with the right `patch`.",
  },
  {
    find: /nobody's/i,
    instead: '"owned by nobody", "of no claim": name what is missing',
    wrong: "The member is nobody's.",
    right: "The member belongs to no claim. Nobody owns it.",
  },
  {
    find: /(?:is|are|was|were|be|been|being|gets?) told/i,
    instead: '"is updated", "is reported", "is notified", "is configured to", "can be distinguished"',
    wrong: "The pool is told that it is short.",
    right: "The binder updates the status of the pool, as the decision told us to.",
  },
  {
    find: /(?:an?|the|no|any|each|its|own|another|takes?|leaves?|by) word of/i,
    instead: '"an annotation set by", "a status of", "a report about"',
    wrong: "It goes by a word of the keeper.",
    right: "The keeper sets an annotation. Two words of a command are joined.",
  },
  {
    find: /st(?:ands?|ood|anding) in/i,
    instead: '"is in", "is listed in", "replaces", "prevents"',
    wrong: "What was removed stands in decision 0012.",
    right: "Decision 0012 lists what was removed.",
  },
  {
    find: /(?:has|have|had|having) (?:it|them) \w+ed/i,
    instead: 'an active verb: "requests", "requeues"',
    wrong: "The keeper has it asked again.",
    right: "The keeper requeues it. It has asked them twice.",
  },
  {
    find: /let(?:s|ting)? (?:(?:it|them|one|none) )?go(?! on)/i,
    instead: '"releases", "deletes", "allows the deletion of"',
    wrong: "The hook lets go of the volume.",
    right: "The hook releases the volume and lets it go on.",
  },
  {
    find: /com(?:es?|ing) right/i,
    instead: '"recovers", "becomes consistent"',
    wrong: "The status comes right by itself.",
    right: "The next sync repairs the status. The column comes on the right.",
  },
  {
    find: /as it were/i,
    instead: "nothing: leave it out",
    wrong: "It is, as it were, a second pool.",
    right: "It works like a second pool. It stays as it was.",
  },
  {
    find: /(?<!(?:all|any|both|each|first|half|last|least|many|most|none|one|some|two) )of which/i,
    instead: 'a new sentence, "whose", or "that … of"',
    wrong: "The claims of which no Sandbox is known wait.",
    right: "Claims whose Sandbox is unknown wait. They have members, some of which are old.",
  },
  {
    // With a capital it begins a sentence, and says that something happens at the same time.
    find: /meanwhile/,
    instead: '"in between", "since then", "until then", or nothing',
    wrong: "The answer is dropped if the object has changed meanwhile.",
    right: "The answer is dropped if the object has changed since the request. Meanwhile, the hook waits.",
  },
  {
    find: /what is more/i,
    instead: '"also", or a new sentence',
    wrong: "It is slow and, what is more, wrong.",
    right: "It is slow, and also wrong.",
  },
  {
    find: /all the same/i,
    instead: '"anyway", "nevertheless", "still"',
    wrong: "The Pod is created all the same.",
    right: "The Pod is created anyway.",
  },
  {
    find: /for want of/i,
    instead: '"because there is no"',
    wrong: "It waits for want of a member.",
    right: "It waits because no member is Ready.",
  },
  {
    find: /(?<!look )at the latest/i,
    instead: '"no later than", "within", "before"',
    wrong: "It ends at the latest when the process does.",
    right: "It ends no later than the process. Look at the latest release.",
  },
  {
    find: /(?:is|are) not to/i,
    instead: '"must not"',
    wrong: "Tests are not to write there.",
    right: "Tests must not write there.",
  },
  {
    find: /in one turn/i,
    instead: '"in the same run", "at once"',
    wrong: "Both were measured in one turn.",
    right: "Both were measured in the same run, one turn each.",
  },
  {
    find: /takes? back/i,
    instead: '"reverts", "removes", "withdraws"',
    wrong: "A stale write takes back that the claim is Ready.",
    right: "A stale write reverts the claim's Ready condition.",
  },
  {
    find: /stand-ins?/i,
    instead: '"fake Metacontroller", "fake"',
    wrong: "The stand-in runs in place of Metacontroller.",
    right: "The fake Metacontroller runs in place of the real one.",
  },
  {
    find: /(?:the|an?|its|no|new|real|two|whichever|hooks,) engines?(?! tests?)/i,
    instead: '"Metacontroller"',
    wrong: "The engine calls the hook.",
    right: "Metacontroller calls the hook. A policy engine may refuse the Pod.",
  },
  {
    find: /askers?/i,
    instead: '"requester", "client", "user"',
    wrong: "Each asker has a queue.",
    right: "Each client has a queue.",
  },
  {
    find: /hand(?:ed over|-overs?)/i,
    instead: '"bound", "assigned"; "binding"',
    wrong: "The member was handed over to a claim.",
    right: "The binder bound the member to a claim.",
  },
];
