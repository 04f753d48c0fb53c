import type { panel as english } from "../en/panel";
import type { Translation } from "../messages";

export const panel: Translation<typeof english> = {
  title: "Prüfer",
  summary: {
    one: "{clear} von {all} Prüfern geben diesen Schritt frei; {count} ist nötig.",
    other: "{clear} von {all} Prüfern geben diesen Schritt frei; {count} sind nötig.",
  },
  confidence: "zu {share} sicher",
  ruleFails: "Seine Regel trifft nicht zu.",
  ruleUnclear: "Seine Regel hat keine klare Antwort: {why}.",
  "vote.clear": "gibt frei",
  "vote.flag": "meldet",
  "why.few_cases": {
    one: "Über {count} solchen Fall haben Personen entschieden, zu wenig für ein Urteil.",
    other: "Über {count} solche Fälle haben Personen entschieden, zu wenig für ein Urteil.",
  },
  "why.below_floor":
    "Personen geben mindestens {lower} solcher Fälle frei. Das Unternehmen verlangt {floor}.",
  "why.sampled": "Er würde freigegeben und gehört zu denen, die Personen trotzdem sehen.",
  "why.off": "Das Unternehmen lässt nichts ohne eine Person freigeben.",
};
