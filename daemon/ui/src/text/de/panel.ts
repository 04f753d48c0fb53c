import type { panel as english } from "../en/panel";
import type { Translation } from "../messages";

export const panel: Translation<typeof english> = {
  title: "Prüfer",
  summary: "{clear} von {all} Prüfern geben diesen Schritt frei; {needed} sind nötig.",
  judge: "Prüfer",
  vote: "Urteil",
  confidence: "Sicherheit",
  reason: "Grund",
  "vote.clear": "Gibt frei",
  "vote.flag": "Meldet",
  "why.few_cases": {
    one: "Über {count} solchen Fall haben Personen entschieden, zu wenig für ein Urteil.",
    other: "Über {count} solche Fälle haben Personen entschieden, zu wenig für ein Urteil.",
  },
  "why.below_floor":
    "Personen geben mindestens {lower} solcher Fälle frei. Das Unternehmen verlangt {floor}.",
  "why.sampled": "Er würde freigegeben und gehört zu denen, die Personen trotzdem sehen.",
  "why.off": "Das Unternehmen lässt nichts ohne eine Person freigeben.",
};
