/** Registers, decides at every gate of a run, and prints what became of it: `node run.js ADDRESS`. */

import { createPenstock, items, Problem, value } from "penstock-client";

declare const process: { argv: string[] };
const [, , baseUrl = "http://127.0.0.1:8080"] = process.argv;

let token = "";
const api = createPenstock({ baseUrl, token: () => token });

const person = { email: "ada@example.test", password: "correct horse", company_name: "Ada inc" };
token = (await value(api.POST("/auth/register", { body: person }))).token;

const vertical = "prior-auth";
const template = await value(
  api.GET("/process-templates/{vertical}", { params: { path: { vertical } } }),
);
let run = await value(
  api.POST("/process-runs/", { body: { vertical, inputs: template.inputs, business_key: "A-1" } }),
);
const path = { run_id: run.id };
try {
  const body = { gate: "elsewhere", decision: "approved" };
  await value(api.POST("/process-runs/{run_id}/resume", { params: { path }, body }));
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  console.log(error.status, error.code, error.body["parked_at"]);
}
while (run.gate) {
  const body = { gate: run.gate.step_id, decision: "approved", digest: run.gate.digest };
  run = await value(api.POST("/process-runs/{run_id}/resume", { params: { path }, body }));
}
console.log(run.status, run.outcome);

for (const business_key of ["A-2", "A-3", "A-4"])
  await value(api.POST("/process-runs/", { body: { vertical, business_key } }));
const keys: (string | null)[] = [];
for await (const one of items((query) =>
  api.GET("/process-runs/", { params: { query: { ...query, limit: 2 } } }),
))
  keys.push(one.business_key);
console.log(keys.join(" "));
