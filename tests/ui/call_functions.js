/** Calls functions of the page: reads [name, argument, …] per line, and prints all results as JSON. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const { rolldown } = await import(pathToFileURL(createRequire(join(folder, "package.json")).resolve("rolldown")));
const files = ["text/sentences.ts", "text/labels.ts", "text/people.ts", "text/policy.ts", "text/clocks.ts", "text/formats.ts", "text/en/common.ts", "pages/audit/logSentences.ts", "pages/gate/toolOutput.ts", "pages/gate/differences.ts"];
const entry = files.map((file) => `export * from ${JSON.stringify(join(folder, "src", file))};`).join("\n");
const build = await rolldown({
  input: "entry",
  plugins: [{ name: "entry", resolveId: (id) => (id === "entry" ? "\0entry.ts" : null), load: (id) => (id === "\0entry.ts" ? entry : null) }],
});
const { output } = await build.generate({ format: "esm" });
const all = await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
const LABELS = { pay: "Pay the vendor", list: "Watch list", bank: "Bank check" };
const NAMES = { byEmail: (email) => email.split("@")[0], byId: (id) => (id === "gone" ? null : id) };
const GIVEN = { $label: (id) => LABELS[id] ?? id, $names: NAMES };
const given = (one) => (typeof one === "string" && one.startsWith("$") ? (GIVEN[one] ?? one) : one);
const plain = (value) => (value instanceof Map ? Object.fromEntries(value) : (value ?? null));
const lines = readFileSync(0, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
console.log(JSON.stringify(lines.map(([name, ...rest]) => plain(all[name](...rest.map(given))))));
