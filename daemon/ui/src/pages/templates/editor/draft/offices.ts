/** Functions of a draft, and who may read runs of it. */

import type { Draft } from "./document";

export interface Office {
  label: string;
  role?: string;
}

export interface Readers {
  functions?: string[];
  groups?: string[];
  role?: string;
  starter?: boolean;
}

export function functionsIn(draft: Draft): Record<string, Office> {
  const found = draft["functions"];
  return typeof found === "object" && found !== null ? (found as Record<string, Office>) : {};
}

export function functionAdded(draft: Draft, label: string): Draft {
  const functions = functionsIn(draft);
  let number = Object.keys(functions).length + 1;
  while (`function-${number}` in functions) number += 1;
  return withFunctions(draft, { ...functions, [`function-${number}`]: { label } });
}

export function functionChanged(draft: Draft, id: string, office: Office): Draft {
  return withFunctions(draft, { ...functionsIn(draft), [id]: office });
}

/** Another id for a function, at the steps and among the readers that name it, too. */
export function functionRenamed(draft: Draft, id: string, name: string): Draft {
  const found = Object.entries(functionsIn(draft)).map(([one, office]) => [
    one === id ? name : one,
    office,
  ]);
  return named(withFunctions(draft, Object.fromEntries(found) as Record<string, Office>), id, name);
}

/** Without a function; where it decided, role and groups do. */
export function functionRemoved(draft: Draft, id: string): Draft {
  const { [id]: _removed, ...rest } = functionsIn(draft);
  return named(withFunctions(draft, rest), id, null);
}

function named(draft: Draft, id: string, name: string | null): Draft {
  const steps = draft.steps.map((step) => {
    if (step["function"] !== id) return step;
    const { function: _before, ...rest } = step;
    return (name === null ? rest : { ...rest, function: name }) as typeof step;
  });
  const readers = readersOf(draft);
  const functions = (readers?.functions ?? []).flatMap((one) =>
    one !== id ? [one] : name === null ? [] : [name],
  );
  return readers?.functions === undefined
    ? { ...draft, steps }
    : withReaders({ ...draft, steps }, { ...readers, functions });
}

function withFunctions(draft: Draft, functions: Record<string, Office>): Draft {
  const { functions: _before, ...rest } = draft;
  return { ...(rest as Draft), ...(Object.keys(functions).length === 0 ? {} : { functions }) };
}

/** Null where everybody of the company reads. */
export function readersOf(draft: Draft): Readers | null {
  const found = draft["readers"];
  return typeof found === "object" && found !== null ? (found as Readers) : null;
}

export function withReaders(draft: Draft, readers: Readers | null): Draft {
  const { readers: _before, ...rest } = draft;
  if (readers === null) return rest as Draft;
  const said = Object.entries(readers).filter(
    ([, value]) => value !== "" && value !== false && !(Array.isArray(value) && value.length === 0),
  );
  return { ...(rest as Draft), readers: Object.fromEntries(said) };
}
