/** Compares two folders: the committed build must equal what the source builds. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [built, kept] = process.argv.slice(2).map(files);
const names = new Set([...built.keys(), ...kept.keys()]);
const wrong = [...names].filter(
  (name) => !built.has(name) || !kept.has(name) || !built.get(name).equals(kept.get(name)),
);
for (const name of wrong)
  console.error(
    `${name}: ${built.has(name) ? (kept.has(name) ? "differs" : "is missing in the tree") : "is not built any more"}`,
  );
if (wrong.length > 0) {
  console.error(
    "The page in daemon/web/static is not what daemon/ui builds: run make ui and commit what it writes.",
  );
  process.exit(1);
}
console.log(`The page in the tree is what its source builds: ${names.size} files.`);

function files(folder) {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) =>
    one.isFile(),
  );
  return new Map(
    found
      .map((one) => join(one.parentPath, one.name))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path)]),
  );
}
