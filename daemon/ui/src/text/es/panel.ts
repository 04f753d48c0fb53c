import type { panel as english } from "../en/panel";
import type { Translation } from "../messages";

export const panel: Translation<typeof english> = {
  title: "Jueces",
  summary: {
    one: "{clear} de {all} jueces aprueban este paso; se necesita {count}.",
    other: "{clear} de {all} jueces aprueban este paso; se necesitan {count}.",
  },
  confidence: "{share} de confianza",
  ruleFails: "Su regla no se cumple.",
  ruleUnclear: "Su regla no tiene una respuesta clara: {why}.",
  "vote.clear": "aprueba",
  "vote.flag": "advierte",
  "why.few_cases": {
    one: "Las personas han decidido {count} caso así, muy pocos para basarse en ellos.",
    other: "Las personas han decidido {count} casos así, muy pocos para basarse en ellos.",
  },
  "why.below_floor":
    "Las personas aprueban al menos {lower} de los casos así. La empresa exige {floor}.",
  "why.sampled": "Se aprobaría, y es uno de los que las personas ven de todos modos.",
  "why.off": "La empresa no deja aprobar nada sin una persona.",
};
