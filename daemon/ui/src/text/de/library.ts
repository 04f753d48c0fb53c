import type { library as english } from "../en/library";
import type { Translation } from "../messages";

export const library: Translation<typeof english> = {
  all: "Alle Pakete",
  close: "Schließen",
  enforcedBy: "Durchgesetzt von {steps}",
  gates: { one: "{count} Entscheidung", other: "{count} Entscheidungen" },
  gatesAndClocks: "Freigaben und Fristen",
  graph: "Graph des Prozesses",
  loading: "Der Prozess wird geladen",
  notEnforced: "Nicht durchgesetzt: {why}",
  pack: "Paket",
  "pack.banking": "Banken und Geldwäsche",
  "pack.health": "Krankenversicherung und Leistungserbringer",
  "pack.insurance": "Versicherung",
  "pack.lending": "Kredit und Inkasso",
  "pack.operations": "Technik und Sicherheit",
  "pack.payments": "Zahlungen und Streitfälle",
  "pack.people": "Personal und Zugänge",
  "pack.public": "Verwaltung und Datenschutz",
  preview: "Vorschau",
  previewOf: "Vorschau: {title}",
  sources: "Quellen",
  steps: { one: "{count} Schritt", other: "{count} Schritte" },
  tools: "Werkzeuge",
  wait: "Warten",
  within: "innerhalb von {time}",
};
