/** Texts of the library of processes. */

import { messages } from "../messages";

export const library = messages("library", {
  all: "All packs",
  close: "Close",
  enforcedBy: "Enforced by {steps}",
  gates: { one: "{count} decision", other: "{count} decisions" },
  gatesAndClocks: "Gates and clocks",
  graph: "Graph of the process",
  loading: "Loading the process",
  notEnforced: "Not enforced: {why}",
  pack: "Pack",
  "pack.banking": "Banking and AML",
  "pack.health": "Health plan and provider",
  "pack.insurance": "Insurance",
  "pack.lending": "Lending and collections",
  "pack.operations": "Engineering and security operations",
  "pack.payments": "Payments and disputes",
  "pack.people": "People and access",
  "pack.public": "Public sector and privacy",
  preview: "Preview",
  previewOf: "Preview: {title}",
  sources: "Sources",
  steps: { one: "{count} step", other: "{count} steps" },
  tools: "Tools",
  wait: "Wait",
  within: "within {time}",
});
