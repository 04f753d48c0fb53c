/** What two authors changed in one draft, put together. */

import { same } from "./comparison";
import { type Draft, freeId, renamed, type Step } from "./document";

/** Something that both have changed, each in another way; a field is empty for a whole step. */
export interface Clash {
  step: string | null;
  field: string;
  mine: unknown;
  theirs: unknown;
}

export type Side = "mine" | "theirs";

export interface Merged {
  draft: Draft;
  clashes: Clash[];
}

type Members = Record<string, unknown>;

/** Both sides' changes since `base`. Where they clash, `preferred` counts. */
export function merged(base: Draft, mine: Draft, theirs: Draft, preferred: Side): Merged {
  const clashes: Clash[] = [];
  const own = withOwnIds(base, mine, theirs);
  const whole = members(base, own, theirs, preferred, null, clashes);
  return {
    draft: { ...(whole as Draft), steps: steps(base, own, theirs, preferred, clashes) },
    clashes,
  };
}

/** New steps of mine get other ids than theirs, so that none takes the place of another. */
function withOwnIds(base: Draft, mine: Draft, theirs: Draft): Draft {
  const old = byId(base);
  const others = byId(theirs);
  return mine.steps.reduce((draft, step) => {
    const other = others.get(step.id);
    if (old.has(step.id) || other === undefined || same(other, step)) return draft;
    const taken = { ...draft, steps: [...draft.steps, ...theirs.steps] };
    return renamed(draft, step.id, freeId(taken, step.id));
  }, mine);
}

function members(
  base: Members,
  mine: Members,
  theirs: Members,
  preferred: Side,
  step: string | null,
  clashes: Clash[],
): Members {
  const found: Members = {};
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
    if (step === null && name === "steps") continue;
    const [was, my, their] = [base[name], mine[name], theirs[name]];
    const theirsCounts = same(my, was) || same(my, their);
    const clashing = !theirsCounts && !same(their, was);
    if (clashing) clashes.push({ step, field: name, mine: my, theirs: their });
    const value = theirsCounts || (clashing && preferred === "theirs") ? their : my;
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function steps(base: Draft, mine: Draft, theirs: Draft, preferred: Side, clashes: Clash[]): Step[] {
  const old = byId(base);
  const my = byId(mine);
  const their = byId(theirs);
  const stays = (kept: Step, side: Side): boolean => {
    const was = old.get(kept.id);
    if (was === undefined) return true;
    if (same(was, kept)) return false;
    const shown = { step: kept.id, field: "", mine: my.get(kept.id), theirs: their.get(kept.id) };
    clashes.push(shown);
    return preferred === side;
  };
  const found = theirs.steps.flatMap((step) => {
    const other = my.get(step.id);
    if (other === undefined) return stays(step, "theirs") ? [step] : [];
    return [members(old.get(step.id) ?? {}, other, step, preferred, step.id, clashes) as Step];
  });
  mine.steps.forEach((step, place) => {
    if (their.has(step.id) || !stays(step, "mine")) return;
    const before = mine.steps[place - 1]?.id;
    found.splice(found.findIndex((one) => one.id === before) + 1, 0, step);
  });
  return found;
}

function byId(draft: Draft): Map<string, Step> {
  return new Map(draft.steps.map((step) => [step.id, step]));
}
