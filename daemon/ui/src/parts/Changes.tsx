/** What changed at a gate while somebody looked at it: nothing can be decided until they have seen it. */

import { pretty, same } from "../json";
import type { Facts, Gate, Json, Run } from "../types";
import { named } from "../words";
import { Note } from "./Bits";
import { Label } from "./Text";

/** What somebody has before them: it stays as it is until they ask for what stands now. */
export interface Shown {
  run: Run;
  gate: Gate;
}

export function Changes({ before, after, onSeen }: { before: Shown; after: Shown; onSeen: () => void }) {
  const changes = between(before, after);
  return (
    <Note kind="warn" title="This changed while you were looking at it">
      <ul className="changes">
        {changes.map((change, index) => (
          <li key={index}>
            <Label text={change} most={300} />
          </li>
        ))}
      </ul>
      <button type="button" className="button primary" onClick={onSeen}>
        Show me how it is now
      </button>
    </Note>
  );
}

export function between(before: Shown, after: Shown): string[] {
  const found: string[] = [];
  if (before.gate.visit !== after.gate.visit) found.push("The run came here once more: this is a new question, and the earlier one was answered.");
  found.push(...facts(before.run.inputs, after.run.inputs), ...facts(before.run.facts, after.run.facts));
  if (!same(before.gate.effect, after.gate.effect)) found.push("The call that an approval makes is another one now.");
  if (!same(before.gate.decisions, after.gate.decisions)) found.push(`It can be decided otherwise now: ${after.gate.decisions.map(named).join(", ")}.`);
  return found.length === 0 ? ["What the decision rests on is not the same any more."] : found;
}

function facts(before: Facts, after: Facts): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !same(before[name] ?? null, after[name] ?? null));
  return names.map((name) => {
    if (!(name in before)) return `${named(name)} is new: ${short(after[name] ?? null)}`;
    if (!(name in after)) return `${named(name)} is gone.`;
    return `${named(name)} was ${short(before[name] ?? null)} and is now ${short(after[name] ?? null)}`;
  });
}

function short(value: Json): string {
  const text = typeof value === "string" ? value : pretty(value).replace(/\s+/g, " ");
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}
