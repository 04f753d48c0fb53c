/** What the judges of a step said, at its gate. */

import { messages } from "../messages";

export const panel = messages("panel", {
  title: "Judges",
  summary: {
    one: "{clear} of {all} judges clear this step; {count} is needed.",
    other: "{clear} of {all} judges clear this step; {count} are needed.",
  },
  confidence: "{share} sure",
  ruleFails: "Its rule does not hold.",
  ruleUnclear: "Its rule has no clear answer: {why}.",
  "vote.clear": "clears this step",
  "vote.flag": "flags this step",
  "why.few_cases": {
    one: "People have decided {count} such case, too few to go by.",
    other: "People have decided {count} such cases, too few to go by.",
  },
  "why.below_floor": "People approve at least {lower} of such cases. The company asks for {floor}.",
  "why.sampled": "It would be cleared, and is one of those that people see all the same.",
  "why.off": "The company lets nothing be cleared without a person.",
});
